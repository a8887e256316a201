//! Line breaks in generated files, so that people can read them.

/// Largest number of characters of a line.
const LONGEST_LINE: usize = 100;

/// Space at which [`filled`] does not break a line.
pub(super) const UNBROKEN_SPACE: char = '\u{a0}';

/// Returns the text in lines of at most [`LONGEST_LINE`] characters, broken at spaces.
pub(super) fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut rest = line.to_owned();
        while rest.len() > LONGEST_LINE {
            let start = rest.len() - rest.trim_start().len();
            // Breaks after a comma if this leaves no short line, so that a type and its name stay together.
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

/// Returns Python in lines of at most [`LONGEST_LINE`] characters. A line that cannot be broken inside brackets stays longer.
pub(super) fn wrapped_python(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut rest = line.to_owned();
        let mut depth = 0;
        while rest.len() > LONGEST_LINE {
            // Python ends a statement at a line break outside of brackets, so such a line stays long.
            let Some((end, depth_there)) = last_break(&rest, depth) else { break };
            lines.push_str(rest[..end].trim_end());
            lines.push('\n');
            rest = format!("{}{}", " ".repeat(indent + 8), rest[end..].trim_start());
            depth = depth_there;
        }
        lines.push_str(&rest);
        lines.push('\n');
    }
    lines
}

/// Returns the position of a space inside brackets and outside strings before which the line is short enough, and the
/// number of brackets that are open there. `depth` is the number of brackets that are open at the start of the line.
fn last_break(line: &str, depth: usize) -> Option<(usize, usize)> {
    let (mut depth, mut quote, mut found) = (depth, None, Vec::new());
    let start = line.len() - line.trim_start().len();
    for (place, letter) in line.char_indices().take_while(|&(place, _)| place <= LONGEST_LINE) {
        match (quote, letter) {
            (Some(open), _) => quote = Some(open).filter(|&open| open != letter),
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ' ') if depth > 0 && place > start => found.push((place, depth)),
            _ => {}
        }
    }
    // Prefers the second half of the line, at the place with the fewest open brackets, so that tuples stay together.
    let late =
        found.iter().copied().filter(|&(place, _)| place > LONGEST_LINE / 2).rev().min_by_key(|&(_, depth)| depth);
    late.or(found.last().copied())
}

/// Returns names as the target of an indented assignment, in brackets if [`wrapped_python`] has to break it.
pub(super) fn unpacked(names: &[String], indent: usize) -> String {
    let text = names.join(", ");
    let comma = if names.len() == 1 { "," } else { "" };
    if indent + text.len() + " = numbers".len() > LONGEST_LINE { format!("({text}{comma})") } else { text + comma }
}

/// Returns a paragraph in lines of at most [`LONGEST_LINE`] characters.
pub(super) fn filled(text: &str) -> String {
    let mut lines = String::new();
    // The first line follows the three quotes of a docstring.
    let mut length = 3;
    for word in text.split(' ') {
        if length + word.len() > LONGEST_LINE {
            lines.pop();
            lines.push('\n');
            length = 0;
        }
        lines.push_str(word);
        lines.push(' ');
        length += word.len() + 1;
    }
    lines.pop();
    lines.push('\n');
    lines.replace(UNBROKEN_SPACE, " ")
}

/// Returns a declaration as adjacent string literals, which Python joins.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_target_breaks_inside_its_brackets() {
        let names: Vec<String> = (0..10).map(|number| format!("kernel{number}")).collect();
        let text = wrapped_python(&format!("{} = kernels.cpp(\n", unpacked(&names, 7)));
        assert_eq!(
            text,
            "(kernel0, kernel1, kernel2, kernel3, kernel4, kernel5, kernel6, kernel7, kernel8,\n        \
             kernel9) = kernels.cpp(\n"
        );
        assert_eq!(unpacked(&names[..2], 7), "kernel0, kernel1");
    }
}
