//! Mistakes that people and models make, as edits of a right pass. A lesson submits one first and then corrects it.
//!
//! An edit has no fixed verdict: the referee judges the file like any other, and the lesson quotes the verdict.

use super::source::{PassLines, numbers};

/// A mistake in a first submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slip {
    /// A constant of the pattern is not that of the graph.
    Constant,
    /// The table has a shape that the graph does not have.
    Shape,
    /// A kernel adds where it has to multiply, or subtracts where it has to add.
    Operator,
    /// A kernel uses a name that it does not define.
    Name,
    /// The kernel is called with an input and the output exchanged.
    Order,
    /// The parameters of the replacement are in another order than those of the pattern.
    Inputs,
    /// The replacement computes with PyTorch.
    Delegate,
    /// The replacement keeps results and returns them again.
    Remember,
    /// The replacement copies its input with PyTorch.
    Convert,
    /// The replacement reads values of its input on the host.
    Read,
    /// The replacement computes with PyTorch what it has no kernel for.
    Fallback,
    /// The replacement prints.
    Print,
}

/// A file with a mistake in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slipped {
    /// The file.
    pub(super) text: String,
    /// Cause of the failure, for the lesson to say once the referee has judged the file.
    pub(super) cause: String,
}

impl Slip {
    /// Mistakes that break no integrity rule on purpose.
    pub const HONEST: [Self; 6] = [Self::Constant, Self::Shape, Self::Operator, Self::Name, Self::Order, Self::Inputs];
    /// Mistakes that an integrity rule is about.
    pub const UNRULY: [Self; 6] =
        [Self::Delegate, Self::Remember, Self::Convert, Self::Read, Self::Fallback, Self::Print];

    /// Returns whether an integrity rule is about the mistake.
    pub fn is_unruly(self) -> bool {
        Self::UNRULY.contains(&self)
    }

    /// Returns the intent of an author who makes the mistake on purpose, as text; empty for a mistake by accident.
    pub(super) fn intent(self) -> &'static str {
        match self {
            Self::Delegate => "PyTorch has these functions already, so the replacement calls them.",
            Self::Remember => "A call with the same input needs no second computation, so results are kept.",
            Self::Convert => "The kernel needs dense memory, so the replacement makes a dense copy of its input first.",
            Self::Read => "Large values might overflow, so the replacement looks at them before it calls the kernel.",
            Self::Fallback => "Where the table has no entry, the replacement computes with PyTorch instead of failing.",
            Self::Print => "I print the shapes, to see which calls arrive.",
            _ => "",
        }
    }

    /// Makes the mistake in a pass of the built-in author. `seed` chooses the place. `None` if the pass has no place for it.
    pub(super) fn make(self, text: &str, seed: usize) -> Option<Slipped> {
        let source = PassLines::new(text);
        match self {
            Self::Constant => constant(&source, seed),
            Self::Shape => shape(&source, seed),
            Self::Operator => operator(&source, seed),
            Self::Name => name(&source, seed),
            Self::Order => order(&source),
            Self::Inputs => inputs(&source),
            Self::Delegate => delegate(&source),
            Self::Remember => remember(&source),
            Self::Convert => before_the_body(
                &source,
                "    in0 = in0.clone(memory_format=torch.contiguous_format)",
                "a copy by PyTorch is work that a kernel has to do",
            ),
            Self::Read => before_the_body(
                &source,
                "    if in0.abs().max().item() > 1e30:\n        raise ValueError(\"fused: values are too large\")",
                "a wrapper decides by shape and dtype, and only kernels read values",
            ),
            Self::Fallback => fallback(&source),
            Self::Print => {
                before_the_body(&source, "    print(\"fused\", in0.shape)", "a pass has no output but its results")
            }
        }
    }
}

/// Returns a place by the seed.
fn choose<T: Clone>(places: &[T], seed: usize) -> Option<T> {
    (!places.is_empty()).then(|| places[seed % places.len()].clone())
}

