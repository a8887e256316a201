//! Lines of a length that people read.

/// Most characters of a line.
const LONGEST_LINE: usize = 100;

/// Lines of at most [`LONGEST_LINE`] characters, broken at spaces.
pub(super) fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut rest = line.to_owned();
        while rest.len() > LONGEST_LINE {
            let start = rest.len() - rest.trim_start().len();
            // After a comma where that leaves no short line, so that a type and its name stay together.
            let at_comma =
                rest[..LONGEST_LINE].rfind(", ").map(|comma| comma + 1).filter(|end| *end > LONGEST_LINE / 2);
            let at_space = rest[..LONGEST_LINE].rfind(' ').filter(|end| *end > start);
            let Some(end) = at_comma.or(at_space) else { break };
            lines.push_str(rest[..end].trim_end());
            lines.push('\n');
            rest = format!("{}{}", " ".repeat(indent + 8), rest[end..].trim_start());
        }
        lines.push_str(&rest);
        lines.push('\n');
    }
    lines
}

/// A declaration as literals of Python, which are joined.
pub(super) fn literals(declaration: &str) -> String {
    let mut lines = vec![String::new()];
    for parameter in declaration.split_inclusive(", ") {
        if lines.last().is_some_and(|line| line.len() + parameter.len() > LONGEST_LINE - 8) {
            lines.push(String::new());
        }
        lines.last_mut().expect("there is one line at least").push_str(parameter);
    }
    let last = lines.len() - 1;
    let literal = |(place, line): (usize, &String)| format!("    \"{line}\"{}\n", if place == last { "," } else { "" });
    lines.iter().enumerate().map(literal).collect()
}
