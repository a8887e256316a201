//! Classes of data: enumerations, named tuples, data classes, and classes that only group functions and constants.
//!
//! An instance cannot change once it is made, because no attribute can be assigned to. Fields are followed by class, not by
//! instance: a field holds the join of all values that any instance gets. Other classes, whose bases or methods Python or PyTorch
//! would call by themselves, are refused.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, ExprAttribute, ExprCall, Stmt, StmtClassDef, StmtFunctionDef, visitor::Visitor};
use ruff_text_size::Ranged;

use super::{
    Body, CodeLocation, Flow, ModuleId, SiteId, Value,
    api::{self, Api},
    arguments::{Called, as_argument},
    class_kinds::{assigned_fields, is_slots, own_instance, receiver},
    lasting::Names,
    scope::Scope,
};
use crate::{
    class::{ClassKind, Receiver},
    ids::ClassId,
    rules::{
        DecoratorNotAllowed, DunderAccess, ModuleState, ReboundName, SharedMutation, StatementNotAllowed,
        UnknownAttribute, UnknownCall,
    },
};

impl<'a> Flow<'a> {
    /// Runs the body of a class, as Python does when it imports the module.
    pub(super) fn run_class(&mut self, id: ModuleId, def: &'a StmtClassDef) {
        let Some(Value::Class(class)) = self.module_name(id, def.name.as_str()) else {
            let bases = def.arguments.as_ref().is_some_and(|list| !list.args.is_empty());
            let advice =
                if bases { " (put its methods into one class without a base, or write functions)" } else { "" };
            let subject = format!("`class {}` with these bases, decorators or settings{advice}", def.name);
            let reported = self.report(id, &def.name, &StatementNotAllowed { subject });
            return self.bind_name(CodeLocation { module: id, function: None }, def.name.as_str(), reported);
        };
        self.check_members(id, def);
        self.check_inherited(id, class, def);
        for stmt in &def.body {
            match stmt {
                Stmt::Pass(_) => {}
                Stmt::Expr(stmt) if stmt.value.is_string_literal_expr() || stmt.value.is_ellipsis_literal_expr() => {}
                Stmt::FunctionDef(method) if self.classes[class.0].kind == ClassKind::Enumeration => {
                    let subject = "a method of an enumeration (write a function that gets the member)".to_owned();
                    self.report(id, &method.name, &StatementNotAllowed { subject });
                }
                other if self.classes[class.0].kind == ClassKind::Error => {
                    let subject = format!("a member of the exception `{}`", def.name);
                    self.report(id, other, &StatementNotAllowed { subject });
                }
                Stmt::AnnAssign(assign) if assign.target.is_name_expr() => {
                    self.check_annotation(id, &assign.annotation);
                    self.check_member(id, class, &assign.target);
                    if let Some(value) = &assign.value {
                        self.run_member(id, class, &assign.target, value);
                    }
                }
                // It decides which attributes instances have, and Python reads it alone.
                Stmt::Assign(assign) if is_slots(assign) => {}
                Stmt::Assign(assign) if assign.targets.iter().all(Expr::is_name_expr) => {
                    for target in &assign.targets {
                        self.check_member(id, class, target);
                        self.run_member(id, class, target, &assign.value);
                    }
                }
                Stmt::FunctionDef(def) => self.run_method(id, class, def),
                other => {
                    let subject = format!("this part of the class `{}`", def.name);
                    self.report(id, other, &StatementNotAllowed { subject });
                }
            }
        }
        self.class_constants.clear();
    }

