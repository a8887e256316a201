//! Functions of the standard library that iterate, or that call what they are given.

use ruff_python_ast::{Expr, ExprCall, Keyword};
use ruff_text_size::Ranged;

use super::{
    CodeLocation, Flow, Value,
    api::{self, Api},
    arguments::Called,
};
use crate::rules::UnknownCall;

impl<'a> Flow<'a> {
    /// Calls a value that was passed to `map`, `functools.reduce` and the like: a function of the directory, or one that computes
    /// plain values from plain values.
    pub(super) fn call_value(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        callee: Value,
        called: &Called,
    ) -> Value {
        let computes = match &callee {
            Value::Functions(ids) => return self.call_functions(frame, node, ids, called),
            Value::Builtin(name) => api::BUILTIN_COMPUTE.contains(name) || *name == "tuple",
            Value::Path(path) => {
                let kind = api::api(path);
                if let Some(kind) = kind {
                    self.check_pure_api(frame, node, path, kind);
                }
                kind == Some(Api::Compute)
            }
            Value::Nothing | Value::Reported(_) => return callee,
            _ => false,
        };
        if !computes {
            return self.report(frame.module, node, &UnknownCall { subject: format!("calling {}", callee.describe()) });
        }
        self.check_plain_arguments(frame, node, called, "passing it to a function");
        match callee {
            // The elements of a tuple of lists could be changed in place.
            Value::Builtin("tuple") if !called.values().all(|value| self.is_flat(value)) => {
                let subject = "`tuple` of lists in lists (write `[tuple(x) for x in ...]`)".to_owned();
                self.report(frame.module, node, &UnknownCall { subject })
            }
            Value::Builtin(name) => self.selected(frame, node, name, called),
            Value::Path(path) => self.computed(frame, node, &path, called),
            _ => Value::Plain,
        }
    }

    /// Returns the result of a function of a module that gets plain values. Some return a container if they get one: as a plain value,
    /// it could be changed in place.
    fn computed(&mut self, frame: CodeLocation, node: &impl Ranged, path: &str, called: &Called) -> Value {
        let given = called.values().cloned().collect::<Vec<_>>();
        if let Some(name) = path.strip_prefix("operator.") {
            let combines = matches!(name, "add" | "and_" | "mul" | "or_" | "sub" | "xor");
            let holds = given.iter().any(|value| matches!(value, Value::Items { .. } | Value::Tuple(_)));
            if combines && holds {
                let subject = format!("`{path}` of a list, tuple or dictionary (write the operator)");
                return self.report(frame.module, node, &UnknownCall { subject });
            }
        }
        // `math.prod([2], start=[0])` is a list.
        let starts = called.keywords.iter().any(|(_, value)| matches!(value, Value::Items { .. }));
        if path.starts_with("math.") && (starts || !given.iter().all(|value| self.is_flat(value))) {
            return self.report(frame.module, node, &UnknownCall { subject: format!("`{path}` of lists in lists") });
        }
        Value::Plain
    }

    /// Calls a function of a module that computes plain values from plain values.
    pub(super) fn compute(&mut self, frame: CodeLocation, call: &'a ExprCall, path: &str, called: &Called) -> Value {
        self.check_plain_arguments(frame, call, called, &format!("passing it to `{path}`"));
        match path {
            // It gives the value back.
            "triton.language.constexpr" => called.values().cloned().fold(Value::Plain, Value::join).shared(),
            "triton.runtime.driver.active.utils.get_device_properties" => {
                self.dictionary(frame, call, Value::Plain).shared()
            }
            _ => self.computed(frame, call, path, called),
        }
    }

    /// Returns whether the elements of a container are plain values that cannot be changed.
    fn is_flat(&self, value: &Value) -> bool {
        match value {
            Value::Items { sites, .. } => {
                matches!(self.elements(sites), Value::Reported(_) | Value::Plain | Value::Nothing)
            }
            Value::Tuple(elements) => {
                elements.iter().all(|element| element.is_constant() || matches!(element, Value::Reported(_)))
            }
            _ => true,
        }
    }

    /// Returns the result of a builtin function of plain values. `max`, `min` and `sum` may return one of their arguments, which can
    /// be a list: as a number, it could be changed in place.
    pub(super) fn selected(&mut self, frame: CodeLocation, node: &impl Ranged, name: &str, called: &Called) -> Value {
        let given = called.values().cloned().collect::<Vec<_>>();
        match (name, &*called.positional) {
            ("max" | "min", [one]) if called.rest.is_none() => {
                let element = self.element(frame, node, one.clone());
                given.into_iter().skip(1).fold(element, Value::join).join(Value::Plain).shared()
            }
            ("max" | "min", _) => given.into_iter().fold(Value::Plain, Value::join).shared(),
            ("sum", [summed, ..]) if given[1..].iter().any(|value| !matches!(value, Value::Plain)) => {
                // It adds up lists: the result has all of their elements.
                let mut joined = self.element(frame, node, summed.clone());
                joined = self.element(frame, node, joined);
                for start in given.into_iter().skip(1) {
                    let element = self.element(frame, node, start);
                    joined = joined.join(element);
                }
                self.container(frame, node, joined).shared()
            }
            _ => Value::Plain,
        }
    }

    /// `functools.reduce(function, iterable, start)` over plain values.
    pub(super) fn reduce(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let Some((function, given)) = function_and_iterables(call) else { return self.unclear(frame, call) };
        let callee = self.eval_raw(frame, function);
        let mut values = Vec::new();
        for expr in given {
            let value = self.eval(frame, expr);
            self.require_plain(frame, expr, &value, "reducing it");
            values.push(value.shared());
        }
        let element = self.element(frame, call, values[0].clone());
        let mut result = values.get(1).map_or(element.clone(), |start| start.clone().join(element.clone()));
        // The first call gets the start, later ones get results.
        for _ in 0..2 {
            let called = Called { positional: vec![result.clone(), element.clone()], ..Called::default() };
            let next = self.call_value(frame, call, callee.clone(), &called);
            self.require_plain(frame, call, &next, "reducing it");
            result = result.join(next.shared());
        }
        result
    }

