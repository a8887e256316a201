//! Imports of a module in a `try` statement, as code has them that also runs where a module is missing.
//!
//! ```python
//! try:
//!     import triton
//!     HAS_TRITON = True
//! except ImportError:
//!     triton, HAS_TRITON = None, False    # or two assignments
//! ```
//!
//! A handler may also import the same functions of the device from another place, as versions of Triton have them in different ones.
//!
//! All modules that a pass may import are installed, so the handler never runs. If it did, its names would have other constants, or it would
//! raise an exception again.

use ruff_python_ast::{ExceptHandler, Expr, Stmt, StmtImportFrom, StmtTry, Suite};

use crate::importable::bound_name;

/// Exceptions that a handler may raise.
const ERRORS: &[&str] = &["Exception", "ImportError", "ModuleNotFoundError", "RuntimeError"];

/// Modules with functions of the device.
const LIBRARIES: &[&str] = &["triton.language.extra.cuda.libdevice", "triton.language.extra.libdevice"];

/// Functions of the device that `triton.language.math` has, too.
const MATH: &[&str] =
    &["abs", "ceil", "cos", "erf", "exp", "exp2", "floor", "fma", "log", "log2", "pow", "rsqrt", "sin", "sqrt", "tanh"];

/// Replaces each `try` statement that only guards imports with its imports and assignments.
pub(crate) fn without_guards(body: Suite) -> Suite {
    let plain = |stmt| match stmt {
        Stmt::Try(stmt) if is_guarded_import(&stmt) => {
            let StmtTry { body, orelse, .. } = stmt;
            body.into_iter().chain(orelse).collect()
        }
        other => vec![other],
    };
    body.into_iter().flat_map(plain).collect()
}

/// Returns whether a statement imports modules and assigns constants, and its handlers assign other constants to the same names.
fn is_guarded_import(stmt: &StmtTry) -> bool {
    let (imports, assignments): (Vec<&Stmt>, Vec<&Stmt>) = stmt.body.iter().partition(|stmt| is_import(stmt));
    let mut names: Vec<&str> = imports.iter().flat_map(|stmt| imported_names(stmt)).collect();
    for assignment in assignments.into_iter().chain(&stmt.orelse) {
        let Some(assigned) = constant_names(assignment) else { return false };
        names.extend(assigned);
    }
    let is_harmless = |ExceptHandler::ExceptHandler(handler): &ExceptHandler| {
        handler.type_.as_deref().is_none_or(is_names)
            && handler.body.iter().all(|stmt| {
                let is_other_place = imports.len() == 1 && is_other_place(imports[0], stmt);
                let error = handler.name.as_ref().map(|name| name.as_str());
                stmt.is_pass_stmt()
                    || raises_text(stmt, error)
                    || is_other_place
                    || constant_names(stmt).is_some_and(|assigned| assigned.iter().all(|name| names.contains(name)))
            })
    };
    !imports.is_empty() && stmt.finalbody.is_empty() && stmt.handlers.iter().all(is_harmless)
}

/// Returns whether a statement raises the exception of its handler again, or another one with a constant text: `raise ImportError("...") from error`.
fn raises_text(stmt: &Stmt, error: Option<&str>) -> bool {
    let Stmt::Raise(raise) = stmt else { return false };
    let is_error = |expr: &Expr| expr.as_name_expr().is_some_and(|name| Some(name.id.as_str()) == error);
    let is_harmless = |expr: &Expr| match expr {
        Expr::Call(call) => {
            call.func.as_name_expr().is_some_and(|name| ERRORS.contains(&name.id.as_str()))
                && call.arguments.keywords.is_empty()
                && call.arguments.args.iter().all(|argument| argument.is_literal_expr() || is_error(argument))
        }
        Expr::Name(name) => is_error(expr) || ERRORS.contains(&name.id.as_str()),
        other => other.is_none_literal_expr(),
    };
    raise.exc.as_deref().is_none_or(is_harmless) && raise.cause.as_deref().is_none_or(is_harmless)
}

/// Returns whether two statements import functions of the device of the same names. A kernel may use these functions, host code may not, so
/// it does not matter which statement binds the names.
fn is_other_place(first: &Stmt, second: &Stmt) -> bool {
    let (Stmt::ImportFrom(first), Stmt::ImportFrom(second)) = (first, second) else { return false };
    let all_of_device = |import: &StmtImportFrom| {
        import.level == 0
            && import.module.as_ref().is_some_and(|module| {
                let is_math = |name: &str| module.as_str() == "triton.language.math" && MATH.contains(&name);
                let is_library = |name: &str| {
                    LIBRARIES.contains(&module.as_str()) && !matches!(name, "*" | "core" | "extern" | "builtins")
                };
                let is_module = |name: &str| {
                    matches!(module.as_str(), "triton.language.extra" | "triton.language.extra.cuda")
                        && name == "libdevice"
                };
                let names = import.names.iter().map(|alias| alias.name.as_str());
                names.into_iter().all(|name| is_math(name) || is_library(name) || is_module(name))
            })
    };
    let pairs = |import: &StmtImportFrom| {
        import.names.iter().map(|alias| (alias.name.to_string(), bound_name(alias).to_owned())).collect::<Vec<_>>()
    };
    all_of_device(first) && all_of_device(second) && pairs(first) == pairs(second)
}

fn is_import(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_))
}

fn imported_names(stmt: &Stmt) -> Vec<&str> {
    match stmt {
        Stmt::Import(import) => import.names.iter().map(bound_name).collect(),
        Stmt::ImportFrom(import) => import.names.iter().map(bound_name).collect(),
        _ => Vec::new(),
    }
}

/// Returns the names if a statement assigns constants to names and nothing else.
fn constant_names(stmt: &Stmt) -> Option<Vec<&str>> {
    let assign = stmt.as_assign_stmt()?;
    let mut names = Vec::new();
    for target in &assign.targets {
        match (target, &*assign.value) {
            (Expr::Name(name), value) if value.is_literal_expr() => names.push(name.id.as_str()),
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
                for (target, value) in targets.iter().zip(values) {
                    value.is_literal_expr().then_some(())?;
                    names.push(target.as_name_expr()?.id.as_str());
                }
            }
            _ => return None,
        }
    }
    Some(names)
}

/// Returns whether an expression is a name or a tuple of names.
fn is_names(expr: &Expr) -> bool {
    expr.is_name_expr() || expr.as_tuple_expr().is_some_and(|tuple| tuple.iter().all(Expr::is_name_expr))
}