    /// Checks that each name of a class body has one meaning: it is bound once, and an expression of the body reads it only if the module
    /// and Python have no such name.
    fn check_members(&mut self, id: ModuleId, def: &'a StmtClassDef) {
        let scope = Scope::of_body(None, &def.body);
        let mut members = BTreeSet::new();
        for (name, range) in &scope.names {
            let is_decorator = matches!(*name, "classmethod" | "property" | "staticmethod");
            if !members.insert(*name) || is_decorator {
                self.report(id, range, &ReboundName { subject: (*name).to_owned() });
            }
        }
        // An attribute of the instance would hide a method or a constant of the same name.
        let init =
            def.body.iter().filter_map(Stmt::as_function_def_stmt).filter(|method| method.name.as_str() == "__init__");
        for name in init.flat_map(assigned_fields).filter(|name| members.contains(name)) {
            self.report(id, &def.name, &ReboundName { subject: name.to_owned() });
        }
        let mut names = Names::default();
        for stmt in &def.body {
            match stmt {
                Stmt::FunctionDef(method) => {
                    method.decorator_list.iter().for_each(|decorator| names.visit_decorator(decorator));
                    names.visit_parameters(&method.parameters);
                }
                Stmt::AnnAssign(assign) => assign.value.iter().for_each(|value| names.visit_expr(value)),
                Stmt::Assign(assign) => names.visit_expr(&assign.value),
                _ => {}
            }
        }
        let has_other_meaning = |name: &&&str| self.module_name(id, name).is_some() || api::is_python_builtin(name);
        let ambiguous: Vec<&str> = names.read.intersection(&members).filter(has_other_meaning).copied().collect();
        for name in ambiguous {
            let subject = format!("a use of the member `{name}` in the body of its class");
            self.report(id, &def.name, &StatementNotAllowed { subject });
        }
    }

    /// Checks the name of a field or constant. Python and `enum` call attributes of some names by themselves.
    fn check_member(&mut self, id: ModuleId, class: ClassId, target: &Expr) {
        let Some(name) = target.as_name_expr() else { return };
        let is_hook = self.classes[class.0].kind == ClassKind::Enumeration && name.id.starts_with('_');
        if is_hook || name.id.starts_with("__") {
            self.report(id, target, &DunderAccess { subject: name.id.to_string() });
        }
    }

    fn run_member(&mut self, id: ModuleId, class: ClassId, target: &'a Expr, expr: &'a Expr) {
        let frame = CodeLocation { module: id, function: None };
        let field = expr
            .as_call_expr()
            .filter(|call| self.dotted(id, &call.func).is_some_and(|path| api::api(&path) == Some(Api::Field)));
        let value = match field {
            Some(call) => self.field_default(frame, call),
            None => self.eval(frame, expr),
        };
        let checked = &self.classes[class.0];
        let name = target.as_name_expr().map_or("", |name| name.id.as_str());
        let is_constant = checked.constants.contains_key(name);
        // A function in a class would get the instance as an argument, so constants are kernels or plain.
        let fits = match checked.kind {
            ClassKind::Enumeration => value.is_constant() || matches!(value, Value::Reported(_)),
            _ if is_constant => self.all_parts(&value, &mut |part| {
                matches!(part, Value::Nothing | Value::Plain | Value::Kernel | Value::Native)
            }),
            _ => self.is_lasting(&value),
        };
        if !fits || self.holds_iterator(&value) {
            self.report(id, expr, &ModuleState { subject: self.describe_state(&value) });
        }
        if value.is_constant() && self.classes[class.0].kind != ClassKind::Enumeration {
            self.class_constants.insert(name, value.clone());
        }
        if let Some(site) = self.classes[class.0].member(name) {
            self.put(site, value.shared());
        }
    }

    /// Returns the default that `dataclasses.field(...)` gives.
    fn field_default(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let mut joined = Value::Nothing;
        for keyword in &call.arguments.keywords {
            let value = match keyword.arg.as_ref().map(|name| name.as_str()) {
                Some("default_factory") => match self.eval_raw(frame, &keyword.value) {
                    Value::Builtin("list" | "dict" | "set" | "tuple") => self.container(frame, keyword, Value::Nothing),
                    factory => self.call_value(frame, keyword, factory, &Called::default()),
                },
                _ => self.eval(frame, &keyword.value),
            };
            joined = joined.join(value);
        }
        joined
    }

