//! Statements of modules and host functions.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, Operator, Stmt, StmtAssign, StmtAugAssign, StmtFor, StmtWith};
use ruff_text_size::Ranged;

use super::{
    Binding, CodeLocation, Flow, ModuleId, Value, api, definitions::is_exports, expressions::combines,
    scope::chosen_names,
};
use crate::{
    annotation,
    class::ClassKind,
    rules::{
        Annotation, ExceptionHandler, ModuleState, SharedMutation, StatementNotAllowed, TensorOperator, UnknownCall,
    },
};

impl<'a> Flow<'a> {
    /// Interprets the statements of a file that run when it is imported.
    pub(super) fn run_module(&mut self, id: ModuleId) {
        let frame = CodeLocation { module: id, function: None };
        for stmt in self.statements(id) {
            match stmt {
                Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Pass(_) => {}
                Stmt::FunctionDef(def) => self.module_def(id, def),
                Stmt::ClassDef(def) => self.run_class(id, def),
                // `__all__` was checked when names were registered.
                Stmt::Assign(assign) if is_exports(assign) => {}
                Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::Assert(_) => self.run_statement(frame, stmt),
                Stmt::Expr(stmt) if stmt.value.is_string_literal_expr() => {}
                Stmt::If(choice) if chosen_names(choice).is_some() => self.run_statement(frame, stmt),
                // It is false when Python runs, and true for tools that check types.
                Stmt::If(stmt)
                    if stmt.elif_else_clauses.is_empty()
                        && self.dotted(id, &stmt.test).as_deref() == Some("typing.TYPE_CHECKING") => {}
                Stmt::Try(stmt) => {
                    self.report(id, stmt, &ExceptionHandler);
                }
                Stmt::Expr(stmt) if self.is_wrap_call(id, &stmt.value) => {
                    self.eval(frame, &stmt.value);
                }
                other => {
                    let subject = format!("{} at module level", describe(other));
                    self.report(id, other, &StatementNotAllowed { subject });
                }
            }
        }
    }

    fn is_wrap_call(&self, id: ModuleId, expr: &Expr) -> bool {
        let path = expr.as_call_expr().and_then(|call| self.dotted(id, &call.func));
        path.is_some_and(|path| api::api(&path) == Some(api::Api::Wrap))
    }

    pub(super) fn run_block(&mut self, frame: CodeLocation, body: &'a [Stmt]) {
        for stmt in body {
            self.run_statement(frame, stmt);
        }
    }

    fn run_statement(&mut self, frame: CodeLocation, stmt: &'a Stmt) {
        match stmt {
            Stmt::Pass(_) | Stmt::Break(_) | Stmt::Continue(_) => {}
            Stmt::Expr(stmt) if self.is_super_init(frame, &stmt.value) => {}
            Stmt::Expr(stmt) => {
                self.eval(frame, &stmt.value);
            }
            Stmt::Assign(assign) => self.assign(frame, assign),
            Stmt::AnnAssign(assign) => {
                self.check_annotation(frame.module, &assign.annotation);
                if let Some(value) = &assign.value {
                    self.assign_to(frame, &assign.target, value);
                }
            }
            Stmt::AugAssign(assign) => self.aug_assign(frame, assign),
            Stmt::Return(stmt) => {
                let value = stmt.value.as_ref().map_or(Value::Plain, |value| self.eval(frame, value));
                self.return_value(frame, stmt, value);
            }
            // All branches run in turn and their values are joined, because the value of the condition is not followed.
            Stmt::If(stmt) => {
                self.condition(frame, &stmt.test);
                self.run_block(frame, &stmt.body);
                for clause in &stmt.elif_else_clauses {
                    if let Some(test) = &clause.test {
                        self.condition(frame, test);
                    }
                    self.run_block(frame, &clause.body);
                }
            }
            // One turn is enough: values only grow, and the whole file is interpreted again until none changes.
            Stmt::While(stmt) => {
                self.condition(frame, &stmt.test);
                self.run_block(frame, &stmt.body);
                self.run_block(frame, &stmt.orelse);
            }
            Stmt::For(stmt) if !stmt.is_async => self.run_for(frame, stmt),
            Stmt::With(stmt) if !stmt.is_async => self.run_with(frame, stmt),
            Stmt::Assert(stmt) => {
                self.condition(frame, &stmt.test);
                if let Some(message) = &stmt.msg {
                    self.plain(frame, message, "an assertion message");
                }
            }
            Stmt::Raise(stmt) => {
                for part in stmt.exc.iter().chain(&stmt.cause) {
                    // `raise ValueError` names the class, `raise ValueError(...)` calls it.
                    let raised = self.eval_raw(frame, part);
                    let is_error = match raised {
                        Value::Builtin(name) => name.ends_with("Error"),
                        Value::Class(class) => self.classes[class.0].kind == ClassKind::Error,
                        _ => false,
                    };
                    if !is_error {
                        self.plain(frame, part, "`raise`");
                    }
                }
            }
            Stmt::FunctionDef(def) => {
                let value = self.nested_def(frame, def);
                self.bind_name(frame, def.name.as_str(), value);
            }
            Stmt::Match(stmt) => self.run_match(frame, stmt),
            Stmt::Delete(stmt) => self.delete(frame, stmt),
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.local_import(frame, stmt),
            // The body is not read: the statement itself is refused, so findings inside it would not help.
            Stmt::Try(stmt) => {
                self.report(frame.module, stmt, &ExceptionHandler);
            }
            other => {
                self.report(frame.module, other, &StatementNotAllowed { subject: describe(other).to_owned() });
            }
        }
    }

