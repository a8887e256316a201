//! Facts about a candidate that decide a verdict or explain it, each with one text form.
//!
//! The text forms are part of the worker protocol and of run logs: `kind`, then arguments after colons. Only the last
//! argument may contain a colon.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{ExecutionPath, watch_finding::WatchFinding};

/// Fact that a worker reports about a graph that it loaded or called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum WorkerNote {
    /// `triton_interpreter`: kernels in Triton run in its interpreter.
    TritonInterpreter,
    /// `aliases_input:OUTPUT:INPUT`: an output shares its memory with an input.
    AliasesInput {
        /// Position among the outputs.
        output: usize,
        /// Name of the input.
        input: String,
    },
    /// `aliases_output:OUTPUT:OTHER`: two outputs begin at the same address.
    AliasesOutput {
        /// Position among the outputs.
        output: usize,
        /// Position of the earlier output.
        other: usize,
    },
    /// `changes_graph:PASS:NODE`: code of a pass changed a node outside its matches.
    ChangesGraph {
        /// Rule name of the pass.
        pass: String,
        /// Name of the node.
        node: String,
    },
    /// `computes_in_args:PASS:TARGET`: `replacement_args` of a pass added a call to the graph.
    ComputesInArgs {
        /// Rule name of the pass.
        pass: String,
        /// Target of the call.
        target: String,
    },
    /// `matches:PASS:COUNT`: places that a pass rewrote on the compiled path.
    Matches {
        /// Rule name of the pass.
        pass: String,
        /// Number of places.
        count: usize,
    },
    /// `violation:...`: an observation of the watch over replacement functions.
    Violation(WatchFinding),
}

/// Remark in [`crate::Evidence::notes`]. A remark explains a verdict and never changes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Remark {
    /// A fact that the worker reported.
    Worker(WorkerNote),
    /// `stride_differs:OUTPUT`: an output has other strides than the reference's.
    StrideDiffers {
        /// Position among the outputs.
        output: usize,
    },
    /// `content_skipped:CONTENT`: the graph itself cannot run on an adversarial content.
    ContentSkipped {
        /// Name of the content.
        content: String,
    },
    /// `reference_not_bitwise_deterministic`: two calls of the reference differ within the tolerance.
    ReferenceNotDeterministic,
    /// `no_float64:REASON`: the graph has no float64 result to compare with.
    NoFloat64 {
        /// Reason, in a few words.
        reason: String,
    },
    /// `accepted_by_float64:OUTPUT`: an output differs from eager's and is at least as close to float64.
    AcceptedByFloat64 {
        /// Position among the outputs.
        output: usize,
    },
    /// `path_failed:PATH:CODE`: a path that is not scored failed.
    PathFailed {
        path: ExecutionPath,
        /// [`crate::Reason::code`] of the failure.
        code: String,
    },
    /// `pair_set_aside:RATIO`: two pairs of processes agree on the speed-up, and the third, with this ratio, does not count.
    PairSetAside {
        /// Speed-up over eager mode, to three places.
        ratio: String,
    },
    /// `repeated_alone`: the device ran out of memory next to other evaluations, so this one was repeated without them.
    RepeatedAlone,
    /// A remark that only another version knows.
    Other(String),
}

/// Error for text that is not a [`WorkerNote`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a note of a worker", .0.escape_debug())]
pub struct UnknownNote(String);

impl fmt::Display for WorkerNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TritonInterpreter => f.write_str("triton_interpreter"),
            Self::AliasesInput { output, input } => write!(f, "aliases_input:{output}:{input}"),
            Self::AliasesOutput { output, other } => write!(f, "aliases_output:{output}:{other}"),
            Self::ChangesGraph { pass, node } => write!(f, "changes_graph:{pass}:{node}"),
            Self::ComputesInArgs { pass, target } => write!(f, "computes_in_args:{pass}:{target}"),
            Self::Matches { pass, count } => write!(f, "matches:{pass}:{count}"),
            Self::Violation(violation) => write!(f, "violation:{violation}"),
        }
    }
}

