//! Functions of the directory: registration, decorators, defaults, entry points, and the interpretation of each function.

use std::collections::BTreeMap;

use ruff_python_ast::{Decorator, Expr, Parameters, Stmt, StmtAssign, StmtFunctionDef};
use ruff_text_size::Ranged;

use super::{
    Binding, Body, CheckedFunction, CodeLocation, Flow, FunctionId, FunctionRole, ModuleId, Value, api, launches,
    scope::Scope,
};
use crate::{
    annotation,
    rules::{Annotation, DecoratorNotAllowed, DunderAccess, LaunchHook, ModuleState, ReboundName, StatementNotAllowed},
};

/// Name of the list of names that a module exports. It affects star imports only, which are refused.
const EXPORTS: &str = "__all__";

/// Names that describe a module. Python does not read them.
const DESCRIPTIONS: &[&str] = &["__author__", "__copyright__", "__date__", "__license__", "__version__"];

/// Returns whether a statement assigns to `__all__` alone.
pub(super) fn is_exports(assign: &StmtAssign) -> bool {
    matches!(assign.targets.as_slice(), [Expr::Name(name)] if name.id.as_str() == EXPORTS)
}

impl<'a> Flow<'a> {
    /// Registers the functions and names that a module binds itself.
    pub(super) fn register_definitions(&mut self, id: ModuleId) {
        let scope = Scope::of_module(self.statements(id));
        for (name, range) in &scope.names {
            if *name == EXPORTS && self.lists_exports(id) {
                continue;
            }
            let bound = self.modules[id.0].names.insert(name, Binding::Value(Value::Nothing)).is_some();
            if bound || !DESCRIPTIONS.contains(name) {
                self.check_binding(id, name, range, bound || api::is_python_builtin(name));
            }
        }
        for (name, range) in &scope.comprehension {
            let outside = scope.names.iter().any(|(bound, _)| bound == name) || self.is_import(id, name);
            self.check_binding(id, name, range, outside || api::is_python_builtin(name));
            self.modules[id.0].names.insert(name, Binding::Value(Value::Nothing));
        }
        for stmt in self.statements(id) {
            let Stmt::FunctionDef(def) = stmt else { continue };
            let role = self.role(id, def);
            let function =
                self.register_function(CodeLocation { module: id, function: None }, role, &def.parameters, def);
            let value = match role {
                FunctionRole::Kernel => Value::Kernel,
                // The name is bound to the result of the decorator, once that is known.
                FunctionRole::Host if self.has_own_decorators(id, def) => Value::Nothing,
                _ => Value::function(function),
            };
            self.modules[id.0].names.insert(def.name.as_str(), Binding::Value(value));
        }
        for def in self.statements(id).iter().filter_map(Stmt::as_class_def_stmt) {
            if let Some(class) = self.register_class(id, def) {
                self.modules[id.0].names.insert(def.name.as_str(), Binding::Value(Value::Class(class)));
            }
        }
    }

    /// Returns whether every value that a file assigns to `__all__` is a list of names.
    fn lists_exports(&self, id: ModuleId) -> bool {
        let assigned = self.statements(id).iter().filter_map(Stmt::as_assign_stmt);
        let mut assigned = assigned.filter(|assign| is_exports(assign)).peekable();
        let is_list = |expr: &Expr| match expr {
            Expr::List(list) => list.elts.iter().all(Expr::is_string_literal_expr),
            Expr::Tuple(tuple) => tuple.elts.iter().all(Expr::is_string_literal_expr),
            _ => false,
        };
        assigned.peek().is_some() && assigned.all(|assign| is_list(&assign.value))
    }

    fn is_import(&self, id: ModuleId, name: &str) -> bool {
        match self.modules[id.0].names.get(name) {
            Some(Binding::Imported(..)) => true,
            Some(Binding::Value(value)) => *value != Value::Nothing,
            None => false,
        }
    }

    fn role(&self, id: ModuleId, def: &StmtFunctionDef) -> FunctionRole {
        let decorators = &def.decorator_list;
        if decorators.iter().any(|decorator| self.decorator_path(id, decorator).as_deref() == Some("triton.jit")) {
            return FunctionRole::Kernel;
        }
        match def.name.as_str() {
            "pattern" => FunctionRole::Pattern,
            "replacement_args" => FunctionRole::ReplacementArgs,
            "replacement_func" => FunctionRole::ReplacementFunc,
            _ if self.traced.contains(&(id, def.start())) => FunctionRole::Pattern,
            _ => FunctionRole::Host,
        }
    }

