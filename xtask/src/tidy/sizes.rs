//! Lengths of files and functions, and the one style of module files.

use std::path::Path;

use super::{
    modules::CrateModules,
    violation::{TextFile, Violation},
};

/// A source file longer than this holds more than one thing.
const MAX_FILE_LINES: usize = 400;

/// A function longer than this does more than one thing.
const MAX_FUNCTION_LINES: usize = 60;

/// The command is one short function per subcommand, and output; its flags are `passnet-flags`. More lines than these are a library
/// inside it. Comments do not count.
const MAX_COMMAND_LINES: usize = 4_000;

pub(super) fn check(sources: &[TextFile], crates: &[CrateModules], violations: &mut Vec<Violation>) {
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
    let of_command = |source: &&TextFile| source.path.starts_with("crates/passnet/src") && source.has_extension("rs");
    let lines: usize = sources.iter().filter(of_command).map(|source| lines_of_code(&source.text)).sum();
    if lines > MAX_COMMAND_LINES {
        let message = format!("{lines} lines of code; the command has at most {MAX_COMMAND_LINES}");
        violations.push(Violation::new("command-length", Path::new("crates/passnet/src"), 0, message));
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

/// Returns the number of lines that are neither blank nor comments alone.
fn lines_of_code(text: &str) -> usize {
    text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Returns whether a person writes and reads this file as code. Captured graphs and recorded passes are data.
fn is_code(source: &TextFile) -> bool {
    (source.has_extension("rs") || source.has_extension("py"))
        && (!source.path.starts_with("suites") || source.path.starts_with("suites/demo/passes"))
}
