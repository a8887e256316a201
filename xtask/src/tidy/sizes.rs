//! Lengths of files and functions, and the one style of module files.

use std::path::Path;

use super::{
    modules::CrateModules,
    violation::{BrokenRule, TextFile},
};

/// A source file longer than this holds more than one thing.
const MAX_FILE_LINES: usize = 400;

/// A function longer than this does more than one thing.
const MAX_FUNCTION_LINES: usize = 60;

/// The command is one short function per subcommand, and output; its flags are `passnet-flags`. More lines than these are a library
/// inside it. Comments do not count.
const MAX_COMMAND_LINES: usize = 4_000;

pub(super) fn check(sources: &[TextFile], crates: &[CrateModules], violations: &mut Vec<BrokenRule>) {
    for source in sources.iter().filter(|source| is_code(source)) {
        let lines = source.text.lines().count();
        if lines > MAX_FILE_LINES {
            let message = format!("{lines} lines; a file has at most {MAX_FILE_LINES}");
            violations.push(BrokenRule::new("file-length", &source.path, 0, message));
        }
        if source.path.ends_with("mod.rs") && !source.path.iter().any(|part| part == "tests" || part == "benches") {
            let message = "`mod.rs`; name the file after its module, next to the module's folder";
            violations.push(BrokenRule::new("module-style", &source.path, 0, message));
        }
    }
    let of_command = |source: &&TextFile| source.path.starts_with("crates/passnet/src") && source.has_extension("rs");
    let lines: usize = sources.iter().filter(of_command).map(|source| lines_of_code(&source.text)).sum();
    if lines > MAX_COMMAND_LINES {
        let message = format!("{lines} lines of code; the command has at most {MAX_COMMAND_LINES}");
        violations.push(BrokenRule::new("command-length", Path::new("crates/passnet/src"), 0, message));
    }
    let of_python = sources.iter().filter(|source| is_code(source) && source.has_extension("py")).flat_map(|source| {
        let is_test = source.path.iter().any(|part| part == "tests");
        let functions = if is_test { Vec::new() } else { python_functions(&source.text) };
        functions.into_iter().map(|(line, name, lines)| (source.path.as_path(), line, name.to_owned(), lines))
    });
    let of_rust = crates.iter().flat_map(|package| &package.functions);
    let of_rust =
        of_rust.map(|function| (function.file.as_path(), function.line, function.name.clone(), function.lines));
    for (file, line, name, lines) in of_rust.chain(of_python).filter(|(.., lines)| *lines > MAX_FUNCTION_LINES) {
        let message = format!("`{name}` has {lines} lines; a function has at most {MAX_FUNCTION_LINES}");
        violations.push(BrokenRule::new("function-length", file, line, message));
    }
}

/// Returns line, name and number of lines of each function of a Python file. A function ends before the next line that is indented
/// as little as its `def`. Text in a literal can look like such a line, so that a function seems shorter than it is, never longer.
fn python_functions(text: &str) -> Vec<(usize, &str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut functions = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let start = line.trim_start();
        let Some(rest) = start.strip_prefix("async ").unwrap_or(start).strip_prefix("def ") else { continue };
        let name = rest.split('(').next().unwrap_or_default();
        // The line that closes the parameters is indented like the `def`.
        let is_inside = |line: &&str| {
            line.trim().is_empty() || indent(line) > indent(lines[index]) || line.trim_start().starts_with(')')
        };
        let body = lines[index + 1..].iter().take_while(|line| is_inside(line));
        let length =
            body.enumerate().filter(|(_, line)| !line.trim().is_empty()).last().map_or(1, |(last, _)| last + 2);
        functions.push((index + 1, name, length));
    }
    functions
}

/// Returns the number of lines that are neither blank nor comments alone.
fn lines_of_code(text: &str) -> usize {
    text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Returns whether a person writes and reads this file as code. Captured graphs and recorded passes are data.
fn is_code(source: &TextFile) -> bool {
    ["rs", "py", "hpp", "js", "sh"].iter().any(|extension| source.has_extension(extension))
        && (!source.path.starts_with("suites") || source.path.starts_with("suites/demo/passes"))
}

#[cfg(test)]
mod tests {
    use super::python_functions;

    #[test]
    fn functions_of_python_end_where_their_indentation_ends() {
        let text = "\
def f(
    x,
):
    return x


class A:
    async def g(self):
        def h():
            pass

        return h

    name = 1
";
        assert_eq!(python_functions(text), [(1, "f", 4), (8, "g", 5), (9, "h", 2)]);
    }
}