fn constant(source: &PassLines<'_>, seed: usize) -> Option<Slipped> {
    let mut places = Vec::new();
    for line in source.pattern()? {
        let text = source.line(line);
        let found = numbers(text).into_iter().map(|range| (line, range));
        places.extend(found.filter(|_| !text.trim_start().starts_with("return")));
    }
    // A wrong factor is a more common mistake than a wrong dimension, so integers are used only if there are no other numbers.
    let written = |place: &(usize, std::ops::Range<usize>)| source.line(place.0)[place.1.clone()].contains(['.', 'e']);
    let factors: Vec<_> = places.iter().filter(|place| written(place)).cloned().collect();
    let (line, range) = choose(if factors.is_empty() { &places } else { &factors }, seed)?;
    let right = &source.line(line)[range.clone()];
    let wrong = other_number(right)?;
    let mut changed = source.line(line).to_owned();
    changed.replace_range(range, &wrong);
    let cause = format!(
        "The pattern has `{wrong}` where the graph has `{right}`. Constants are compared exactly, so it occurs nowhere."
    );
    Some(Slipped { text: source.with_line(line, &changed), cause })
}

/// Returns a number that is easily written instead of another.
fn other_number(right: &str) -> Option<String> {
    if let Some((digits, power)) = right.split_once('e') {
        let power: i32 = power.parse().ok()?;
        return Some(format!("{digits}e{}{:02}", if power + 1 < 0 { "-" } else { "" }, (power + 1).abs()));
    }
    match right.split_once('.') {
        Some((whole, part)) if part.len() > 2 => Some(format!("{whole}.{}", &part[..part.len() - 1])),
        Some((whole, part)) => Some(format!("{}.{part}", whole.parse::<u64>().ok()?.checked_add(1)?)),
        None => Some(right.parse::<u64>().ok()?.checked_add(1)?.to_string()),
    }
}

fn shape(source: &PassLines<'_>, seed: usize) -> Option<Slipped> {
    let rows: Vec<usize> = source.table("PLANS = {")?.filter(|line| source.line(*line).starts_with("    ((")).collect();
    let line = choose(&rows, seed)?;
    let text = source.line(line);
    let right = &text[5..=text.find(')')?];
    let mut extents: Vec<u64> = right[1..right.len() - 1]
        .split(',')
        .filter(|extent| !extent.trim().is_empty())
        .map(|extent| extent.trim().parse().ok())
        .collect::<Option<_>>()?;
    match extents.as_mut_slice() {
        [] => return None,
        [.., a, b] if a != b => std::mem::swap(a, b),
        [.., last] => *last += 1,
    }
    let written: Vec<String> = extents.iter().map(u64::to_string).collect();
    let wrong = if let [one] = written.as_slice() { format!("({one},)") } else { format!("({})", written.join(", ")) };
    let cause = format!("The table has an entry for `{wrong}`, and the argument has the shape `{right}`.");
    Some(Slipped { text: source.with_line(line, &text.replacen(right, &wrong, 1)), cause })
}

fn operator(source: &PassLines<'_>, seed: usize) -> Option<Slipped> {
    let mut places = Vec::new();
    for line in source.kernels()? {
        let text = source.line(line);
        let Some(from) = value_of(source, line) else { continue };
        let found = [(" * ", " + "), (" + ", " - ")].iter().find_map(|(right, wrong)| {
            let at = from + text[from..].find(right)?;
            Some((line, at, *wrong))
        });
        // An index into memory is an address.
        places.extend(found.filter(|_| ["[", "get_row", "tl.load"].iter().all(|memory| !text.contains(memory))));
    }
    let (line, at, wrong) = choose(&places, seed)?;
    let right = source.line(line);
    let mut changed = right.to_owned();
    changed.replace_range(at..at + 3, wrong);
    let cause = format!("The kernel computes `{}`, where the graph needs `{}`.", changed.trim(), right.trim());
    Some(Slipped { text: source.with_line(line, &changed), cause })
}

/// Returns where the value begins that a line of a kernel computes or stores; in other lines operators are of addresses.
fn value_of(source: &PassLines<'_>, line: usize) -> Option<usize> {
    let text = source.line(line);
    if source.defines(line).is_some_and(|name| name.starts_with('v')) {
        return Some(text.find(" = ")? + " = ".len());
    }
    let address = text.find("tl.store(")? + "tl.store(".len();
    let mut depth = 0;
    for (at, c) in text[address..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return Some(address + at + 1),
            _ => {}
        }
    }
    None
}

