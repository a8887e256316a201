//! Names that a block of code binds.

use ruff_python_ast::{
    Alias, Comprehension, Expr, ExprContext, Parameters, Pattern, Stmt,
    visitor::{self, Visitor},
};
use ruff_text_size::TextRange;

use super::imports::bound_name;

/// The names that one function (or module) binds itself, nested functions excluded.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// Names bound by statements, parameters and `:=`.
    pub(super) names: Vec<(&'a str, TextRange)>,
    /// Names bound by comprehensions, which have a separate scope in Python, but not in the data flow.
    pub(super) comprehension: Vec<(&'a str, TextRange)>,
    in_comprehension_target: bool,
    is_module: bool,
}

impl<'a> Scope<'a> {
    pub(super) fn of_module(body: &'a [Stmt]) -> Self {
        let mut scope = Self { is_module: true, ..Self::default() };
        scope.visit_body(body);
        scope
    }

    pub(super) fn of_body(parameters: Option<&'a Parameters>, body: &'a [Stmt]) -> Self {
        let mut scope = Self::of_parameters(parameters);
        scope.visit_body(body);
        scope
    }

    pub(super) fn of_lambda(parameters: Option<&'a Parameters>, body: &'a Expr) -> Self {
        let mut scope = Self::of_parameters(parameters);
        scope.visit_expr(body);
        scope
    }

    /// Binds the names of an import inside a function. Those of a module are registered with what they mean.
    fn bind_aliases(&mut self, names: &'a [Alias]) {
        if self.is_module {
            return;
        }
        self.names.extend(names.iter().map(|alias| (bound_name(alias), alias.range)));
    }

    fn of_parameters(parameters: Option<&'a Parameters>) -> Self {
        let names =
            parameters.into_iter().flat_map(|list| list.iter()).map(|p| (p.name().as_str(), p.name().range)).collect();
        Self { names, ..Self::default() }
    }
}

impl<'a> Visitor<'a> for Scope<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // Its decorators are evaluated outside. Its defaults bind names only with `:=`, which no pass needs there.
            Stmt::FunctionDef(def) => {
                self.names.push((def.name.as_str(), def.name.range));
                def.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
            }
            // The names in its body belong to the class.
            Stmt::ClassDef(def) => self.names.push((def.name.as_str(), def.name.range)),
            Stmt::Import(import) => self.bind_aliases(&import.names),
            Stmt::ImportFrom(import) => self.bind_aliases(&import.names),
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Lambda(_) => {}
            Expr::Name(name) if name.ctx == ExprContext::Store => {
                if self.in_comprehension_target {
                    self.comprehension.push((name.id.as_str(), name.range));
                } else {
                    self.names.push((name.id.as_str(), name.range));
                }
            }
            _ => visitor::walk_expr(self, expr),
        }
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let bound = match pattern {
            Pattern::MatchAs(pattern) => pattern.name.as_ref(),
            Pattern::MatchStar(pattern) => pattern.name.as_ref(),
            Pattern::MatchMapping(pattern) => pattern.rest.as_ref(),
            _ => None,
        };
        self.names.extend(bound.map(|name| (name.as_str(), name.range)));
        visitor::walk_pattern(self, pattern);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.in_comprehension_target = true;
        self.visit_expr(&comprehension.target);
        self.in_comprehension_target = false;
        self.visit_expr(&comprehension.iter);
        for condition in &comprehension.ifs {
            self.visit_expr(condition);
        }
    }
}
