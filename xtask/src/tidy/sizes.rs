//! Lengths of files and functions, and the one style of module files.

use super::{
    modules::CrateModules,
    violation::{Source, Violation},
};

/// A source file longer than this holds more than one thing.
const MAX_FILE_LINES: usize = 400;

/// A function longer than this does more than one thing.
const MAX_FUNCTION_LINES: usize = 60;

pub(super) fn check(sources: &[Source], crates: &[CrateModules], violations: &mut Vec<Violation>) {
    for source in sources.iter().filter(|source| is_code(source)) {
        let lines = source.text.lines().count();
        if lines > MAX_FILE_LINES {
            let message = format!("{lines} lines; a file has at most {MAX_FILE_LINES}");
            violations.push(Violation::new("file-length", &source.path, 0, message));
        }
        if source.path.ends_with("mod.rs") && !source.path.iter().any(|part| part == "tests" || part == "benches") {
            let message = "`mod.rs`; name the file after its module, next to the module's folder";
            violations.push(Violation::new("module-style", &source.path, 0, message));
        }
    }
    for function in crates.iter().flat_map(|package| &package.functions) {
        if function.lines > MAX_FUNCTION_LINES {
            let message = format!(
                "`{}` has {} lines; a function has at most {MAX_FUNCTION_LINES}",
                function.name, function.lines
            );
            violations.push(Violation::new("function-length", &function.file, function.line, message));
        }
    }
}

/// Returns whether a person writes and reads this file as code. Captured graphs and recorded passes are data.
fn is_code(source: &Source) -> bool {
    (source.has_extension("rs") || source.has_extension("py"))
        && (!source.path.starts_with("suites") || source.path.starts_with("suites/demo/passes"))
}
