//! Rules for single instructions.

use std::collections::BTreeSet;

use super::module::{PtxFunction, PtxModule, writable_memory};
use crate::finding::{ObjectFinding, ObjectRule, readable};

/// Special registers with the index of the thread and the configuration of the launch. All others are clocks, counters, or differ between
/// launches.
const SPECIAL: &[&str] = &[
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%is_explicit_cluster",
    "%dynamic_smem_size",
    "%total_smem_size",
    "%aggr_smem_size",
];

/// Known instructions, each up to its first point.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    // Arithmetic, comparison, conversion
    "abs", "add", "addc", "and", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot", "copysign", "cos", "cvt", "cvta", "div",
    "dp2a", "dp4a", "ex2", "fma", "fns", "isspacep", "lg2", "lop3", "mad", "mad24", "madc", "max", "min", "mov", "mul",
    "mul24", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "rsqrt", "sad", "selp", "set", "setp", "shf", "shl", "shr",
    "sin", "slct", "sqrt", "sub", "subc", "szext", "tanh", "testp", "xor", "vabsdiff", "vabsdiff2", "vabsdiff4", "vadd",
    "vadd2", "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2", "vmax4", "vmin", "vmin2", "vmin4", "vset", "vset2", "vset4",
    "vshl", "vshr", "vsub", "vsub2", "vsub4",
    // Matrices
    "ldmatrix", "mma", "movmatrix", "stmatrix", "tcgen05", "wgmma", "wmma",
    // Memory
    "applypriority", "atom", "cp", "createpolicy", "discard", "ld", "ldu", "mapa", "prefetch", "prefetchu", "red", "st", "tensormap",
    // Threads
    "activemask", "bar", "barrier", "clusterlaunchcontrol", "elect", "fence", "getctarank", "griddepcontrol", "match",
    "mbarrier", "membar", "nanosleep", "redux", "setmaxnreg", "shfl", "vote",
    // Control
    "bra", "brx", "call", "exit", "ret", "trap",
];

/// Splits an instruction, without its predicate, into the operation and the operands.
pub(super) fn operation<'s, 'a>(statement: &'s [&'a str]) -> Option<(&'a str, &'s [&'a str])> {
    let rest = match statement {
        ["@", "!", _, rest @ ..] | ["@", _, rest @ ..] => rest,
        _ => statement,
    };
    rest.split_first().map(|(operation, operands)| (*operation, operands))
}

/// Returns the name of an operation up to its first point.
pub(super) fn base(operation: &str) -> &str {
    operation.split('.').next().unwrap_or_default()
}

/// Finds instructions and special registers outside the lists, and calls of functions that the module does not define.
pub(super) fn check(module: &PtxModule<'_>, function: &PtxFunction<'_>, findings: &mut Vec<ObjectFinding>) {
    let declared = Declared::of(function);
    for statement in &function.statements {
        let Some((operation, operands)) = operation(statement) else { continue };
        if operation.starts_with('.') || is_target_list(operands) {
            directive(function, statement, findings);
            continue;
        }
        if !KNOWN.contains(&base(operation)) {
            let message =
                format!("`{operation}` in `{}` is not an instruction that kernels need", readable(function.name));
            findings.push(ObjectFinding::new(ObjectRule::Instructions, message));
        }
        let special = statement.iter().filter(|token| token.starts_with('%') && !declared.has(token));
        for token in special.filter(|token| !is_special(token)) {
            let message = format!(
                "`{token}` in `{}`: a kernel may read which thread it is (`%tid`, `%ctaid` ...), no clock, counter or number of the launch",
                readable(function.name)
            );
            findings.push(ObjectFinding::new(ObjectRule::Instructions, message));
        }
        if base(operation) == "call" {
            call(module, function, operands, findings);
        }
    }
}

/// True for a special register of the list, or a part of one (`%tid.x`).
fn is_special(token: &str) -> bool {
    let name = token
        .rsplit_once('.')
        .filter(|(_, part)| matches!(*part, "x" | "y" | "z" | "w"))
        .map_or(token, |(name, _)| name);
    SPECIAL.contains(&name)
}

fn is_target_list(operands: &[&str]) -> bool {
    matches!(operands, [":", ".branchtargets" | ".calltargets" | ".callprototype", ..])
}

/// Checks a directive in a function. Allowed are declarations of registers and of memory that lives as long as the thread or the block,
/// and remarks for the compiler.
fn directive(function: &PtxFunction<'_>, statement: &[&str], findings: &mut Vec<ObjectFinding>) {
    let is_known = match statement {
        [".reg" | ".local" | ".shared" | ".param" | ".pragma", ..] => !statement.contains(&"="),
        // A target of a list or a prototype is checked where it is called.
        [_, ":", _, ..] => true,
        _ => false,
    };
    if statement.first() == Some(&".global") {
        let name = statement.last().copied().unwrap_or_default();
        findings.push(writable_memory(name));
    } else if !is_known {
        let message = format!("`{}` in `{}`", statement.join(" "), readable(function.name));
        findings.push(ObjectFinding::new(ObjectRule::Symbols, message));
    }
}

/// Checks a call `call (returned), name, (arguments)`: `name` has to be a function that the module may call.
fn call(module: &PtxModule<'_>, function: &PtxFunction<'_>, operands: &[&str], findings: &mut Vec<ObjectFinding>) {
    let callee = callee(operands);
    if callee.is_some_and(|name| module.may_call(name)) {
        return;
    }
    let name = readable(callee.unwrap_or("a register"));
    let message = format!(
        "`{}` calls `{name}`, which the source does not define: a kernel neither prints nor allocates, nor calls through pointers",
        readable(function.name)
    );
    findings.push(ObjectFinding::new(ObjectRule::Symbols, message));
}

/// Returns the function that a call names.
pub(super) fn callee<'a>(operands: &[&'a str]) -> Option<&'a str> {
    let after = match operands.first() {
        Some(&"(") => operands.iter().position(|token| *token == ")").map_or(0, |end| end + 2),
        _ => 0,
    };
    operands.get(after).copied()
}

/// The registers that a function declares: by name, or by a prefix for `%r<10>`.
struct Declared<'a> {
    names: BTreeSet<&'a str>,
    prefixes: Vec<&'a str>,
}

impl<'a> Declared<'a> {
    fn of(function: &PtxFunction<'a>) -> Self {
        let mut declared = Self { names: BTreeSet::new(), prefixes: Vec::new() };
        for statement in function.statements.iter().filter(|statement| statement.first() == Some(&".reg")) {
            for (at, token) in statement.iter().enumerate().skip(1).filter(|(_, token)| token.starts_with('%')) {
                if statement.get(at + 1) == Some(&"<") {
                    declared.prefixes.push(token);
                } else {
                    declared.names.insert(token);
                }
            }
        }
        declared
    }

    fn has(&self, token: &str) -> bool {
        let is_numbered = |prefix: &&str| {
            token
                .strip_prefix(*prefix)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        // A part of a vector register is written as the name of the register, a point and the part.
        let name = token.split('.').next().unwrap_or_default();
        self.names.contains(name) || self.prefixes.iter().any(is_numbered)
    }
}
