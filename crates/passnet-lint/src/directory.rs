//! Checks of a pass directory as a whole.

use std::collections::BTreeSet;

use ruff_text_size::TextRange;

use super::{
    dialect,
    finding::Finding,
    flow::{Body, CodeLocation, Flow, FunctionRole},
    importable::IMPORTABLE_ROOTS,
    kernel::TritonLanguage,
    order::{ORDER_FILE, listed_names},
    pattern::PatternLanguage,
    rule::Violation,
    rules::{ModuleName, OrderFile, TooLarge, UnexpectedFile},
    source::{ParsedFile, locate},
};

/// Largest number of files in a directory.
pub const MAX_FILES: usize = 256;
/// Largest number of bytes in all files together.
const MAX_TOTAL_BYTES: usize = 2 * 1024 * 1024;

/// Checks a pass directory, given as file names relative to it with their content. Findings are in the order of files and lines.
/// An empty list means that the directory may be run.
///
/// Never panics. The time is proportional to the size of the files.
pub fn lint_dir(files: &[(&str, &[u8])]) -> Vec<Finding> {
    // A set: several checks can find the same thing, and findings are returned in the order of files and lines.
    let mut findings = BTreeSet::new();
    // The limits are checked first, because the time of all later checks grows with the text.
    let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    if files.len() > MAX_FILES || total > MAX_TOTAL_BYTES {
        let limit = format!("{MAX_FILES} files and {} KiB", MAX_TOTAL_BYTES / 1024);
        return vec![whole("", &TooLarge { subject: "the directory".to_owned(), limit })];
    }
    let mut sources = Vec::new();
    for (name, bytes) in files {
        if *name == ORDER_FILE {
            continue;
        }
        let Some(stem) = name.strip_suffix(".py").filter(|stem| !stem.contains(['/', '\\'])) else {
            findings.insert(whole(name, &UnexpectedFile { subject: (*name).to_owned() }));
            continue;
        };
        // A wrong name is reported, and the file is still parsed, so that its author sees the other findings at once.
        if !is_module_name(stem) {
            findings.insert(whole(name, &ModuleName { subject: (*name).to_owned() }));
        }
        match ParsedFile::parse(name, bytes) {
            Ok(source) => sources.push(source),
            Err(finding) => {
                findings.insert(*finding);
            }
        }
    }
    let order = files.iter().find(|(name, _)| *name == ORDER_FILE).map(|(_, bytes)| *bytes);
    let listed = match listed_names(order, files) {
        Ok(listed) => listed,
        Err(problem) => {
            let text = order.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
            findings.insert(locate(ORDER_FILE, text, problem.range, &OrderFile { subject: problem.subject }));
            Vec::new()
        }
    };
    if !sources.is_empty() {
        let mut flow = Flow::new(&sources);
        flow.run();
        check_compiled(&mut flow);
        flow.check_entry_points(&listed);
        findings.extend(flow.into_findings());
    }
    findings.into_iter().collect()
}

/// Checks kernels and patterns.
fn check_compiled(flow: &mut Flow<'_>) {
    let compiled: Vec<_> = flow
        .functions()
        .filter_map(|(id, function)| match (function.role, function.body) {
            (role @ (FunctionRole::Kernel | FunctionRole::Pattern), Body::Def(def)) => {
                Some((id, role, def, function.module))
            }
            _ => None,
        })
        .collect();
    for (id, role, def, module) in compiled {
        let frame = CodeLocation { module, function: None };
        if role == FunctionRole::Kernel {
            dialect::check::<TritonLanguage>(flow, id, def, frame);
        } else {
            dialect::check::<PatternLanguage>(flow, id, def, frame);
        }
    }
}

/// Returns a finding about a file as a whole.
fn whole(file: &str, violation: &impl Violation) -> Finding {
    locate(file, "", TextRange::default(), violation)
}

/// Returns whether a name is an ASCII identifier without leading underscores, and not the name of a module that passes import.
fn is_module_name(stem: &str) -> bool {
    let plain =
        stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !stem.starts_with(|c: char| c.is_ascii_digit());
    // Python would import a file with the name of an allowed module in place of the module, or the module in place of the file.
    plain && !stem.is_empty() && !stem.starts_with("__") && !IMPORTABLE_ROOTS.contains(&stem)
}
