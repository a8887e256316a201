//! Entry points of a pass: the calls between them, and the rules of `replacement_args` and `replacement_func`.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, Operator, Stmt, StmtFunctionDef, UnaryOp};
use ruff_text_size::TextRange;

use super::{Body, CodeLocation, Flow, FunctionId, FunctionRole, ModuleId, Value, api, arguments::Called};
use crate::class::Receiver;
use crate::lambda_entry::ENTRY_POINTS;
use crate::rules::{EntryPoint, ReplacementArgs, ReplacementFunc};

impl<'a> Flow<'a> {
    /// Passes replacement functions the arguments that `replacement_args` passes: tensors for placeholders, plain values
    /// for literals.
    pub(super) fn seed_entry_points(&mut self) {
        for id in self.module_ids() {
            let Some(function) = self.entry(id, FunctionRole::ReplacementFunc) else { continue };
            let Some(returned) = single_return(function) else { continue };
            let Some((_, ids, receiver)) = self.wrapper(id, returned) else { continue };
            let mut called = self
                .entry(id, FunctionRole::ReplacementArgs)
                .map_or_else(Called::default, |args| self.passed_on(id, args));
            called.positional.splice(0..0, receiver);
            // The returned name may have been assigned several functions.
            for target in ids {
                if self.function(target).role != FunctionRole::Host {
                    continue;
                }
                self.bind_call(CodeLocation { module: id, function: None }, function, target, &called);
            }
        }
    }

    fn passed_on(&self, id: ModuleId, def: &'a StmtFunctionDef) -> Called {
        let elements = match single_return(def) {
            Some(Expr::Tuple(tuple)) => tuple.elts.as_slice(),
            Some(Expr::List(list)) => list.elts.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let variadic = def.parameters.vararg.as_ref().map(|parameter| parameter.name().as_str());
        let mut called = Called::default();
        for expr in elements {
            let value = self.passed_value(id, def, expr);
            let many = match expr {
                Expr::Starred(_) => true,
                Expr::Name(name) => variadic == Some(name.id.as_str()),
                _ => false,
            };
            // The same rule as for a call in the file: after a value of unknown length, positions are not known.
            if many || called.rest.is_some() {
                called.rest = Some(called.rest.take().unwrap_or(Value::Nothing).join(value));
            } else {
                called.positional.push(value);
            }
        }
        called
    }

    fn passed_value(&self, id: ModuleId, def: &StmtFunctionDef, expr: &Expr) -> Value {
        let parts = |elements: &[Expr]| elements.iter().map(|element| self.passed_value(id, def, element)).collect();
        match expr {
            Expr::Tuple(tuple) => Value::tuple(parts(&tuple.elts)),
            // FX passes lists as tuples or lists of the same elements.
            Expr::List(list) => Value::tuple(parts(&list.elts)),
            Expr::Name(name) if is_parameter(def, name.id.as_str()) => Value::Tensor,
            _ if self.is_literal(id, expr) || is_local_literal(def, expr) => Value::Plain,
            _ => Value::Tensor,
        }
    }

    /// Gives tensors to the parameters of functions that nothing calls, so that these functions are checked too.
    pub(super) fn seed_uncalled(&mut self) -> bool {
        let mut seeded = false;
        for index in 0..self.functions.len() {
            let id = FunctionId(index);
            let function = self.function(id);
            // A function whose results are stored gets no tensors.
            let unknown = if self.pure.contains(&id) { Value::Plain } else { Value::Tensor };
            let Some(parameters) = function.parameters.filter(|_| function.role == FunctionRole::Host) else {
                continue;
            };
            for parameter in parameters.iter_non_variadic_params() {
                let name = parameter.name().as_str();
                // Without a value the body could not be judged. A tensor is the value with which the rules allow the least.
                if self.function(id).locals.get(name).is_none_or(|value| *value == Value::Nothing) {
                    self.put_local(id, name, unknown.clone());
                    seeded = true;
                }
            }
            let home = CodeLocation { module: self.function(id).module, function: Some(id) };
            for parameter in parameters.vararg.iter().chain(&parameters.kwarg) {
                if self.function(id).locals.get(parameter.name().as_str()) != Some(&Value::Nothing) {
                    continue;
                }
                if parameters.vararg.as_ref() == Some(parameter) {
                    self.put_extra(home, id, parameter, None, &unknown);
                } else {
                    self.put_variadic(home, id, parameter, &unknown);
                }
                seeded = true;
            }
        }
        seeded
    }

    /// Returns the definition of an entry point in a file.
    fn entry(&self, id: ModuleId, role: FunctionRole) -> Option<&'a StmtFunctionDef> {
        self.functions.iter().find(|function| function.module == id && function.role == role).and_then(|function| {
            match function.body {
                Body::Def(def) => Some(def),
                Body::Lambda(_) | Body::Partial => None,
            }
        })
    }

