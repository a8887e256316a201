//! The integrity rules, before anything of a pass directory runs.

use passnet_python::lint::{Finding, lint_dir};
use passnet_record::Status;
use serde_json::json;

use crate::{candidate::PassDirectory, failure::Failure};

/// Rules about what cannot be read at all. Breaking them is a mistake like any other that a compiler finds.
const MALFORMED: &[&str] = &["PN103", "PN105", "PN301"];
/// Findings that are told; whoever has more sees the rest after mending these.
const SHOWN: usize = 10;

/// What the rules have against a pass directory. The reason's code is the id of the rule that decided.
pub(crate) fn violation(passes: &PassDirectory) -> Option<Failure> {
    let files: Vec<_> = passes.files().iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let findings = lint_dir(&files);
    let broken = findings.iter().find(|finding| !MALFORMED.contains(&finding.rule));
    let (status, first) = match broken {
        Some(finding) => (Status::Integrity, finding),
        None => (Status::CompileError, findings.first()?),
    };
    let mut lines: Vec<_> = findings.iter().take(SHOWN).map(describe).collect();
    if findings.len() > SHOWN {
        lines.push(format!("and {} more", findings.len() - SHOWN));
    }
    let failure = Failure::new(status, first.rule, lines.join("\n"));
    Some(failure.with_detail(json!({ "findings": findings.iter().take(SHOWN).collect::<Vec<_>>() })))
}

/// What the worker's report of a rewrite has against it. `replacement_args` may pass on what the pattern's inputs stand
/// for, not compute with it outside the replacement function, where nobody watches; nor may it touch the graph.
pub(crate) fn computed_arguments(notes: &[String]) -> Option<Failure> {
    if let Some((pass, node)) = notes.iter().find_map(|note| note.strip_prefix("changes_graph:")?.split_once(':')) {
        let message = format!(
            "code of pass `{pass}` changed node `{node}` of the graph; a pass changes nothing but what its pattern matches"
        );
        return Some(Failure::new(Status::Integrity, "graph_changed", message));
    }
    let mut computed = notes.iter().filter_map(|note| note.strip_prefix("computes_in_args:"));
    let (pass, target) = computed.next()?.split_once(':')?;
    let message = format!(
        "`replacement_args` of pass `{pass}` calls {target}, which would run as part of the graph; hand the pattern's \
         inputs on and compute in a kernel"
    );
    Some(Failure::new(Status::Integrity, "computes_in_args", message))
}

/// What the watch over replacement functions has against a call.
pub(crate) fn violation_seen(notes: &[String]) -> Option<Failure> {
    let entry =
        notes.iter().filter_map(|note| note.strip_prefix("violation:")).find(|entry| *entry != MAKES_TENSORS)?;
    let (kind, subject) = entry.split_once(':').unwrap_or((entry, ""));
    let (code, message) = match kind {
        "no_kernel" => (
            "no_kernel",
            format!(
                "`{subject}` returned new tensors without launching a kernel; compute them in a kernel of the pass"
            ),
        ),
        "vendor_kernel" => (
            "vendor_kernel",
            format!("a replacement function ran `{subject}`, a kernel of a vendor's library; write the kernel itself"),
        ),
        "out_of_bounds" => (
            "out_of_bounds",
            "a kernel wrote past the end of a tensor; guard the last block with a mask or a bound".to_owned(),
        ),
        _ => {
            let message = format!(
                "a replacement function called `{entry}`; it may allocate and reshape, the computation itself belongs into \
                 its own kernel"
            );
            let failure = Failure::new(Status::Integrity, "forbidden_operator", message);
            return Some(failure.with_detail(json!({"operator": entry})));
        }
    };
    Some(Failure::new(Status::Integrity, code, message))
}

/// The entry of a replacement function that launched kernels and returned tensors of its own, as most do.
pub(crate) const MAKES_TENSORS: &str = "makes_tensors";

fn describe(finding: &Finding) -> String {
    let Finding { file, start, rule, name, message, help, .. } = finding;
    format!("{file}:{}:{}: {rule} ({name}): {message}; {help}", start.line, start.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(text: &str) -> Option<(Status, String)> {
        let directory = tempfile::tempdir().unwrap();
        fs_err::write(directory.path().join("fuse.py"), text).unwrap();
        fs_err::write(directory.path().join("sorted_output_pass_rule_names.json"), "[\"fuse\"]").unwrap();
        let passes = PassDirectory::read(directory.path()).unwrap();
        violation(&passes).map(|failure| (failure.status, failure.reason.code))
    }

    #[test]
    fn rules_decide_between_integrity_and_mistakes() {
        let entry_points = "def pattern(x):\n    return x.relu()\ndef replacement_args(x):\n    return (x,)\n\
            def replacement_func():\n    return fused\n";
        assert_eq!(judge(&format!("{entry_points}def fused(x):\n    return x\n")), None);
        let cheat = format!("import os\n{entry_points}def fused(x):\n    return x\n");
        assert_eq!(judge(&cheat), Some((Status::Integrity, "PN201".to_owned())));
        assert_eq!(judge("def pattern(:\n"), Some((Status::CompileError, "PN103".to_owned())));
        assert_eq!(judge("import os\n"), Some((Status::Integrity, "PN201".to_owned())));
    }
}