    pub(super) fn check_annotation(&mut self, id: ModuleId, expr: &Expr) {
        if !annotation::is_type(expr) {
            self.report(id, expr, &Annotation);
        }
    }

    fn run_for(&mut self, frame: CodeLocation, stmt: &'a StmtFor) {
        let iterated = self.eval(frame, &stmt.iter);
        let element = self.element(frame, &*stmt.iter, iterated);
        self.bind(frame, &stmt.target, element);
        self.run_block(frame, &stmt.body);
        self.run_block(frame, &stmt.orelse);
    }

    fn run_with(&mut self, frame: CodeLocation, stmt: &'a StmtWith) {
        for item in &stmt.items {
            let entered = self.eval(frame, &item.context_expr);
            if !matches!(entered, Value::Context | Value::Nothing | Value::Reported(_)) {
                let subject = "`with` on anything but `torch.cuda.device`".to_owned();
                self.report(frame.module, &item.context_expr, &StatementNotAllowed { subject });
            }
            if let Some(target) = &item.optional_vars {
                let subject = "`as` in a `with` statement".to_owned();
                self.report(frame.module, &**target, &StatementNotAllowed { subject });
            }
        }
        self.open_contexts += 1;
        self.run_block(frame, &stmt.body);
        self.open_contexts -= 1;
    }

    fn assign(&mut self, frame: CodeLocation, assign: &'a StmtAssign) {
        for target in &assign.targets {
            self.assign_to(frame, target, &assign.value);
        }
    }

    fn assign_to(&mut self, frame: CodeLocation, target: &'a Expr, value: &'a Expr) {
        // A plain name may become another name of a type: `Shape = Tuple[int, ...]`.
        if frame.function.is_none() && self.is_type_alias(frame.module, target, value) {
            return self.bind(frame, target, Value::Plain);
        }
        // A plain name may become another name of a module or function: `F = torch.nn.functional`.
        let value_of = match (target, self.eval_raw(frame, value)) {
            (Expr::Name(_), path @ (Value::Path(_) | Value::Module(_))) => path,
            (_, raw) => self.judge(frame, value, raw),
        };
        self.bind(frame, target, value_of);
    }

    /// Returns whether an assignment names a type of `typing` or a builtin one with parameters.
    fn is_type_alias(&self, id: ModuleId, target: &Expr, value: &Expr) -> bool {
        let Expr::Subscript(subscript) = value else { return false };
        let is_typing = match self.dotted(id, &subscript.value) {
            Some(path) => path.starts_with("typing.") || path.starts_with("collections.abc."),
            None => subscript.value.as_name_expr().is_some_and(|name| {
                matches!(name.id.as_str(), "dict" | "list" | "set" | "tuple")
                    && self.module_name(id, name.id.as_str()).is_none()
            }),
        };
        target.is_name_expr() && is_typing && annotation::is_type(value)
    }

