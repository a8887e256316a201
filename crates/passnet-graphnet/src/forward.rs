//! The method `forward` of a `model.py`.

use ruff_python_ast::{ModModule, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextSize};

use crate::{Error, ErrorKind, source::Source};

pub(crate) fn unsupported(source: &Source<'_>, place: &impl Ranged, what: impl Into<String>) -> Error {
    source.error(place, ErrorKind::Unsupported { what: what.into(), part: "graph" })
}

/// Returns the method `forward` of the one class of a module.
pub(crate) fn find_forward<'a>(source: &Source<'_>, module: &'a ModModule) -> Result<&'a StmtFunctionDef, Error> {
    let mut found = None;
    for statement in &module.body {
        match statement {
            Stmt::Import(_) | Stmt::ImportFrom(_) => {}
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            Stmt::ClassDef(class) if found.is_none() => found = Some(class),
            other => return Err(unsupported(source, other, "this statement next to the class")),
        }
    }
    let mut forward = None;
    for statement in found.iter().flat_map(|class| &class.body) {
        match statement {
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            Stmt::Pass(_) => {}
            Stmt::FunctionDef(function) if is_plain_init(source, function) => {}
            Stmt::FunctionDef(function) if &function.name == "forward" && forward.is_none() => {
                forward = Some(function);
            }
            other => return Err(unsupported(source, other, "this statement next to the method `forward`")),
        }
    }
    forward.ok_or_else(|| source.error_at(source_end(source), ErrorKind::NoForward))
}

/// Returns whether a method is a `def __init__(self)` that only calls `__init__` of the base class.
fn is_plain_init(source: &Source<'_>, function: &StmtFunctionDef) -> bool {
    let is_call = |statement: &Stmt| source.text_of(statement) == "super().__init__()";
    &function.name == "__init__" && function.parameters.len() == 1 && function.body.iter().all(is_call)
}

fn source_end(source: &Source<'_>) -> TextSize {
    // The size of a source is limited to far less than 4 GiB.
    TextSize::new(source.text.len() as u32)
}
