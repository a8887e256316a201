//! Rules for addresses, judged by the values that they are computed from.
//!
//! The origin of a register's value is the union over all of its definitions in the function. The order of statements is ignored: a
//! register that is ever computed from the address of a constant counts as such an address everywhere.

use std::collections::BTreeMap;

use super::{
    instructions::{base, callee, operation},
    module::{PtxFunction, PtxModule},
};
use crate::finding::{ObjectFinding, ObjectRule, readable};

/// Origin of a value.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sources {
    /// The address of a constant.
    constant: bool,
    /// A parameter, memory, or a variable of the block or the thread.
    given: bool,
}

impl Sources {
    fn and(self, other: Self) -> Self {
        Self { constant: self.constant || other.constant, given: self.given || other.given }
    }
}

/// Operations that write through the addresses in their operands.
const WRITES: &[&str] = &["st", "atom", "red", "mbarrier", "stmatrix", "discard"];

/// Finds writes to constants, addresses of constants that leave the function, and global addresses that are computed from numbers alone.
pub(super) fn check(module: &PtxModule<'_>, function: &PtxFunction<'_>, findings: &mut Vec<ObjectFinding>) {
    let known = sources(module, function);
    let of = |tokens: &[&str]| combined(module, &known, tokens);
    let calls_others = function
        .statements
        .iter()
        .filter_map(|statement| operation(statement))
        .any(|(name, operands)| base(name) == "call" && !callee(operands).is_some_and(PtxModule::is_assertion));
    let mut report = |message: String| findings.push(ObjectFinding::new(ObjectRule::Data, message));
    let name = readable(function.name);
    for statement in &function.statements {
        let Some((operation, operands)) = operation(statement) else { continue };
        let parts: Vec<&str> = operation.split('.').collect();
        let addresses = addresses(operands);
        let is_write = WRITES.contains(&parts[0]);
        let written = if is_write { &addresses[..] } else { &addresses[..addresses.len().min(1)] };
        if (is_write || parts[0] == "cp") && written.iter().any(|address| of(address).constant) {
            report(format!("`{operation}` in `{name}` writes to a constant, which would outlive the launch"));
        }
        let stored =
            operands.iter().position(|token| *token == "]").map(|end| &operands[end + 1..]).unwrap_or_default();
        let is_argument = parts.contains(&"param") && !calls_others && function.is_entry;
        if is_write && !is_argument && of(stored).constant {
            report(format!(
                "`{operation}` in `{name}` stores the address of a constant, which leaves the function with it"
            ));
        }
        let is_confined = parts.iter().any(|part| matches!(*part, "param" | "shared" | "shared::cta" | "const"));
        let is_access = is_write || matches!(parts[0], "ld" | "ldu" | "cp");
        if is_access && !is_confined {
            for address in &addresses {
                let from = of(address);
                if !from.constant && !from.given {
                    report(format!(
                        "`{operation}` in `{name}` has the address `{}`, which is made of numbers; compute addresses from the parameters",
                        address.join(" ")
                    ));
                }
            }
        }
    }
}

/// Returns the operands in brackets.
fn addresses<'s, 'a>(operands: &'s [&'a str]) -> Vec<&'s [&'a str]> {
    let mut found = Vec::new();
    let mut rest = operands;
    while let Some(begin) = rest.iter().position(|token| *token == "[") {
        let end = rest[begin..].iter().position(|token| *token == "]").map_or(rest.len(), |end| begin + end);
        found.push(&rest[begin + 1..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    found
}

/// Returns the origin of the value of each register.
fn sources<'a>(module: &PtxModule<'a>, function: &PtxFunction<'a>) -> BTreeMap<&'a str, Sources> {
    let mut known: BTreeMap<&str, Sources> = BTreeMap::new();
    loop {
        let mut has_changed = false;
        for statement in &function.statements {
            let Some((operation, operands)) = operation(statement) else { continue };
            // A declaration gives no value to what it declares.
            if operation.starts_with('.') {
                continue;
            }
            let (targets, rest) = split(operands);
            let from = match base(operation) {
                // A value from memory was not computed by this function, so it counts as given.
                "ld" | "ldu" | "atom" | "ldmatrix" => Sources { given: true, constant: false },
                _ => combined(module, &known, rest),
            };
            for &target in targets.iter().filter(|token| is_register(token)) {
                let before = known.entry(target).or_default();
                let after = before.and(from);
                has_changed |= *before != after;
                *before = after;
            }
        }
        if !has_changed {
            return known;
        }
    }
}

/// Returns the registers that an instruction sets, and its other operands. It sets its first operand, or all registers in the braces of
/// that operand. An instruction whose first operand is an address sets no register.
fn split<'s, 'a>(operands: &'s [&'a str]) -> (&'s [&'a str], &'s [&'a str]) {
    let is_vector = operands.first() == Some(&"{");
    if operands.first() == Some(&"[") {
        return (&[], operands);
    }
    let end = if is_vector {
        operands.iter().position(|token| *token == "}").map(|end| end + 1)
    } else {
        operands.iter().position(|token| *token == ",")
    };
    operands.split_at(end.unwrap_or(operands.len()))
}

fn is_register(token: &str) -> bool {
    token.starts_with(|c: char| matches!(c, '%' | '_' | '$') || c.is_ascii_alphabetic())
}

/// Returns the union of the origins of some operands. Names that are neither registers nor constants are parameters, or variables of the
/// block or the thread. Special registers and numbers are not addresses.
fn combined(module: &PtxModule<'_>, known: &BTreeMap<&str, Sources>, operands: &[&str]) -> Sources {
    let of = |token: &&str| {
        if let Some(known) = known.get(token) {
            return *known;
        }
        let is_name = token.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
        let constant = module.constants.contains(token);
        // %SP and %SPL point to the thread's stack. A function may use them before it sets them.
        let is_stack = matches!(*token, "%SP" | "%SPL");
        Sources { constant, given: (is_name && !constant) || is_stack }
    };
    operands.iter().map(of).fold(Sources::default(), Sources::and)
}