impl FromStr for WorkerNote {
    type Err = UnknownNote;

    fn from_str(text: &str) -> Result<Self, UnknownNote> {
        let pair = |rest: &str| rest.split_once(':').map(|(a, b)| (a.to_owned(), b.to_owned()));
        let parsed = match text.split_once(':') {
            None if text == "triton_interpreter" => Some(Self::TritonInterpreter),
            Some(("aliases_input", rest)) => {
                pair(rest).and_then(|(output, input)| Some(Self::AliasesInput { output: output.parse().ok()?, input }))
            }
            Some(("aliases_output", rest)) => pair(rest).and_then(|(output, other)| {
                Some(Self::AliasesOutput { output: output.parse().ok()?, other: other.parse().ok()? })
            }),
            Some(("changes_graph", rest)) => pair(rest).map(|(pass, node)| Self::ChangesGraph { pass, node }),
            Some(("computes_in_args", rest)) => pair(rest).map(|(pass, target)| Self::ComputesInArgs { pass, target }),
            Some(("matches", rest)) => {
                pair(rest).and_then(|(pass, count)| Some(Self::Matches { pass, count: count.parse().ok()? }))
            }
            Some(("violation", rest)) => Some(Self::Violation(WatchFinding::read(rest))),
            _ => None,
        };
        parsed.ok_or_else(|| UnknownNote(text.to_owned()))
    }
}

impl TryFrom<String> for WorkerNote {
    type Error = UnknownNote;

    fn try_from(text: String) -> Result<Self, UnknownNote> {
        text.parse()
    }
}