    fn run_method(&mut self, id: ModuleId, class: ClassId, def: &'a StmtFunctionDef) {
        let Some((function, _)) = self.classes[class.0].methods.get(def.name.as_str()).copied() else { return };
        let receiver = receiver(def);
        let name = def.name.as_str();
        let is_hook = match self.classes[class.0].kind {
            ClassKind::Data => !matches!(name, "__post_init__" | "__call__"),
            ClassKind::Group => !matches!(name, "__init__" | "__call__"),
            ClassKind::Module => name != "__init__",
            ClassKind::Autograd => true,
            _ => name != "__call__",
        };
        if name.starts_with("__") && is_hook {
            let subject = format!("`{name}` in a class (write a function, `NamedTuple` or `@dataclass`)");
            self.report(id, &def.name, &StatementNotAllowed { subject });
        }
        // With a decorator, `__init__` would get the class, or another instance, as its first argument.
        if receiver == Receiver::Instance || def.decorator_list.len() > 1 || name == "__init__" {
            for decorator in &def.decorator_list {
                let subject = self.source(id).slice(&decorator.expression).to_owned();
                self.report(id, decorator, &DecoratorNotAllowed::unknown(subject));
            }
        }
        self.run_signature(CodeLocation { module: id, function: None }, function, def);
        let given = match receiver {
            Receiver::Instance | Receiver::Property => Value::Record(class),
            Receiver::Class => Value::Class(class),
            Receiver::Nothing => return,
        };
        let first = def.parameters.posonlyargs.iter().chain(&def.parameters.args).next();
        if let Some(first) = first {
            self.put_local(function, first.name().as_str(), given);
        }
    }

    /// Makes an instance.
    pub(super) fn construct(&mut self, frame: CodeLocation, call: &'a ExprCall, class: ClassId) -> Value {
        let called = self.eval_arguments(frame, &call.arguments);
        if self.classes[class.0].kind == ClassKind::Enumeration {
            self.check_plain_arguments(frame, call, &called, "making a member of an enumeration of it");
            return Value::Plain;
        }
        if self.classes[class.0].kind == ClassKind::Error {
            self.check_plain_arguments(frame, call, &called, "an exception");
            return Value::Plain;
        }
        if self.classes[class.0].kind == ClassKind::Autograd {
            let subject = "an instance of an autograd function (call its `apply`)".to_owned();
            return self.report(frame.module, call, &UnknownCall { subject });
        }
        if let Some((function, _)) = self.classes[class.0].methods.get("__init__").copied() {
            let positional = std::iter::once(Value::Record(class)).chain(called.positional).collect();
            self.bind_call(frame, call, function, &Called { positional, ..called });
            return Value::Record(class);
        }
        self.fill(frame, call, class, &called)
    }

    /// `dataclasses.replace(instance, name=value)`, which makes another instance of the class.
    pub(super) fn replace(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let mut called = self.eval_arguments(frame, &call.arguments);
        match (called.positional.pop(), &*called.positional, &called.rest) {
            (Some(Value::Record(class)), [], None) if self.classes[class.0].kind == ClassKind::Data => {
                self.fill(frame, call, class, &called)
            }
            (Some(unknown @ (Value::Nothing | Value::Reported(_))), [], _) => unknown,
            _ => self.unclear(frame, call),
        }
    }

    /// Gives the arguments to the fields of a new instance.
    fn fill(&mut self, frame: CodeLocation, call: &'a ExprCall, class: ClassId, called: &Called) -> Value {
        let fields = self.classes[class.0].fields.clone();
        for value in called.values().cloned().collect::<Vec<_>>() {
            self.check_no_closure(frame, call, &value);
            if self.holds_iterator(&value) {
                self.report(frame.module, call, &ModuleState { subject: self.describe_state(&value) });
            }
        }
        let in_order = self.classes[class.0].in_order;
        for (index, value) in called.positional.iter().enumerate() {
            match fields.get(index).filter(|_| in_order) {
                Some((_, site)) => self.put(*site, as_argument(value)),
                // The position does not tell the field.
                None => fields.iter().for_each(|(_, site)| self.put(*site, as_argument(value))),
            }
        }
        for (name, value) in &called.keywords {
            if let Some(site) = self.classes[class.0].field(name) {
                self.put(site, as_argument(value));
            }
        }
        if let Some(rest) = &called.rest {
            fields.iter().for_each(|(_, site)| self.put(*site, as_argument(rest)));
        }
        if let Some((function, _)) = self.classes[class.0].methods.get("__post_init__").copied() {
            let called = Called { positional: vec![Value::Record(class)], ..Called::default() };
            self.bind_call(frame, call, function, &called);
        }
        Value::Record(class)
    }

