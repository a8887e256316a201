//! The formula of a pass for its description: the lines of the pattern, with values that are used once written into their user.

use std::collections::BTreeMap;

/// Largest number of characters of a line that values are written into.
const LONGEST: usize = 90;
/// Largest number of lines of a formula. The pattern below the description has all of them.
const MOST_LINES: usize = 12;

/// Returns the formula of the body of a pattern, one line for each value that has a name.
pub(super) fn formula(body: &str) -> Vec<String> {
    let lines: Vec<&str> = body.lines().map(str::trim).filter(|line| !line.starts_with("return ")).collect();
    let is_plain = |line: &&str| line.starts_with('t') && !changes(line);
    // A backslash or a quote would be read as a part of the description's own string.
    if lines.iter().any(|line| line.contains('\\') || line.contains("\"")) {
        return Vec::new();
    }
    let mut formula =
        if lines.iter().all(is_plain) { joined(&lines, body) } else { lines.into_iter().map(short).collect() };
    if formula.len() > MOST_LINES {
        let left = formula.len() - MOST_LINES + 1;
        formula.truncate(MOST_LINES - 1);
        formula.push(format!("... and {left} more lines, as in `pattern`"));
    }
    formula
}

/// Returns whether a line changes memory. Such lines keep their order.
fn changes(line: &str) -> bool {
    line.contains("_(") || line.contains("operator.i") || line.contains("] = ") || line.contains("inplace")
}

/// Returns the lines without those whose value is written into the only line that uses it.
fn joined(lines: &[&str], body: &str) -> Vec<String> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, name) in names(body) {
        *uses.entry(name).or_default() += 1;
    }
    let returned = body.lines().last().unwrap_or_default();
    let mut values: BTreeMap<&str, String> = BTreeMap::new();
    let mut kept: Vec<(&str, String)> = Vec::new();
    for (name, call) in lines.iter().filter_map(|line| line.split_once(" = ")) {
        let call = with_values(&short(call), &mut values, &mut kept);
        // One for the line that defines the value, and one for the line that uses it.
        let is_inner = uses.get(name) == Some(&2) && names(returned).all(|(_, result)| result != name);
        if is_inner {
            values.insert(name, call);
        } else {
            kept.push((name, call));
        }
    }
    kept.into_iter().map(|(name, call)| format!("{name} = {call}")).collect()
}

/// Returns a call with values in the place of their names. Values that are too long for the line get lines of their own.
fn with_values<'b>(call: &str, values: &mut BTreeMap<&'b str, String>, kept: &mut Vec<(&'b str, String)>) -> String {
    let mut text = String::new();
    let mut end = 0;
    let mut length = call.len();
    for (place, name) in names(call) {
        let Some((name, value)) = values.remove_entry(name) else { continue };
        length += value.len();
        if length > LONGEST {
            length -= value.len();
            kept.push((name, value));
            continue;
        }
        text.push_str(&call[end..place]);
        end = place + name.len();
        let needs_brackets = is_operand(&text, &call[end..]) && has_operator(&value);
        text.push_str(&if needs_brackets { format!("({value})") } else { value });
    }
    text + &call[end..]
}

/// Returns whether a value between these texts is an operand of an operator or the subject of a method.
fn is_operand(before: &str, after: &str) -> bool {
    let is_after_argument = before.ends_with(", ") || before.ends_with(['(', '[', '=']);
    !is_after_argument && !before.is_empty() || !after.is_empty() && !after.starts_with([',', ')', ']'])
}

/// Returns whether a text has an operator outside of brackets.
fn has_operator(text: &str) -> bool {
    let mut depth = 0;
    text.starts_with(['-', '~'])
        || text.chars().any(|letter| {
            match letter {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                _ => {}
            }
            letter == ' ' && depth == 0
        })
}

/// Returns the names of values in a text, `t0`, `t1` ..., with their places.
fn names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.');
    let mut place = 0;
    std::iter::from_fn(move || {
        loop {
            let start = place + text[place..].find(is_part)?;
            let word = &text[start..];
            let word = &word[..word.find(|letter| !is_part(letter)).unwrap_or(word.len())];
            place = start + word.len();
            let name = word.split('.').next().unwrap_or_default();
            let is_name = name.strip_prefix('t').is_some_and(|number| number.parse::<usize>().is_ok());
            if is_name {
                return Some((start, name));
            }
        }
    })
}

/// Returns a line without the names of PyTorch's modules.
fn short(line: &str) -> String {
    ["torch.nn.functional.", "torch._C._nn.", "torch.", "operator."]
        .iter()
        .fold(line.to_owned(), |line, module| line.replace(module, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &[&str]) {
        let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        assert_eq!(formula(&body), expected);
    }

    #[test]
    fn values_that_are_used_once_are_written_into_their_user() {
        check(&["t0 = torch.nn.functional.relu(in0)", "return t0"], &["t0 = relu(in0)"]);
        check(
            &["t0 = in0 + in1", "t1 = torch.sigmoid(t0)", "t2 = t1 * 2.0", "t3 = t2.transpose(0, 1)", "return t3"],
            &["t3 = (sigmoid(in0 + in1) * 2.0).transpose(0, 1)"],
        );
        check(&["t0 = in0 + in1", "t1 = -t0", "t2 = t1 * in0", "return t2"], &["t2 = (-(in0 + in1)) * in0"]);
        check(&["t0 = in0 + in1", "t1 = t0 * t0", "return t1"], &["t0 = in0 + in1", "t1 = t0 * t0"]);
        check(&["t0 = in0 + 1", "t1 = torch.relu(t0)", "return t0, t1"], &["t0 = in0 + 1", "t1 = relu(t0)"]);
    }

    #[test]
    fn lines_that_change_memory_keep_their_order() {
        check(
            &["t0 = in0.add_(1)", "in0[0] = 2", "t2 = torch.relu(t0)", "return t2"],
            &["t0 = in0.add_(1)", "in0[0] = 2", "t2 = relu(t0)"],
        );
    }

    #[test]
    fn long_lines_are_not_made_longer() {
        let long = format!("t0 = torch.clamp({}, 0)", "in0".repeat(26));
        check(&[&long, "t1 = torch.relu(t0)", "return t1"], &[&long.replace("torch.", ""), "t1 = relu(t0)"]);
    }
}