impl From<WorkerNote> for String {
    fn from(note: WorkerNote) -> Self {
        note.to_string()
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(note) => note.fmt(f),
            Self::StrideDiffers { output } => write!(f, "stride_differs:{output}"),
            Self::ContentSkipped { content } => write!(f, "content_skipped:{content}"),
            Self::ReferenceNotDeterministic => f.write_str("reference_not_bitwise_deterministic"),
            Self::NoFloat64 { reason } => write!(f, "no_float64:{reason}"),
            Self::AcceptedByFloat64 { output } => write!(f, "accepted_by_float64:{output}"),
            Self::PathFailed { path, code } => write!(f, "path_failed:{path}:{code}"),
            Self::PairSetAside { ratio } => write!(f, "pair_set_aside:{ratio}"),
            Self::RepeatedAlone => f.write_str("repeated_alone"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<String> for Remark {
    fn from(text: String) -> Self {
        if let Ok(note) = text.parse() {
            return Self::Worker(note);
        }
        let parsed = match text.split_once(':') {
            None if text == "reference_not_bitwise_deterministic" => Some(Self::ReferenceNotDeterministic),
            None if text == "repeated_alone" => Some(Self::RepeatedAlone),
            Some(("stride_differs", output)) => output.parse().ok().map(|output| Self::StrideDiffers { output }),
            Some(("content_skipped", content)) => Some(Self::ContentSkipped { content: content.to_owned() }),
            Some(("no_float64", reason)) => Some(Self::NoFloat64 { reason: reason.to_owned() }),
            Some(("accepted_by_float64", output)) => {
                output.parse().ok().map(|output| Self::AcceptedByFloat64 { output })
            }
            Some(("pair_set_aside", ratio)) => Some(Self::PairSetAside { ratio: ratio.to_owned() }),
            Some(("path_failed", rest)) => rest
                .split_once(':')
                .and_then(|(path, code)| Some(Self::PathFailed { path: path.parse().ok()?, code: code.to_owned() })),
            _ => None,
        };
        // Numbers have several spellings. A remark that would be printed differently is kept as text.
        parsed.filter(|remark| remark.to_string() == text).unwrap_or(Self::Other(text))
    }
}

impl From<Remark> for String {
    fn from(remark: Remark) -> Self {
        remark.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch_finding::FarAccessKind;

    #[test]
    fn notes_of_workers_round_trip() {
        let violation = |violation| WorkerNote::Violation(violation);
        for (text, note) in [
            ("triton_interpreter", WorkerNote::TritonInterpreter),
            ("aliases_input:0:in_0", WorkerNote::AliasesInput { output: 0, input: "in_0".to_owned() }),
            ("aliases_output:2:1", WorkerNote::AliasesOutput { output: 2, other: 1 }),
            ("changes_graph:p:relu", WorkerNote::ChangesGraph { pass: "p".to_owned(), node: "relu".to_owned() }),
            ("computes_in_args:p:torch.mm", {
                WorkerNote::ComputesInArgs { pass: "p".to_owned(), target: "torch.mm".to_owned() }
            }),
            ("matches:p:3", WorkerNote::Matches { pass: "p".to_owned(), count: 3 }),
            ("violation:makes_tensors", violation(WatchFinding::MakesTensors)),
            ("violation:no_kernel:f", violation(WatchFinding::NoKernel { function: "f".to_owned() })),
            ("violation:vendor_kernel:a::b", violation(WatchFinding::VendorKernel { kernel: "a::b".to_owned() })),
            ("violation:out_of_bounds", violation(WatchFinding::OutOfBounds)),
            (
                "violation:out_of_bounds:k:x:-4:64:read",
                violation(WatchFinding::StrayAccess {
                    kernel: "k".to_owned(),
                    argument: "x".to_owned(),
                    offset: -4,
                    nbytes: 64,
                    is_write: false,
                }),
            ),
            (
                "violation:out_of_bounds:k:libc.so.6:system_call",
                violation(WatchFinding::FarAccess {
                    kernel: "k".to_owned(),
                    place: "libc.so.6".to_owned(),
                    access: FarAccessKind::SystemCall,
                }),
            ),
            (
                "violation:writes_input:k:x:8",
                violation(WatchFinding::WritesInput { kernel: "k".to_owned(), argument: "x".to_owned(), offset: 8 }),
            ),
            ("violation:aten.mm", violation(WatchFinding::Operator { name: "aten.mm".to_owned() })),
        ] {
            assert_eq!(text.parse(), Ok(note.clone()));
            assert_eq!(note.to_string(), text);
            assert_eq!(Remark::from(text.to_owned()), Remark::Worker(note));
        }
        for text in ["", "stride", "aliases_input:x:in_0", "aliases_input:0", "matches:p:many"] {
            assert!(text.parse::<WorkerNote>().is_err(), "{text}");
        }
    }

    #[test]
    fn remarks_keep_any_text() {
        let known = [
            ("stride_differs:1", Remark::StrideDiffers { output: 1 }),
            ("content_skipped:zeros", Remark::ContentSkipped { content: "zeros".to_owned() }),
            ("no_float64:it draws: so", Remark::NoFloat64 { reason: "it draws: so".to_owned() }),
            ("accepted_by_float64:1", Remark::AcceptedByFloat64 { output: 1 }),
            ("pair_set_aside:2.491", Remark::PairSetAside { ratio: "2.491".to_owned() }),
            ("reference_not_bitwise_deterministic", Remark::ReferenceNotDeterministic),
            ("repeated_alone", Remark::RepeatedAlone),
            (
                "path_failed:compiled:raised",
                Remark::PathFailed { path: ExecutionPath::Compiled, code: "raised".to_owned() },
            ),
            ("stride_differs:+1", Remark::Other("stride_differs:+1".to_owned())),
            ("of a later version", Remark::Other("of a later version".to_owned())),
        ];
        for (text, remark) in known {
            assert_eq!(Remark::from(text.to_owned()), remark);
            let json = serde_json::to_string(&remark).unwrap();
            assert_eq!(json, serde_json::to_string(text).unwrap());
        }
    }
}
