//! Declarations of a module, and its functions as lists of statements.

use std::collections::BTreeSet;

use super::text::format_error;
use crate::finding::{ObjectFinding, ObjectRule, readable};

/// The only function of the device's runtime that a kernel may call: it ends the launch.
const ASSERTION: &str = "__assertfail";

/// Declarations and functions of a module.
#[derive(Debug, Default)]
pub(super) struct PtxModule<'a> {
    /// Variables with addresses: in constant memory, or initialised and read only.
    pub(super) constants: BTreeSet<&'a str>,
    /// Variables of shared memory.
    pub(super) shared: BTreeSet<&'a str>,
    pub(super) functions: Vec<PtxFunction<'a>>,
    /// Words in the values of variables, which may be names of other variables.
    in_values: BTreeSet<&'a str>,
    /// Other statements at the top level.
    others: Vec<Vec<&'a str>>,
}

/// A function with a body.
#[derive(Debug, Default)]
pub(super) struct PtxFunction<'a> {
    pub(super) name: &'a str,
    pub(super) is_entry: bool,
    /// Statements in order, including those of nested blocks, without the semicolon.
    pub(super) statements: Vec<Vec<&'a str>>,
}

impl PtxModule<'_> {
    /// Returns whether a function may be called: the module has its body, or the function only ends the launch.
    pub(super) fn may_call(&self, name: &str) -> bool {
        name == ASSERTION || self.functions.iter().any(|function| !function.is_entry && function.name == name)
    }

    /// Returns whether a function or the value of another variable names a variable. Headers define many constants that a kernel does not
    /// use. Those that are zero look like variables.
    fn is_in_use(&self, name: &str) -> bool {
        let mut statements = self.functions.iter().flat_map(|function| &function.statements);
        self.in_values.contains(name) || statements.any(|statement| statement.contains(&name))
    }

    pub(super) fn is_assertion(name: &str) -> bool {
        name == ASSERTION
    }
}

/// Reads the declarations and functions of a module.
pub(super) fn parse<'a>(tokens: &[&'a str]) -> Result<PtxModule<'a>, ObjectFinding> {
    let mut module = PtxModule::default();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == ".section" {
            at = section(tokens, at)?;
            continue;
        }
        let end = tokens[at..].iter().position(|token| matches!(*token, ";" | "{" | "="));
        let end = at + end.ok_or_else(|| format_error(&tokens[at..].join(" ")))?;
        let head = &tokens[at..end];
        if tokens[end] == "{" {
            let (statements, after) = body(tokens, end + 1)?;
            module.functions.push(function(head, statements)?);
            at = after;
            continue;
        }
        let semicolon = tokens[end..].iter().position(|token| *token == ";");
        let semicolon = end + semicolon.ok_or_else(|| format_error(&head.join(" ")))?;
        declare(&mut module, head, &tokens[end..semicolon]);
        at = semicolon + 1;
    }
    Ok(module)
}

/// Skips a section of debugging information.
fn section(tokens: &[&str], at: usize) -> Result<usize, ObjectFinding> {
    let is_debugging = tokens.get(at + 1).is_some_and(|name| name.starts_with(".debug_"));
    let end = tokens[at..].iter().position(|token| *token == "}");
    match end {
        Some(end) if is_debugging && tokens.get(at + 2) == Some(&"{") => Ok(at + end + 1),
        _ => Err(format_error(&tokens[at..tokens.len().min(at + 4)].join(" "))),
    }
}

fn function<'a>(head: &[&'a str], statements: Vec<Vec<&'a str>>) -> Result<PtxFunction<'a>, ObjectFinding> {
    let kind = head.iter().position(|token| matches!(*token, ".entry" | ".func"));
    let kind = kind.ok_or_else(|| format_error(&head.join(" ")))?;
    // A function has the variable that it returns in parentheses in front of its name.
    let is_returning = head.get(kind + 1) == Some(&"(");
    let name = if is_returning {
        head.iter().position(|token| *token == ")").and_then(|end| head.get(end + 1))
    } else {
        head.get(kind + 1)
    };
    let name = name.copied().ok_or_else(|| format_error(&head.join(" ")))?;
    Ok(PtxFunction { name, is_entry: head[kind] == ".entry", statements })
}

/// Returns the statements up to the brace that closes a function, and the place after it. Braces of blocks are dropped;
/// those of vectors stand inside a statement and stay.
fn body<'a>(tokens: &[&'a str], begin: usize) -> Result<(Vec<Vec<&'a str>>, usize), ObjectFinding> {
    let (mut statements, mut statement, mut depth, mut vector) = (Vec::new(), Vec::new(), 1, 0);
    for (at, &token) in tokens.iter().enumerate().skip(begin) {
        match token {
            "{" if statement.is_empty() => depth += 1,
            "}" if statement.is_empty() => {
                depth -= 1;
                if depth == 0 {
                    return Ok((statements, at + 1));
                }
            }
            ";" if vector == 0 => statements.push(std::mem::take(&mut statement)),
            // A label stands alone, except where it names a list of targets.
            ":" if statement.len() == 1 && !tokens.get(at + 1).is_some_and(|next| is_list(next)) => statement.clear(),
            _ => {
                vector += i32::from(token == "{") - i32::from(token == "}");
                statement.push(token);
            }
        }
    }
    Err(ObjectFinding::new(ObjectRule::Format, "the PTX ends inside a function"))
}

fn is_list(directive: &str) -> bool {
    matches!(directive, ".branchtargets" | ".calltargets" | ".callprototype")
}

/// Adds the declaration in a statement at the top level to the module.
fn declare<'a>(module: &mut PtxModule<'a>, head: &[&'a str], value: &[&'a str]) {
    let has = |word: &str| head.contains(&word);
    module.in_values.extend(value);
    let name = head.iter().rev().find(|token| is_identifier(token)).copied().unwrap_or_default();
    let is_linked = has(".extern") || has(".common") || has(".managed");
    if has(".shared") {
        module.shared.insert(name);
    } else if (has(".const") && !is_linked) || (has(".global") && !is_linked && value.first() == Some(&"=")) {
        module.constants.insert(name);
    } else {
        module.others.push(head.to_vec());
    }
}

fn is_identifier(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
}

/// Finds variables that outlive a launch, and declarations that no kernel needs.
pub(super) fn check(module: &PtxModule<'_>, findings: &mut Vec<ObjectFinding>) {
    for head in &module.others {
        let name = head.iter().rev().find(|token| is_identifier(token)).copied().unwrap_or_default();
        if head.contains(&".func") {
            // Calls of this function are checked where they occur.
            continue;
        }
        if head.contains(&".global") {
            if module.is_in_use(name) || head.contains(&".extern") {
                findings.push(writable_memory(name));
            }
        } else {
            let message = format!("`{}`: a kernel declares functions, shared memory and constants", head.join(" "));
            findings.push(ObjectFinding::new(ObjectRule::Sections, message));
        }
    }
}

/// Returns the finding about a variable of the device's memory.
pub(super) fn writable_memory(name: &str) -> ObjectFinding {
    let message = format!(
        "`{}` is memory of the device that can be written and outlives the launch; keep values in registers, in `__shared__` memory, \
         or in a tensor that the replacement makes",
        readable(name)
    );
    ObjectFinding::new(ObjectRule::Sections, message)
}
