//! Check of the integrity rules before any code of a pass directory runs.

use passnet_lint::{Finding, Position, lint_dir};
use passnet_record::{
    BrokenRule, FarAccessKind, FilePosition, PassDirectory, ReasonDetail, Status, WatchFinding, WorkerNote,
};

use crate::failure::Failure;

/// Rules about files that cannot be parsed. A violation is an ordinary mistake, like an error that a compiler finds, and not a breach of
/// integrity.
const MALFORMED: &[&str] = &["PN103", "PN105", "PN301"];
/// Largest number of findings that are reported.
const SHOWN: usize = 10;

/// Returns the failure of a pass directory that breaks a rule. The code of the reason is the id of the decisive rule.
pub(crate) fn violation(passes: &PassDirectory) -> Option<Failure> {
    let files: Vec<_> = passes.files().iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let findings = lint_dir(&files);
    let broken = findings.iter().find(|finding| !MALFORMED.contains(&finding.rule));
    let (status, first) = match broken {
        Some(finding) => (Status::Integrity, finding),
        None => (Status::CompileError, findings.first()?),
    };
    let mut lines: Vec<_> = findings.iter().take(SHOWN).map(|finding| describe(finding, first)).collect();
    if findings.len() > SHOWN {
        lines.push(format!("and {} more", findings.len() - SHOWN));
    }
    let failure = Failure::new(status, first.rule, lines.join("\n"));
    Some(failure.with_detail(ReasonDetail {
        findings: findings.iter().take(SHOWN).map(recorded).collect(),
        ..ReasonDetail::default()
    }))
}

/// Returns a finding as verdicts store it.
fn recorded(finding: &Finding) -> BrokenRule {
    let position = |at: Position| FilePosition { line: at.line, column: at.column };
    BrokenRule {
        file: finding.file.clone(),
        start: position(finding.start),
        end: position(finding.end),
        rule: finding.rule.to_owned(),
        name: finding.name.to_owned(),
        message: finding.message.clone(),
        help: finding.help.to_owned(),
    }
}

/// Returns the failure that the worker's notes on a rewrite show, if any. `replacement_args` may only select inputs of the pattern. It
/// must not compute with them, because only replacement functions are watched, and it must not change the graph.
pub(crate) fn computed_arguments(notes: &[WorkerNote]) -> Option<Failure> {
    let changed = notes.iter().find_map(|note| match note {
        WorkerNote::ChangesGraph { pass, node } => Some((pass, node)),
        _ => None,
    });
    if let Some((pass, node)) = changed {
        let message = format!(
            "code of pass `{pass}` changed node `{node}` of the graph; a pass changes nothing but what its pattern matches"
        );
        return Some(Failure::new(Status::Integrity, "graph_changed", message));
    }
    let (pass, target) = notes.iter().find_map(|note| match note {
        WorkerNote::ComputesInArgs { pass, target } => Some((pass, target)),
        _ => None,
    })?;
    let message = format!(
        "`replacement_args` of pass `{pass}` calls {target}, which would run as part of the graph; hand the pattern's \
         inputs on and compute in a kernel"
    );
    Some(Failure::new(Status::Integrity, "computes_in_args", message))
}

/// Returns the failure that the watch over replacement functions saw in a call, if any.
pub(crate) fn violation_seen(notes: &[WorkerNote]) -> Option<Failure> {
    let broken = notes.iter().find_map(|note| match note {
        WorkerNote::Violation(violation) if *violation != WatchFinding::MakesTensors => Some(violation),
        _ => None,
    })?;
    let (code, message) = match broken {
        WatchFinding::MakesTensors => return None,
        WatchFinding::NoKernel { function } => (
            "no_kernel",
            format!(
                "`{function}` returned new tensors without launching a kernel; compute them in a kernel of the pass"
            ),
        ),
        WatchFinding::VendorKernel { kernel } => (
            "vendor_kernel",
            format!("a replacement function ran `{kernel}`, a kernel of a vendor's library; write the kernel itself"),
        ),
        WatchFinding::OutOfBounds => (
            "out_of_bounds",
            "a kernel wrote past the end of a tensor; guard the last block with a mask or a bound".to_owned(),
        ),
        WatchFinding::StrayAccess { kernel, argument, offset, nbytes, is_write } => {
            ("out_of_bounds", stray_access((kernel, argument), (*offset, *nbytes), *is_write))
        }
        WatchFinding::WritesInput { kernel, argument, offset } => (
            "input_mutated",
            format!(
                "the kernel `{kernel}` wrote to byte {offset} of `{argument}`, an input that the graph does not change; write to \
                 a tensor that the replacement function allocates, also for values that are needed only for a while"
            ),
        ),
        WatchFinding::FarAccess { kernel, place, access } => {
            let did = match access {
                FarAccessKind::Read => format!("read {place}, far from all of its arguments"),
                FarAccessKind::Write => format!("wrote to {place}, far from all of its arguments"),
                FarAccessKind::Jump => format!("continued in {place}, which is not its own code"),
                FarAccessKind::SystemCall => format!("made {place}"),
            };
            ("out_of_bounds", format!("the kernel `{kernel}` {did}; a kernel uses its arguments and nothing else"))
        }
        WatchFinding::Operator { name } => {
            let message = format!(
                "a replacement function called `{name}`; it may allocate and reshape, the computation itself belongs into \
                 its own kernel"
            );
            let failure = Failure::new(Status::Integrity, "forbidden_operator", message);
            return Some(failure.with_detail(ReasonDetail { operator: Some(name.clone()), ..ReasonDetail::default() }));
        }
    };
    Some(Failure::new(Status::Integrity, code, message))
}

/// Describes an access near an argument, or a write to a `const` argument.
fn stray_access((kernel, argument): (&str, &str), (offset, nbytes): (i64, u64), is_write: bool) -> String {
    if is_write && u64::try_from(offset).is_ok_and(|offset| offset < nbytes) {
        return format!(
            "the kernel `{kernel}` wrote to byte {offset} of `{argument}`, which its signature has as `const`; leave out `const` where \
             a kernel writes"
        );
    }
    let access = if is_write { "wrote to" } else { "read" };
    format!(
        "the kernel `{kernel}` {access} byte {offset} of `{argument}`, which has the bytes 0 to {}; a kernel accesses its arguments \
         only: check the bounds of its loops",
        nbytes.saturating_sub(1)
    )
}

/// Returns a finding as a line of text. The line names the rule if it differs from the rule of `decisive`, which is already the code of
/// the failure.
fn describe(finding: &Finding, decisive: &Finding) -> String {
    let Finding { file, start, rule, name, message, help, .. } = finding;
    let rule = if *rule == decisive.rule { String::new() } else { format!("{rule} ({name}): ") };
    format!("{file}:{}:{}: {rule}{message}; {help}", start.line, start.column)
}

#[cfg(test)]
mod tests {
    use passnet_record::ORDER_FILE;

    use super::*;

    fn judge(text: &str) -> Option<(Status, String)> {
        let passes = PassDirectory::new([("fuse.py", text), (ORDER_FILE, "[\"fuse\"]")]).unwrap();
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