    /// Checks that a listed pass defines all of its entry points, and checks each entry point that any file defines.
    pub(crate) fn check_entry_points(&mut self, listed: &[String]) {
        for id in self.module_ids() {
            let is_listed = listed.iter().any(|name| name == self.source(id).stem);
            for name in ENTRY_POINTS {
                let defined = self.statements(id).iter().any(|stmt| {
                    stmt.as_function_def_stmt()
                        .is_some_and(|def| def.name.as_str() == *name && def.decorator_list.is_empty())
                });
                // Only listed files are passes. Other files may hold helpers.
                if is_listed && !defined {
                    let subject = format!("the pass does not define a plain function `{name}`");
                    self.report(id, &TextRange::default(), &EntryPoint { subject });
                }
            }
            for role in [FunctionRole::ReplacementArgs, FunctionRole::ReplacementFunc] {
                if let Some(def) = self.entry(id, role) {
                    self.check_entry(id, role, def);
                }
            }
        }
    }

    fn check_entry(&mut self, id: ModuleId, role: FunctionRole, def: &'a StmtFunctionDef) {
        let Some(returned) = single_return(def) else {
            let subject = "statements other than one `return`".to_owned();
            if role == FunctionRole::ReplacementArgs {
                self.report(id, &def.name, &ReplacementArgs { subject });
            } else {
                self.report(id, &def.name, &ReplacementFunc { subject });
            }
            return;
        };
        if role == FunctionRole::ReplacementArgs {
            self.check_passed_on(id, def, returned);
            return;
        }
        let shown = || match returned {
            Expr::Lambda(_) | Expr::Call(_) => {
                format!(
                    "`{}`, which is a new object in each call (give it a name at module level)",
                    self.source(id).slice(returned)
                )
            }
            _ => format!("`{}`", self.source(id).slice(returned)),
        };
        let is_wrapper = self.wrapper(id, returned).is_some_and(|(kept, ids, _)| {
            ids.iter().all(|id| self.function(*id).role == FunctionRole::Host) && self.is_lasting(&kept)
        });
        if !is_wrapper || !def.parameters.is_empty() {
            let subject = if is_wrapper { "parameters of its own".to_owned() } else { shown() };
            self.report(id, returned, &ReplacementFunc { subject });
        }
    }

    /// Returns what `replacement_func` returns, if it is a name of this file or of another one, or a method: `fused`, `helper.fused`,
    /// `Fused.run`. The result is the value that outlives calls, the functions that a call runs, and the instance or class that they get.
    fn wrapper(&self, id: ModuleId, returned: &Expr) -> Option<(Value, BTreeSet<FunctionId>, Option<Value>)> {
        match returned {
            Expr::Name(name) => self.wrapped(self.module_name(id, name.id.as_str())?),
            // A constant of the module chooses one of two functions.
            Expr::If(choice) => {
                let chosen_by = self.module_name(id, choice.test.as_name_expr()?.id.as_str())?;
                let (Value::Functions(mut ids), _, None) = self.wrapper(id, &choice.body)? else { return None };
                let (Value::Functions(others), _, None) = self.wrapper(id, &choice.orelse)? else { return None };
                ids.extend(others);
                matches!(chosen_by, Value::Plain | Value::Nothing).then(|| (Value::Functions(ids.clone()), ids, None))
            }
            Expr::Attribute(attribute) => {
                let owner = self.module_name(id, attribute.value.as_name_expr()?.id.as_str())?;
                match owner {
                    Value::Module(module) => self.wrapped(self.module_name(module, attribute.attr.as_str())?),
                    // `__init__` would assign to attributes of the instance in each call.
                    _ if attribute.attr.starts_with("__") => None,
                    _ => self.method(owner, attribute.attr.as_str()),
                }
            }
            _ => None,
        }
    }

    fn wrapped(&self, wrapper: Value) -> Option<(Value, BTreeSet<FunctionId>, Option<Value>)> {
        match &wrapper {
            Value::Functions(ids) => {
                let ids = ids.clone();
                Some((wrapper, ids, None))
            }
            Value::Record(_) => {
                let name = self.called_method(&wrapper);
                self.method(wrapper, name)
            }
            _ => None,
        }
    }

