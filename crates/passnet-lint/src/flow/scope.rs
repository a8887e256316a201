//! Names that a block of code binds.

use ruff_python_ast::{
    Alias, Comprehension, Expr, ExprContext, Parameters, Pattern, Stmt, StmtIf,
    visitor::{self, Visitor},
};
use ruff_text_size::TextRange;

use crate::importable::bound_name;

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

/// Returns the names that an `if` statement chooses values for: each branch consists of assignments to the same names, and there is an
/// `else`. Returns `None` for other `if` statements.
pub(super) fn chosen_names(stmt: &StmtIf) -> Option<Vec<&str>> {
    stmt.elif_else_clauses.last().filter(|clause| clause.test.is_none())?;
    let names = assigned_names(&stmt.body)?;
    let is_same = |body: &[Stmt]| assigned_names(body).as_ref() == Some(&names);
    stmt.elif_else_clauses.iter().all(|clause| is_same(&clause.body)).then_some(names)
}

/// Returns the names, in alphabetical order, if the statements are assignments to one name each, and to different ones.
fn assigned_names(body: &[Stmt]) -> Option<Vec<&str>> {
    let mut names: Vec<&str> = body.iter().map(assigned_name).collect::<Option<_>>()?;
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1]).then_some(names)
}

/// Returns the name if the statement assigns to one name and nothing else.
fn assigned_name(stmt: &Stmt) -> Option<&str> {
    match stmt.as_assign_stmt()?.targets.as_slice() {
        [Expr::Name(name)] => Some(name.id.as_str()),
        _ => None,
    }
}

impl<'a> Visitor<'a> for Scope<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // The names that the other branches bind are those of the first one.
            Stmt::If(choice) if self.is_module && chosen_names(choice).is_some() => {
                self.visit_expr(&choice.test);
                self.visit_body(&choice.body);
                for clause in &choice.elif_else_clauses {
                    clause.test.iter().for_each(|test| self.visit_expr(test));
                    let values = clause.body.iter().filter_map(Stmt::as_assign_stmt);
                    values.for_each(|assign| self.visit_expr(&assign.value));
                }
            }
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