    /// Returns the function or lambda at a place. Registers it when it is met for the first time.
    pub(super) fn register_function(
        &mut self,
        frame: CodeLocation,
        role: FunctionRole,
        parameters: &'a Parameters,
        def: &'a StmtFunctionDef,
    ) -> FunctionId {
        let scope = Scope::of_body(Some(parameters), &def.body);
        self.register(frame, role, Some(parameters), Body::Def(def), &scope, def)
    }

    fn register(
        &mut self,
        frame: CodeLocation,
        role: FunctionRole,
        parameters: Option<&'a Parameters>,
        body: Body<'a>,
        scope: &Scope<'a>,
        node: &impl Ranged,
    ) -> FunctionId {
        // The fixed point interprets each body many times; the place in the file makes a nested function the same one
        // each time.
        let key = (frame.module, node.range().start());
        if let Some(id) = self.function_at.get(&key) {
            return *id;
        }
        let names = scope.names.iter().chain(&scope.comprehension).map(|(name, _)| (*name, Value::Nothing));
        let locals: BTreeMap<_, _> = names.collect();
        let id = FunctionId(self.functions.len());
        self.functions.push(CheckedFunction {
            module: frame.module,
            parent: frame.function,
            role,
            parameters,
            body,
            locals,
            defaults: Value::Nothing,
            returned: Value::Nothing,
        });
        self.function_at.insert(key, id);
        self.changed = true;
        id
    }

    /// Checks that a name is bound once, so that it has one meaning in the whole file.
    pub(super) fn check_binding(&mut self, id: ModuleId, name: &str, node: &impl Ranged, rebound: bool) {
        if name.starts_with("__") {
            self.report(id, node, &DunderAccess { subject: name.to_owned() });
        } else if rebound {
            self.report(id, node, &ReboundName { subject: name.to_owned() });
        }
    }

    /// Checks the names that a function binds. A comprehension variable that hides an outside name would give that name two
    /// meanings in one function.
    fn check_names(&mut self, id: FunctionId) {
        let (module, parent, parameters) = {
            let function = self.function(id);
            (function.module, function.parent, function.parameters)
        };
        let scope = match self.function(id).body {
            Body::Def(def) => Scope::of_body(parameters, &def.body),
            Body::Lambda(body) => Scope::of_lambda(parameters, body),
            Body::Partial => return,
        };
        for (name, range) in &scope.comprehension {
            let own = scope.names.iter().any(|(bound, _)| bound == name);
            let outside = self.lookup(CodeLocation { module, function: parent }, name).is_some();
            self.check_binding(module, name, range, !own && (outside || api::is_python_builtin(name)));
        }
        for (name, range) in &scope.names {
            self.check_binding(module, name, range, false);
        }
    }

    /// Returns a `def` inside a function.
    pub(super) fn nested_def(&mut self, frame: CodeLocation, def: &'a StmtFunctionDef) -> Value {
        for decorator in &def.decorator_list {
            if !self.is_wraps(frame, decorator) {
                self.reject_decorator(frame.module, decorator);
            }
        }
        self.check_signature(frame, def);
        let id = self.register_function(frame, FunctionRole::Host, &def.parameters, def);
        self.bind_defaults(frame, id);
        Value::function(id)
    }

    pub(super) fn lambda(&mut self, frame: CodeLocation, lambda: &'a ruff_python_ast::ExprLambda) -> Value {
        let parameters = lambda.parameters.as_deref();
        let scope = Scope::of_lambda(parameters, &lambda.body);
        let id = self.register(frame, FunctionRole::Host, parameters, Body::Lambda(&lambda.body), &scope, lambda);
        self.bind_defaults(frame, id);
        Value::function(id)
    }

    /// Checks a `def` at module level. Its decorators, annotations and defaults run when the module is imported.
    pub(super) fn module_def(&mut self, id: ModuleId, def: &'a StmtFunctionDef) {
        let frame = CodeLocation { module: id, function: None };
        let Some(function) = self.function_at.get(&(id, def.start())).copied() else { return };
        let role = self.function(function).role;
        self.run_signature(frame, function, def);
        if role == FunctionRole::Host && self.has_own_decorators(id, def) {
            return self.decorate(frame, def, function);
        }
        for decorator in &def.decorator_list {
            self.run_decorator(frame, decorator, role, function);
        }
    }

