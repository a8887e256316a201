//! A walk over code that is not run by Python but read by a compiler: Triton kernels and traced patterns.
//!
//! The two languages differ in names, attributes and a few constructs. The walk is the same for both.

use ruff_python_ast::{Expr, Parameters, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::{
    flow::{CodeLocation, Flow, FunctionId},
    value::Value,
};

/// The language of a kind of compiled code.
pub(super) trait Dialect {
    /// True if the language has control flow.
    const CONTROL_FLOW: bool;

    /// Returns whether a dotted name of an imported package may be used.
    fn allows_path(path: &str) -> bool;

    /// Returns whether this attribute may be read from any value.
    fn allows_attribute(name: &str) -> bool;

    /// Returns whether a builtin may be used.
    fn allows_builtin(name: &str) -> bool;

    /// Returns whether a module-level value may be used by its name.
    fn allows_value(value: &Value) -> bool;

    /// Reports a finding of this language.
    fn report(flow: &mut Flow<'_>, frame: CodeLocation, range: TextRange, subject: String);
}

/// Checks the body of one function.
pub(super) fn check<'a, D: Dialect>(
    flow: &mut Flow<'a>,
    id: FunctionId,
    def: &'a StmtFunctionDef,
    frame: CodeLocation,
) {
    let mut walk = Walk::<D> { flow, id, frame, dialect: std::marker::PhantomData };
    walk.parameters(&def.parameters);
    walk.block(&def.body);
}

struct Walk<'w, 'a, D> {
    flow: &'w mut Flow<'a>,
    id: FunctionId,
    frame: CodeLocation,
    dialect: std::marker::PhantomData<D>,
}

impl<'a, D: Dialect> Walk<'_, 'a, D> {
    fn reject(&mut self, node: &impl Ranged, subject: impl Into<String>) {
        D::report(self.flow, self.frame, node.range(), subject.into());
    }

    fn reject_text(&mut self, node: &(impl Ranged + ?Sized)) {
        let range = node.range();
        let text = self.flow.source(self.frame.module).slice(&range);
        let line = text.lines().next().unwrap_or_default();
        D::report(self.flow, self.frame, range, format!("`{line}`"));
    }

    fn parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default() {
                self.expr(default);
            }
        }
    }

    fn block(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Pass(_) => {}
            Stmt::Expr(stmt) => self.expr(&stmt.value),
            Stmt::Return(stmt) => stmt.value.iter().for_each(|value| self.expr(value)),
            Stmt::Assign(stmt) => {
                stmt.targets.iter().for_each(|target| self.target(target));
                self.expr(&stmt.value);
            }
            Stmt::AnnAssign(stmt) => {
                self.target(&stmt.target);
                self.expr(&stmt.annotation);
                stmt.value.iter().for_each(|value| self.expr(value));
            }
            Stmt::AugAssign(stmt) => {
                self.target(&stmt.target);
                self.expr(&stmt.value);
            }
            Stmt::If(stmt) if D::CONTROL_FLOW => {
                self.expr(&stmt.test);
                self.block(&stmt.body);
                for clause in &stmt.elif_else_clauses {
                    clause.test.iter().for_each(|test| self.expr(test));
                    self.block(&clause.body);
                }
            }
            Stmt::For(stmt) if D::CONTROL_FLOW && !stmt.is_async => {
                self.target(&stmt.target);
                self.expr(&stmt.iter);
                self.block(&stmt.body);
                self.block(&stmt.orelse);
            }
            Stmt::While(stmt) if D::CONTROL_FLOW => {
                self.expr(&stmt.test);
                self.block(&stmt.body);
                self.block(&stmt.orelse);
            }
            Stmt::Assert(stmt) if D::CONTROL_FLOW => {
                self.expr(&stmt.test);
                stmt.msg.iter().for_each(|message| self.expr(message));
            }
            Stmt::Break(_) | Stmt::Continue(_) if D::CONTROL_FLOW => {}
            other => self.reject_text(other),
        }
    }

    /// Checks an assignment target. Names are bound; elements are written by the compiler's own rules.
    fn target(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(_) => {}
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.target(element)),
            Expr::List(list) => list.elts.iter().for_each(|element| self.target(element)),
            // `x[i] = y` is an operation that tracing records. In a kernel, only `tl.store` writes.
            Expr::Subscript(_) if !D::CONTROL_FLOW => self.expr(target),
            other => self.reject_text(other),
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => {}
            Expr::Name(_) | Expr::Attribute(_) => {
                self.resolved(expr);
            }
            Expr::Call(call) => {
                if D::CONTROL_FLOW || !self.names_traced(&call.func) {
                    self.expr(&call.func);
                }
                call.arguments.args.iter().for_each(|arg| self.expr(arg));
                call.arguments.keywords.iter().for_each(|keyword| self.expr(&keyword.value));
            }
            Expr::Subscript(subscript) => {
                self.expr(&subscript.value);
                self.expr(&subscript.slice);
            }
            Expr::Slice(slice) => {
                slice.lower.iter().chain(&slice.upper).chain(&slice.step).for_each(|part| self.expr(part));
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.expr(element)),
            Expr::List(list) => list.elts.iter().for_each(|element| self.expr(element)),
            Expr::BinOp(binary) => {
                self.expr(&binary.left);
                self.expr(&binary.right);
            }
            Expr::UnaryOp(unary) => self.expr(&unary.operand),
            Expr::BoolOp(boolean) if D::CONTROL_FLOW => boolean.values.iter().for_each(|value| self.expr(value)),
            Expr::Compare(compare) => {
                self.expr(&compare.left);
                compare.comparators.iter().for_each(|comparator| self.expr(comparator));
            }
            Expr::If(choice) if D::CONTROL_FLOW => {
                self.expr(&choice.test);
                self.expr(&choice.body);
                self.expr(&choice.orelse);
            }
            other => self.reject_text(other),
        }
    }

    /// Returns whether a call runs a function of the directory that is checked in the same way.
    fn names_traced(&self, callee: &'a Expr) -> bool {
        let first = match callee {
            Expr::Attribute(attribute) => &attribute.value,
            other => other,
        };
        first.as_name_expr().is_some_and(|name| !self.flow.is_local(self.id, name.id.as_str()))
            && self.flow.names_traced(self.frame.module, callee)
    }

    /// Checks a name or a chain of attributes. Returns the dotted path that it spells so far, if it starts at an import.
    fn resolved(&mut self, expr: &'a Expr) {
        if let Some(path) = self.path(expr)
            && !D::allows_path(&path)
        {
            self.reject(expr, format!("`{path}`"));
        }
    }

    fn path(&mut self, expr: &'a Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => {
                let name = name.id.as_str();
                // Locals hold values of the compiled language. Only a name from outside can refer to a Python object.
                if self.flow.is_local(self.id, name) {
                    return None;
                }
                match self.flow.module_name(self.frame.module, name) {
                    Some(Value::Path(path)) => Some(path),
                    Some(value) if D::allows_value(&value) => None,
                    None if D::allows_builtin(name) => None,
                    _ => {
                        self.reject(expr, format!("`{name}`"));
                        None
                    }
                }
            }
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                if let Expr::Name(owner) = &*attribute.value
                    && !self.flow.is_local(self.id, owner.id.as_str())
                    && let Some(Value::Module(module)) = self.flow.module_name(self.frame.module, owner.id.as_str())
                {
                    match self.flow.module_name(module, name) {
                        Some(Value::Path(path)) => return Some(path),
                        Some(value) if D::allows_value(&value) => {}
                        _ => self.reject(expr, format!("`{name}`")),
                    }
                    return None;
                }
                let owner = match &*attribute.value {
                    Expr::Name(_) | Expr::Attribute(_) => self.path(&attribute.value),
                    other => {
                        self.expr(other);
                        None
                    }
                };
                match owner {
                    // An allowed name ends the path. A further name is an attribute of the name's value.
                    Some(path) if !D::allows_path(&path) => Some(format!("{path}.{name}")),
                    _ => {
                        if !D::allows_attribute(name) {
                            self.reject(&attribute.attr, format!("`.{name}`"));
                        }
                        None
                    }
                }
            }
            _ => None,
        }
    }
}
