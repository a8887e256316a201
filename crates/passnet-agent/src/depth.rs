//! Depth that an evaluation reached.

use passnet_lint::Finding;
use passnet_record::{Depth, Status, Verdict};

/// Returns the stage that gave a verdict. A limit or a crash counts as timing if the results had been compared by then.
pub(crate) fn depth_of(verdict: &Verdict, findings: &[Finding]) -> Depth {
    let code = verdict.reason.as_ref().map(|reason| reason.code.as_str());
    match verdict.status {
        // A syntax error is a finding, too, and has the status of a pattern that cannot be traced.
        _ if findings.iter().any(|finding| Some(finding.rule) == code) => Depth::Lint,
        Status::Correct if verdict.timings.is_empty() => Depth::Check,
        Status::Correct | Status::Unstable => Depth::Timing,
        Status::NoMatch | Status::CompileError => Depth::Match,
        Status::Timeout | Status::OutOfMemory | Status::RuntimeError if verdict.tolerance.is_some() => Depth::Timing,
        // Every status is named, so that a new one does not compile before its depth is decided.
        Status::Timeout
        | Status::OutOfMemory
        | Status::RuntimeError
        | Status::Accuracy
        | Status::TypeMismatch
        | Status::ShapeMismatch
        | Status::LayoutDiffers
        | Status::OutputsShareMemory
        | Status::NonFinite
        | Status::Integrity
        | Status::ReferenceError
        | Status::EagerFail => Depth::Check,
    }
}