    /// Returns a method of an instance or a class, which gets the instance or the class.
    fn method(&self, owner: Value, name: &str) -> Option<(Value, BTreeSet<FunctionId>, Option<Value>)> {
        let (Value::Class(class) | Value::Record(class)) = owner else { return None };
        let (function, receiver) = self.classes[class.0].methods.get(name)?;
        let given = match (receiver, &owner) {
            (Receiver::Instance, Value::Record(_)) => Some(owner.clone()),
            (Receiver::Class, _) => Some(Value::Class(class)),
            (Receiver::Nothing, _) => None,
            _ => return None,
        };
        Some((owner, [*function].into(), given))
    }

    fn check_passed_on(&mut self, id: ModuleId, def: &'a StmtFunctionDef, expr: &'a Expr) {
        match expr {
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.check_passed_on(id, def, element)),
            Expr::List(list) => list.elts.iter().for_each(|element| self.check_passed_on(id, def, element)),
            Expr::Starred(starred) => self.check_passed_on(id, def, &starred.value),
            Expr::Name(name) if is_parameter(def, name.id.as_str()) => {}
            _ if self.is_literal(id, expr) || is_local_literal(def, expr) => {}
            _ => {
                let subject = format!("`{}`", self.source(id).slice(expr));
                self.report(id, expr, &ReplacementArgs { subject });
            }
        }
    }

    /// Returns whether an expression is a literal, or the name of a module-level constant.
    fn is_literal(&self, id: ModuleId, expr: &Expr) -> bool {
        match expr {
            // The name of a constant may be that of a parameter, and an operator on it would compute in the graph.
            Expr::UnaryOp(unary) => {
                is_number(expr) || unary.operand.is_call_expr() && self.is_literal(id, &unary.operand)
            }
            // Powers and shifts can be very large.
            Expr::BinOp(_) => is_number(expr),
            // `float("inf")`
            Expr::Call(call) => {
                call.arguments.keywords.is_empty()
                    && matches!(&*call.arguments.args, [Expr::StringLiteral(_)])
                    && call.func.as_name_expr().is_some_and(|name| name.id.as_str() == "float")
                    && self.module_name(id, "float").is_none()
            }
            // `torch.bfloat16` and other constants of modules.
            Expr::Attribute(_) => self.dotted(id, expr).is_some_and(|path| api::api(&path) == Some(api::Api::Constant)),
            Expr::Name(name) => match self.module_name(id, name.id.as_str()) {
                Some(Value::Plain) => true,
                Some(Value::Nothing) => self.is_literal_constant(id, name.id.as_str()),
                _ => false,
            },
            _ => expr.is_literal_expr(),
        }
    }

    /// Returns whether the module binds the name to a literal. This is needed before the data flow has run.
    fn is_literal_constant(&self, id: ModuleId, name: &str) -> bool {
        self.statements(id).iter().filter_map(Stmt::as_assign_stmt).any(|assign| {
            assign.value.is_literal_expr()
                && matches!(assign.targets.as_slice(), [Expr::Name(target)] if target.id.as_str() == name)
        })
    }
}

fn is_parameter(def: &StmtFunctionDef, name: &str) -> bool {
    def.parameters.iter().any(|parameter| parameter.name().as_str() == name)
}

/// Returns the value of a function whose body is one `return`, after an optional documentation string and names for literals.
fn single_return(def: &StmtFunctionDef) -> Option<&Expr> {
    let body = match def.body.as_slice() {
        [Stmt::Expr(first), rest @ ..] if first.value.is_string_literal_expr() => rest,
        body => body,
    };
    let [named @ .., Stmt::Return(stmt)] = body else { return None };
    let names_literals = named.iter().all(|stmt| named_literal(stmt).is_some_and(|name| !is_parameter(def, name)));
    if names_literals { stmt.value.as_deref() } else { None }
}

/// Returns whether an expression is a number: a literal, or arithmetic on literals.
fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(_) => true,
        Expr::UnaryOp(unary) => unary.op != UnaryOp::Not && is_number(&unary.operand),
        Expr::BinOp(binary) => {
            let is_small = matches!(
                binary.op,
                Operator::Add | Operator::Div | Operator::FloorDiv | Operator::Mod | Operator::Mult | Operator::Sub
            );
            is_small && is_number(&binary.left) && is_number(&binary.right)
        }
        _ => false,
    }
}

/// Returns the name that a statement binds to a literal.
fn named_literal(stmt: &Stmt) -> Option<&str> {
    let assign = stmt.as_assign_stmt()?;
    let [Expr::Name(target)] = assign.targets.as_slice() else { return None };
    let value = assign.value.as_unary_op_expr().map_or(&*assign.value, |unary| &*unary.operand);
    value.is_literal_expr().then_some(target.id.as_str())
}

fn is_local_literal(def: &StmtFunctionDef, expr: &Expr) -> bool {
    let Expr::Name(name) = expr else { return false };
    def.body.iter().filter_map(named_literal).any(|bound| bound == name.id.as_str())
}