    /// Assigns to an attribute: `self.name = value` in the `__init__` of a class, before any other code has the instance.
    pub(super) fn assign_attribute(&mut self, frame: CodeLocation, target: &'a ExprAttribute, value: &Value) {
        if target.attr.starts_with("__") {
            self.report(frame.module, target, &DunderAccess { subject: target.attr.to_string() });
            return;
        }
        let field = self.field_of_init(frame, target);
        let Some(site) = field else {
            self.report(frame.module, target, &SharedMutation { subject: "assignment to an attribute".to_owned() });
            return;
        };
        self.check_no_closure(frame, target, value);
        if self.holds_iterator(value) {
            self.report(frame.module, target, &ModuleState { subject: self.describe_state(value) });
        }
        self.put(site, as_argument(value));
    }

    /// Returns the field to which `__init__` assigns, if the target is a field of its own instance.
    fn field_of_init(&self, frame: CodeLocation, target: &ExprAttribute) -> Option<SiteId> {
        let function = frame.function?;
        let owner = target.value.as_name_expr()?;
        let mut classes = self.classes.iter();
        let class = classes.find(|class| class.methods.get("__init__").is_some_and(|(id, _)| *id == function))?;
        let Body::Def(def) = self.function(function).body else { return None };
        (matches!(class.kind, ClassKind::Group | ClassKind::Module) && own_instance(def) == Some(owner.id.as_str()))
            .then(|| class.field(target.attr.as_str()))?
    }

    /// Returns an attribute of a class or an instance that is no method.
    pub(super) fn member(&mut self, frame: CodeLocation, node: &impl Ranged, owner: &Value, name: &str) -> Value {
        let (Value::Class(class) | Value::Record(class)) = owner else { return Value::Mixed };
        let checked = &self.classes[class.0];
        if let (Value::Record(_), Some((function, Receiver::Property))) = (owner, checked.methods.get(name)) {
            let called = Called { positional: vec![owner.clone()], ..Called::default() };
            let function = *function;
            return self.bind_call(frame, node, function, &called);
        }
        if let (Value::Class(class), "apply") = (owner, name)
            && let Some(apply) = self.apply_of(*class)
        {
            return apply;
        }
        let checked = &self.classes[class.0];
        match checked.member(name) {
            Some(site) => self.heap[site.0].clone().shared(),
            // The names of members and their values.
            None if checked.kind == ClassKind::Enumeration && api::PLAIN_ATTRIBUTES.contains(&name) => Value::Plain,
            None => {
                let violation = UnknownAttribute { subject: name.to_owned(), owner: owner.describe() };
                self.report(frame.module, node, &violation)
            }
        }
    }

    /// Returns the result of calling a method of a class or an instance; `None` if the attribute is no method.
    pub(super) fn class_call(
        &mut self,
        frame: CodeLocation,
        call: &'a ExprCall,
        owner: &Value,
        name: &str,
    ) -> Option<Value> {
        let (Value::Class(class) | Value::Record(class)) = owner else { return None };
        if self.is_eval(owner, name) && call.arguments.is_empty() {
            return Some(owner.clone());
        }
        let (function, receiver) = self.classes[class.0].methods.get(name).copied()?;
        let first = match (receiver, owner) {
            (Receiver::Nothing, _) => None,
            (Receiver::Class, _) => Some(Value::Class(*class)),
            (Receiver::Instance, Value::Record(_)) => Some(owner.clone()),
            _ => return None,
        };
        let mut called = self.eval_arguments(frame, &call.arguments);
        called.positional.splice(0..0, first);
        Some(self.bind_call(frame, call, function, &called))
    }

    /// Returns an instance of a named tuple as the tuple that it is, other values as they are.
    pub(super) fn as_tuple(&self, value: Value) -> Value {
        match value {
            Value::Record(class) if self.classes[class.0].kind == ClassKind::NamedTuple => {
                let fields = self.classes[class.0].fields.iter();
                Value::tuple(fields.map(|(_, site)| self.heap[site.0].clone().shared()).collect())
            }
            // The members of an enumeration.
            Value::Class(class) if self.classes[class.0].kind == ClassKind::Enumeration => Value::Plain,
            other => other,
        }
    }

    /// Returns the values that instances of a class hold.
    pub(super) fn held_by(&self, class: ClassId) -> impl Iterator<Item = &Value> {
        let checked = &self.classes[class.0];
        let sites = checked.fields.iter().map(|(_, site)| site).chain(checked.constants.values());
        sites.map(|site| &self.heap[site.0])
    }
}