    /// `itertools.accumulate(iterable, function, initial=start)` with a function.
    fn accumulate(&mut self, frame: CodeLocation, call: &'a ExprCall, function: &'a Expr) -> Value {
        let callee = self.eval_raw(frame, function);
        let mut result = Value::Nothing;
        if let Some(start) = call.arguments.find_keyword("initial") {
            result = self.eval(frame, &start.value);
            self.require_plain(frame, start, &result, "reducing it");
        }
        let iterated = self.eval(frame, &call.arguments.args[0]);
        let element = self.element(frame, call, iterated);
        self.require_plain(frame, call, &element, "reducing it");
        result = result.join(element.clone().shared());
        for _ in 0..2 {
            let called = Called { positional: vec![result.clone(), element.clone()], ..Called::default() };
            let next = self.call_value(frame, call, callee.clone(), &called);
            self.require_plain(frame, call, &next, "reducing it");
            result = result.join(next.shared());
        }
        let made = self.container(frame, call, result);
        self.iterator(made)
    }

    /// `itertools.product` and the like.
    pub(super) fn iterate(&mut self, frame: CodeLocation, call: &'a ExprCall, path: &str) -> Value {
        let name = path.rsplit('.').next().unwrap_or_default();
        let settings = &call.arguments.keywords;
        if let ("accumulate", [_, function]) = (name, &*call.arguments.args)
            && settings.iter().all(|setting| setting.arg.as_ref().is_some_and(|name| name.as_str() == "initial"))
            && !call.arguments.args.iter().any(Expr::is_starred_expr)
        {
            return self.accumulate(frame, call, function);
        }
        let called = self.eval_arguments(frame, &call.arguments);
        let mut elements = Vec::new();
        for value in called.positional.iter().chain(&called.rest).cloned().collect::<Vec<_>>() {
            elements.push(if name == "repeat" { value } else { self.element(frame, call, value) });
        }
        let given: Vec<_> = called.keywords.iter().map(|(_, value)| value.clone().shared()).collect();
        let joined = || elements.iter().chain(&given).cloned().fold(Value::Nothing, Value::join);
        let element = match name {
            "product" | "zip_longest" if called.rest.is_none() && given.iter().all(|value| self.is_plain(value)) => {
                // `repeat=2` makes longer tuples of the same elements.
                if called.keywords.iter().any(|(name, _)| name == "repeat") {
                    self.container(frame, &call.arguments, joined()).shared()
                } else if name == "zip_longest" {
                    let filled = given.iter().cloned().fold(Value::Plain, Value::join);
                    Value::tuple(elements.into_iter().map(|element| element.join(filled.clone())).collect())
                } else {
                    Value::tuple(elements)
                }
            }
            "repeat" | "islice" | "chain" => joined(),
            "from_iterable" => {
                let inner = joined();
                self.element(frame, call, inner)
            }
            "accumulate" => {
                self.check_plain_arguments(frame, call, &called, "adding it up");
                joined().join(Value::Plain)
            }
            _ => self.container(frame, &call.arguments, joined()).shared(),
        };
        let made = self.container(frame, call, element);
        self.iterator(made)
    }

    /// `map(function, iterable, ...)` and `filter(function, iterable)`.
    pub(super) fn map(&mut self, frame: CodeLocation, call: &'a ExprCall, name: &str) -> Value {
        let Some((function, given)) = function_and_iterables(call) else { return self.unclear(frame, call) };
        let callee = self.eval_raw(frame, function);
        let mut called = Called::default();
        for expr in given {
            let iterated = self.eval(frame, expr);
            let element = self.element(frame, expr, iterated);
            called.positional.push(element);
        }
        let result = if name == "filter" && callee == Value::Plain {
            // `filter(None, values)`
            called.positional[0].clone()
        } else {
            self.call_value(frame, call, callee, &called)
        };
        let element = if name == "filter" {
            self.truth(frame, call, &result);
            called.positional[0].clone()
        } else {
            result
        };
        let made = self.container(frame, call, element);
        self.iterator(made)
    }

    /// Calls the function that `sorted`, `min` or `max` get as `key`.
    pub(super) fn order_by(&mut self, frame: CodeLocation, call: &'a ExprCall, key: &'a Keyword) {
        let callee = self.eval_raw(frame, &key.value);
        let mut elements = Vec::new();
        for expr in &call.arguments.args {
            let value = self.eval(frame, expr);
            elements.push(if call.arguments.args.len() == 1 { self.element(frame, expr, value) } else { value });
        }
        for element in elements {
            let called = Called { positional: vec![element], ..Called::default() };
            let result = self.call_value(frame, key, callee.clone(), &called);
            self.require_plain(frame, key, &result, "ordering by it");
        }
    }

    pub(super) fn unclear(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let subject = format!("`{}`", self.source(frame.module).slice(call).lines().next().unwrap_or_default());
        self.report(frame.module, call, &UnknownCall { subject })
    }
}

/// Returns the arguments of `map`, `functools.reduce` and the like: a function, and the others, all by position.
fn function_and_iterables(call: &ExprCall) -> Option<(&Expr, &[Expr])> {
    let (function, given) = call.arguments.args.split_first()?;
    let is_clear = !given.is_empty() && !given.iter().any(Expr::is_starred_expr) && call.arguments.keywords.is_empty();
    is_clear.then_some((function, given))
}