    /// Binds a value to a target: a name, a tuple of targets, an element of a container.
    pub(super) fn bind(&mut self, frame: CodeLocation, target: &'a Expr, value: Value) {
        match target {
            Expr::Name(name) => {
                if frame.function.is_none() && !matches!(value, Value::Module(_)) && !self.is_lasting(&value) {
                    self.report(frame.module, target, &ModuleState { subject: self.describe_state(&value) });
                }
                self.bind_name(frame, name.id.as_str(), value);
            }
            Expr::Tuple(tuple) => self.unpack(frame, target, &tuple.elts, value),
            Expr::List(list) => self.unpack(frame, target, &list.elts, value),
            Expr::Starred(starred) => {
                // For the starred target, Python makes a new list.
                let site = self.site(frame, starred, value);
                self.bind(frame, &starred.value, Value::fresh(site));
            }
            Expr::Subscript(subscript) => {
                let container = self.eval(frame, &subscript.value);
                self.plain(frame, &subscript.slice, "an index");
                // Assigning to a slice stores the elements of the value, assigning to an index stores the value.
                let takes_elements = subscript.slice.is_slice_expr() && container != Value::Tensor;
                let value = if takes_elements { self.element(frame, target, value) } else { value };
                self.put_into(frame, target, &container, value);
            }
            Expr::Attribute(attribute) => self.assign_attribute(frame, attribute, &value),
            _ => {
                self.report(frame.module, target, &SharedMutation { subject: "this assignment".to_owned() });
            }
        }
    }

    fn unpack(&mut self, frame: CodeLocation, node: &'a Expr, targets: &'a [Expr], value: Value) {
        match self.as_tuple(value) {
            Value::Tuple(elements) if elements.len() == targets.len() && !targets.iter().any(Expr::is_starred_expr) => {
                for (target, element) in targets.iter().zip(elements) {
                    self.bind(frame, target, element);
                }
            }
            // `*tensors, route = args`
            Value::Tuple(elements)
                if elements.len() + 1 >= targets.len()
                    && targets.iter().filter(|target| target.is_starred_expr()).count() == 1 =>
            {
                let before = targets.iter().take_while(|target| !target.is_starred_expr()).count();
                let after = targets.len() - before - 1;
                let end = elements.len() - after;
                let middle = elements[before..end].iter().cloned().fold(Value::Nothing, Value::join);
                for (target, element) in targets[..before].iter().zip(&elements) {
                    self.bind(frame, target, element.clone());
                }
                self.bind(frame, &targets[before], middle);
                for (target, element) in targets[before + 1..].iter().zip(&elements[end..]) {
                    self.bind(frame, target, element.clone());
                }
            }
            // The length or the positions are unknown, so each target may get any element.
            value => {
                let element = self.element(frame, node, value);
                for target in targets {
                    self.bind(frame, target, element.clone());
                }
            }
        }
    }

    pub(super) fn bind_name(&mut self, frame: CodeLocation, name: &'a str, value: Value) {
        match frame.function {
            Some(id) => self.put_local(id, name, value),
            None => {
                if let Some(Binding::Value(slot)) = self.modules[frame.module.0].names.get_mut(name) {
                    let joined = slot.clone().join(value);
                    if joined != *slot {
                        *slot = joined;
                        self.changed = true;
                    }
                }
            }
        }
    }