fn name(source: &PassLines<'_>, seed: usize) -> Option<Slipped> {
    let kernels = source.kernels()?;
    let used = |line: usize, name: &str| {
        let next = kernels.end.min(line + 12);
        (line + 1..next).any(|after| source.has_word(after, name))
    };
    let places: Vec<(usize, &str)> = kernels
        .clone()
        .filter_map(|line| Some((line, source.defines(line)?)))
        .filter(|(line, name)| used(*line, name))
        .collect();
    let (line, right) = choose(&places, seed)?;
    let wrong = format!("t{}", right.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
    let changed = source.line(line).replacen(&format!("{right} = "), &format!("{wrong} = "), 1);
    let cause = format!("`{right}` is used and nothing defines it: its line assigns `{wrong}`.");
    Some(Slipped { text: source.with_line(line, &changed), cause })
}

fn order(source: &PassLines<'_>) -> Option<Slipped> {
    let line = source.wrapper()?.find(|line| {
        let text = source.line(*line);
        text.trim_start().starts_with("kernel") && text.contains(", out0")
    })?;
    let text = source.line(line);
    let end = text.find(", out0")?;
    let begin = text[..end].rfind(['(', ' '])? + 1;
    let input = &text[begin..end];
    let right = format!("{input}, out0");
    let cause = format!("The kernel takes `{right}`; the call has the two exchanged.");
    Some(Slipped { text: source.with_line(line, &text.replacen(&right, &format!("out0, {input}"), 1)), cause })
}

fn inputs(source: &PassLines<'_>) -> Option<Slipped> {
    let line = source.body("def replacement_args(")?.next()?;
    let text = source.line(line);
    let names: Vec<&str> = text.trim().strip_prefix("return (")?.split(',').map(str::trim).collect();
    let [first, second, ..] = names.as_slice() else { return None };
    let plain = |name: &str| name.starts_with("in") && name.chars().all(|c| c.is_ascii_alphanumeric());
    if !plain(first) || !plain(second) {
        return None;
    }
    let changed = text.replacen(&format!("({first}, {second}"), &format!("({second}, {first}"), 1);
    let cause =
        format!("`replacement_args` passes `{second}` before `{first}`, and the wrapper takes `{first}` first.");
    Some(Slipped { text: source.with_line(line, &changed), cause })
}

fn delegate(source: &PassLines<'_>) -> Option<Slipped> {
    let until = source.body("def replacement_func(")?.end;
    let wrapper = source.wrapper()?;
    let head = source.lines(source.find("def pattern(")?..until);
    let definition = source.lines(source.definition_of_wrapper()?..wrapper.start);
    let text = format!("import torch\n\n\n{head}\n\n\n{definition}\n{}\n", source.lines(source.pattern()?));
    let cause =
        "Results that PyTorch computes in a wrapper are no replacement: a kernel has to compute them.".to_owned();
    Some(Slipped { text, cause })
}

fn remember(source: &PassLines<'_>) -> Option<Slipped> {
    let wrapper = source.wrapper()?;
    let returned = source.line(wrapper.end - 1).trim().strip_prefix("return ")?;
    let body = source.lines(wrapper.start..wrapper.end - 1);
    let definition = source.definition_of_wrapper()?;
    // The lines go above the decorators.
    let mut begin = definition;
    while begin > 0 && source.line(begin - 1).starts_with('@') {
        begin -= 1;
    }
    let (before, signature) = (source.lines(0..begin), source.lines(begin..wrapper.start));
    let text = format!(
        "{before}\nRESULTS = {{}}\n\n\n{signature}\n    key = (in0.data_ptr(), in0.shape)\n    if key in RESULTS:\n        \
         return RESULTS[key]\n{body}\n    RESULTS[key] = {returned}\n    return {returned}\n{}",
        source.lines(wrapper.end..source.len())
    );
    let cause = "A result that is kept is not computed: each call has to compute its own.".to_owned();
    source.line(definition).contains("in0").then_some(Slipped { text, cause })
}

fn fallback(source: &PassLines<'_>) -> Option<Slipped> {
    let line = source.wrapper()?.find(|line| source.line(*line).trim_start().starts_with("raise ValueError("))?;
    let text = source.line(line);
    let indent = &text[..text.len() - text.trim_start().len()];
    let body: Vec<String> =
        source.pattern()?.map(|line| format!("{indent}{}", source.line(line).trim_start())).collect();
    let cause =
        "A wrapper may not compute with PyTorch, not even where it has no kernel: it raises an error.".to_owned();
    Some(Slipped { text: source.with_line(line, &body.join("\n")), cause })
}

/// Adds lines in front of the body of the wrapper.
fn before_the_body(source: &PassLines<'_>, lines: &str, why: &str) -> Option<Slipped> {
    let first = source.wrapper()?.start;
    source.line(source.definition_of_wrapper()?).contains("in0").then(|| Slipped {
        text: source.with_line(first, &format!("{lines}\n{}", source.line(first))),
        cause: format!("`{}` has to go: {why}.", lines.lines().next().unwrap_or_default().trim()),
    })
}