    /// Checks the signature of a function, and binds its defaults.
    pub(super) fn run_signature(&mut self, frame: CodeLocation, function: FunctionId, def: &'a StmtFunctionDef) {
        self.check_signature(frame, def);
        self.bind_defaults(frame, function);
    }

    fn check_signature(&mut self, frame: CodeLocation, def: &StmtFunctionDef) {
        if def.is_async || def.type_params.is_some() {
            let subject = "an asynchronous or generic function".to_owned();
            self.report(frame.module, &def.name, &StatementNotAllowed { subject });
        }
        let parameters = def.parameters.iter().filter_map(|parameter| parameter.annotation());
        let annotations = parameters.chain(def.returns.as_deref());
        for expr in annotations {
            if !annotation::is_type(expr) {
                self.report(frame.module, expr, &Annotation);
            }
        }
    }

    fn bind_defaults(&mut self, frame: CodeLocation, id: FunctionId) {
        let Some(parameters) = self.function(id).parameters else { return };
        for parameter in parameters.iter_non_variadic_params() {
            let Some(default) = parameter.default() else { continue };
            let value = self.eval(frame, default);
            if !self.is_lasting(&value) && frame.function.is_none() {
                self.report(frame.module, default, &ModuleState { subject: self.describe_state(&value) });
            }
            let joined = self.function(id).defaults.clone().join(value.clone());
            self.functions[id.0].defaults = joined;
            // Python keeps one default for all calls, so a list in it could carry data from one call to the next. A shared value
            // cannot be changed.
            self.put_local(id, parameter.name().as_str(), value.shared());
        }
    }

    /// Returns the dotted name of a decorator, or of the function that a decorator calls.
    fn decorator_path(&self, id: ModuleId, decorator: &Decorator) -> Option<String> {
        let callee = match &decorator.expression {
            Expr::Call(call) => &*call.func,
            other => other,
        };
        self.dotted(id, callee)
    }