    /// Adds a value to a container, which the running function must have created.
    pub(super) fn put_into(&mut self, frame: CodeLocation, node: &impl Ranged, container: &Value, value: Value) {
        self.check_no_closure(frame, node, &value);
        match container {
            Value::Items { sites, fresh: true } => {
                for site in sites {
                    self.note_change(*site);
                    self.put(*site, value.clone());
                }
            }
            Value::Tensor => {
                self.report(frame.module, node, &TensorOperator { subject: "assignment to elements".to_owned() });
            }
            Value::Nothing | Value::Reported(_) => {}
            // A container from elsewhere outlives the call, so a change could carry data to the next call.
            _ => {
                let subject = format!("assignment into {}", container.describe());
                let reported = self.report(frame.module, node, &SharedMutation { subject });
                // A container that only this assignment fills has no other values, and their absence would be a second finding.
                let sites = if let Value::Items { sites, .. } = container { sites.clone() } else { BTreeSet::new() };
                for site in sites {
                    if self.heap[site.0] == Value::Nothing {
                        self.put(site, reported.clone());
                    }
                }
            }
        }
    }

    fn aug_assign(&mut self, frame: CodeLocation, assign: &'a StmtAugAssign) {
        let value = self.eval(frame, &assign.value);
        let old = match &*assign.target {
            Expr::Name(name) => self.lookup(frame, name.id.as_str()).unwrap_or(Value::Mixed),
            Expr::Subscript(subscript) => {
                let container = self.eval(frame, &subscript.value);
                self.plain(frame, &subscript.slice, "an index");
                self.element_or_report(frame, &*assign.target, &container)
            }
            other => {
                let subject = "assignment to an attribute".to_owned();
                self.report(frame.module, other, &SharedMutation { subject })
            }
        };
        match (&old, &value) {
            (Value::Tensor | Value::LaunchArgument, _) | (_, Value::Tensor) => {
                let subject = format!("`{}=`", assign.op);
                self.report(frame.module, assign, &TensorOperator { subject });
            }
            // Only a container takes the elements of another one, and this one is not known.
            (Value::Plain, Value::Items { .. }) if combines(assign.op) => {
                let subject = format!("`{}=` with a list or dictionary", assign.op);
                self.report(frame.module, assign, &SharedMutation { subject });
            }
            // `list += iterable` changes the list in place.
            (Value::Items { .. }, _) => {
                let pairs = assign.op == Operator::BitOr && !self.is_dictionary(&value);
                let added = self.values_or_elements(frame, &*assign.value, value);
                if pairs {
                    // A dictionary would store the second part of each pair.
                    self.require_plain(frame, &*assign.value, &added, "updating with it; write `{**other}`");
                }
                self.put_into(frame, assign, &old, added);
            }
            _ => {
                let joined = self.arithmetic(frame, assign, assign.op, old, value);
                match &*assign.target {
                    Expr::Name(name) => self.bind_name(frame, name.id.as_str(), joined),
                    Expr::Subscript(subscript) => {
                        let container = self.eval(frame, &subscript.value);
                        self.put_into(frame, &*assign.target, &container, joined);
                    }
                    _ => {}
                }
            }
        }
    }

    fn element_or_report(&mut self, frame: CodeLocation, node: &impl Ranged, container: &Value) -> Value {
        match container {
            Value::Items { sites, .. } => self.elements(sites),
            Value::Nothing | Value::Reported(_) | Value::Tensor => container.clone(),
            _ => self.report(frame.module, node, &UnknownCall { subject: "this assignment".to_owned() }),
        }
    }
}

/// Returns a name for the kind of statement, with an article.
fn describe(stmt: &Stmt) -> &'static str {
    match stmt {
        Stmt::ClassDef(_) => "a class",
        Stmt::For(_) => "a `for` loop",
        Stmt::With(_) => "a `with` block",
        Stmt::If(_) => "an `if` statement",
        Stmt::While(_) => "a `while` loop",
        Stmt::Try(_) => "a `try` statement",
        Stmt::Global(_) => "`global`",
        Stmt::Nonlocal(_) => "`nonlocal`",
        Stmt::Delete(_) => "`del`",
        Stmt::Match(_) => "`match`",
        Stmt::Import(_) | Stmt::ImportFrom(_) => "an import inside a function",
        Stmt::TypeAlias(_) => "a type alias",
        Stmt::AugAssign(_) => "an assignment in place",
        Stmt::Expr(_) => "an expression without effect on the module",
        Stmt::Raise(_) => "a check",
        _ => "this statement",
    }
}
