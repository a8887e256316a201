//! Programs as text, with marks where graphs may differ in a size.

mod bounds;
pub(crate) mod cpp;
pub(crate) mod merge;
mod order;
pub(crate) mod triton;

use std::collections::BTreeSet;

use crate::{
    front::{
        arena::Arena,
        expr::{Binary, Expr, ExprId, Unary},
        index::{Index, Term},
    },
    plan::stage::{Buffer, Program, Role},
};

/// Returns an extent, stride or offset between marks. Later, [`merge`] turns it into a constant or a parameter.
fn size(value: i64) -> String {
    format!("{}{value}{}", merge::OPEN, merge::CLOSE)
}

/// Returns an expression as an operand: in brackets if it has operators.
fn operand(text: String) -> String {
    if text.contains(' ') { format!("({text})") } else { text }
}

/// Returns an index as a sum: each term, as `term` prints it, times its factor, and the constant part.
fn sum(index: &Index, mut term: impl FnMut(&Term) -> String) -> String {
    let mut summands: Vec<String> = Vec::new();
    for (of, factor) in index.terms() {
        let text = term(of);
        summands.push(match factor {
            1 => text,
            _ => format!("{} * {}", operand(text), size(*factor)),
        });
    }
    match index.constant_part() {
        0 if summands.is_empty() => summands.push("0".to_owned()),
        0 => {}
        constant => summands.push(size(constant)),
    }
    summands.join(" + ")
}

/// Returns the names of a program's buffers: `in0`, `out0`, `temp0` ...
pub(crate) fn buffer_names(program: &Program) -> Vec<String> {
    let mut counts = [0; 3];
    let name = |buffer: &Buffer| {
        let (kind, prefix) = match buffer.role {
            Role::Input | Role::Updated => (0, "in"),
            Role::Output(_) => (1, "out"),
            Role::Temporary(_) => (2, "temp"),
        };
        counts[kind] += 1;
        format!("{prefix}{}", counts[kind] - 1)
    };
    program.buffers.iter().map(name).collect()
}

/// Returns the rounded values that are operands of sums and differences, including those that are negated or rounded once more.
fn summed(arena: &Arena, roots: &[ExprId]) -> BTreeSet<ExprId> {
    let mut summed = BTreeSet::new();
    for id in arena.reachable(roots) {
        let Expr::Binary(Binary::Add | Binary::Sub, a, b) = *arena.get(id) else { continue };
        for mut operand in [a, b] {
            // A compiler contracts through negations and conversions, too: LLVM fused a product with the next sum
            // across a conversion to half precision.
            while let Expr::Round(inner, _) | Expr::Unary(Unary::Neg, inner) = *arena.get(operand) {
                summed.insert(operand);
                operand = inner;
            }
        }
    }
    summed
}