    /// Returns the dotted name that an expression at module level spells, resolved through imports only.
    pub(super) fn dotted(&self, id: ModuleId, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => match self.module_name(id, name.id.as_str())? {
                Value::Path(path) => Some(path),
                _ => None,
            },
            Expr::Attribute(attribute) => Some(format!("{}.{}", self.dotted(id, &attribute.value)?, attribute.attr)),
            _ => None,
        }
    }

    fn reject_decorator(&mut self, id: ModuleId, decorator: &Decorator) {
        let subject = self.source(id).slice(&decorator.expression).to_owned();
        self.report(id, decorator, &DecoratorNotAllowed::unknown(subject));
    }

    fn run_decorator(&mut self, frame: CodeLocation, decorator: &'a Decorator, role: FunctionRole, id: FunctionId) {
        let path = self.decorator_path(frame.module, decorator).unwrap_or_default();
        if role == FunctionRole::Host && matches!(path.as_str(), "functools.cache" | "functools.lru_cache") {
            return self.run_cache(frame, decorator, id);
        }
        let allowed: &[&str] = match (path.as_str(), role, &decorator.expression) {
            ("torch.fx.wrap" | "passnet.kernels.prepared", FunctionRole::Host, Expr::Name(_) | Expr::Attribute(_)) => {
                return;
            }
            ("torch.no_grad", FunctionRole::Host, Expr::Call(call)) if call.arguments.is_empty() => return,
            ("triton.jit" | "passnet.kernels.triton", FunctionRole::Kernel, Expr::Name(_) | Expr::Attribute(_)) => {
                return;
            }
            ("triton.jit", FunctionRole::Kernel, Expr::Call(_)) => launches::JIT_KEYWORDS,
            ("triton.autotune", FunctionRole::Kernel, Expr::Call(_)) => launches::AUTOTUNE_KEYWORDS,
            ("triton.heuristics", FunctionRole::Kernel, Expr::Call(_)) => &["values"],
            _ => return self.reject_decorator(frame.module, decorator),
        };
        let Expr::Call(call) = &decorator.expression else { return };
        // `jit` takes the function by position, `autotune` and `heuristics` their first settings.
        let positional = if path == "triton.jit" { 0 } else { 2.min(allowed.len()) };
        if let Some(extra) =
            call.arguments.args.iter().enumerate().find(|(index, arg)| *index >= positional || arg.is_starred_expr())
        {
            self.report(frame.module, extra.1, &LaunchHook { subject: "a positional argument".to_owned() });
        }
        for keyword in &call.arguments.keywords {
            let name = keyword.arg.as_ref().map_or("**", |name| name.as_str());
            if !allowed.contains(&name) {
                self.report(frame.module, keyword, &LaunchHook { subject: name.to_owned() });
            }
        }
        let pruning = self.run_pruning(frame, call);
        let values = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value));
        for expr in values.filter(|expr| pruning != Some(*expr)) {
            let value = self.eval(frame, expr);
            if path == "triton.heuristics" {
                self.run_heuristics(frame, expr, &value);
            } else if !self.is_plain(&value) || self.holds_iterator(&value) {
                let subject = self.source(frame.module).slice(expr).to_owned();
                self.report(frame.module, expr, &LaunchHook { subject });
            }
        }
    }

    /// Notes a function whose results are stored.
    fn run_cache(&mut self, frame: CodeLocation, decorator: &Decorator, id: FunctionId) {
        let keywords = match &decorator.expression {
            Expr::Call(call) if call.arguments.args.iter().all(Expr::is_literal_expr) => &*call.arguments.keywords,
            Expr::Call(_) => return self.reject_decorator(frame.module, decorator),
            _ => &[],
        };
        let is_known = |name: &str| matches!(name, "maxsize" | "typed");
        if !keywords
            .iter()
            .all(|keyword| keyword.arg.as_ref().is_some_and(|name| is_known(name)) && keyword.value.is_literal_expr())
        {
            return self.reject_decorator(frame.module, decorator);
        }
        if self.reporting {
            self.stored.push((frame.module, decorator.range()));
        }
        if self.cached.insert(id) | self.pure.insert(id) {
            self.changed = true;
        }
    }

    /// Runs heuristics, which are functions of a launch's arguments.
    fn run_heuristics(&mut self, frame: CodeLocation, node: &Expr, value: &Value) {
        let elements = match value {
            Value::Items { sites, .. } => self.elements(sites),
            _ => Value::Mixed,
        };
        self.call_with_launch_arguments(frame, node, &elements);
    }

    /// Interprets a function once.
    pub(super) fn run_function(&mut self, id: FunctionId) {
        let function = self.function(id);
        // Kernels, patterns and the other entry points have their own rules.
        if function.role != FunctionRole::Host {
            return;
        }
        let frame = CodeLocation { module: function.module, function: Some(id) };
        match function.body {
            Body::Def(def) => {
                self.run_block(frame, &def.body);
                if falls_through(&def.body) {
                    self.put_returned(id, Value::Plain);
                }
            }
            Body::Lambda(body) => {
                let value = self.eval(frame, body);
                self.return_value(frame, body, value);
            }
            Body::Partial => {}
        }
        // Findings count in the reporting round only, so earlier rounds skip this work.
        if self.reporting {
            self.check_names(id);
        }
    }

    pub(super) fn return_value(&mut self, frame: CodeLocation, node: &impl Ranged, value: Value) {
        self.check_no_closure(frame, node, &value);
        self.check_stored_result(frame, node, &value);
        if let Some(id) = frame.function {
            self.put_returned(id, value);
        }
    }
}

/// Returns whether control can reach the end of a block, so that the function returns `None` there.
fn falls_through(body: &[Stmt]) -> bool {
    match body.last() {
        Some(Stmt::Return(_) | Stmt::Raise(_)) => false,
        Some(Stmt::If(last)) => {
            let has_else = last.elif_else_clauses.last().is_some_and(|clause| clause.test.is_none());
            !has_else
                || falls_through(&last.body)
                || last.elif_else_clauses.iter().any(|clause| falls_through(&clause.body))
        }
        Some(Stmt::With(last)) => falls_through(&last.body),
        // A block that is wrongly said to end here, such as `while True` without `break`, is safe: this only adds `None` to the
        // returned values.
        _ => true,
    }
}
