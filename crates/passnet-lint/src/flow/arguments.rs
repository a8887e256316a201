//! Arguments of calls, and how they reach parameters.

use ruff_python_ast::{Arguments, Expr, Keyword, Parameter};
use ruff_text_size::Ranged;

use super::{CodeLocation, Flow, FunctionId, Value};
use crate::{bound::Bound, rules::UnknownCall};

/// The evaluated arguments of a call.
#[derive(Default)]
pub(super) struct Called {
    pub(super) positional: Vec<Value>,
    pub(super) keywords: Vec<(String, Value)>,
    /// Values of `*` and `**` whose length is unknown. They may reach any parameter.
    pub(super) rest: Option<Value>,
}

impl Called {
    /// Returns all values, independent of the parameters that they reach.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.positional.iter().chain(self.keywords.iter().map(|(_, value)| value)).chain(&self.rest)
    }

    /// Returns the arguments with those of a partial function in front.
    fn after(&self, bound: &Bound) -> Self {
        Self {
            positional: bound.positional.iter().chain(&self.positional).cloned().collect(),
            keywords: bound.keywords.iter().chain(&self.keywords).cloned().collect(),
            rest: self.rest.clone(),
        }
    }

    fn add_rest(&mut self, value: Value) {
        self.rest = Some(self.rest.take().unwrap_or(Value::Nothing).join(value));
    }
}

impl<'a> Flow<'a> {
    pub(super) fn eval_arguments(&mut self, frame: CodeLocation, arguments: &'a Arguments) -> Called {
        self.eval_arguments_but(frame, arguments, None)
    }

    /// Evaluates the arguments of a call, except one keyword.
    pub(super) fn eval_arguments_but(
        &mut self,
        frame: CodeLocation,
        arguments: &'a Arguments,
        skipped: Option<&'a Keyword>,
    ) -> Called {
        let mut called = Called::default();
        for arg in &arguments.args {
            match arg {
                Expr::Starred(starred) => match self.eval_tuple(frame, &starred.value) {
                    Value::Tuple(elements) if called.rest.is_none() => called.positional.extend(elements),
                    value => {
                        let element = self.element(frame, arg, value);
                        called.add_rest(element);
                    }
                },
                // After a `*` of unknown length no position is known, so a later argument may reach any parameter.
                _ if called.rest.is_some() => {
                    let value = self.eval(frame, arg);
                    called.add_rest(value);
                }
                _ => {
                    let value = self.eval(frame, arg);
                    called.positional.push(value);
                }
            }
        }
        for keyword in arguments.keywords.iter().filter(|keyword| Some(*keyword) != skipped) {
            let value = self.eval(frame, &keyword.value);
            match &keyword.arg {
                Some(name) => called.keywords.push((name.as_str().to_owned(), value)),
                None => {
                    let element = match &value {
                        Value::Items { sites, .. } => self.elements(sites),
                        _ => Value::Mixed,
                    };
                    called.add_rest(element);
                }
            }
        }
        called
    }

    /// Joins the arguments of a call into the parameters of a function, and returns the function's result.
    pub(super) fn bind_call(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        id: FunctionId,
        called: &Called,
    ) -> Value {
        if let Some(bound) = self.partials.get(&id).cloned() {
            return self.call_functions(frame, node, &bound.targets, &called.after(&bound));
        }
        let function = self.function(id);
        if function.role != super::FunctionRole::Host {
            let subject =
                "a call of an entry point, or of a function that `pattern` calls (write two functions),".to_owned();
            return self.report(frame.module, node, &UnknownCall { subject });
        }
        let home = CodeLocation { module: function.module, function: Some(id) };
        let parameters = function.parameters;
        self.check_stored_call(frame, node, id, called);
        let Some(parameters) = parameters else { return self.result_of(id) };
        let by_position: Vec<_> = parameters.posonlyargs.iter().chain(&parameters.args).collect();
        for (index, value) in called.positional.iter().enumerate() {
            match (by_position.get(index), &parameters.vararg) {
                (Some(parameter), _) => self.put_local(id, parameter.name().as_str(), as_argument(value)),
                (None, Some(_)) => {}
                // There is no such parameter, so Python will refuse the call.
                (None, None) => {}
            }
        }
        for (name, value) in &called.keywords {
            let named = parameters.iter_non_variadic_params().find(|parameter| parameter.name().as_str() == name);
            match (named, &parameters.kwarg) {
                (Some(parameter), _) => self.put_local(id, parameter.name().as_str(), as_argument(value)),
                (None, Some(kwarg)) => self.put_variadic(home, id, kwarg, value),
                (None, None) => {}
            }
        }
        // The parameters that a value of unknown length reaches are known only at run time. The assumption that it reaches all of
        // them can only add findings.
        if let Some(value) = &called.rest {
            for parameter in parameters.iter_non_variadic_params() {
                self.put_local(id, parameter.name().as_str(), as_argument(value));
            }
        }
        let rest = called.rest.as_ref().unwrap_or(&Value::Nothing);
        if let Some(variadic) = &parameters.vararg {
            let extra: Vec<Value> = called.positional.iter().skip(by_position.len()).map(as_argument).collect();
            if called.rest.is_none() {
                self.put_extra(home, id, variadic, Some(extra), rest);
            } else {
                let joined = extra.into_iter().fold(rest.clone(), Value::join);
                self.put_extra(home, id, variadic, None, &joined);
            }
        }
        if let Some(variadic) = &parameters.kwarg {
            self.put_variadic(home, id, variadic, rest);
        }
        self.result_of(id)
    }

    fn result_of(&self, id: FunctionId) -> Value {
        let returned = self.function(id).returned.clone();
        // A stored result is the same object in each call.
        if self.cached.contains(&id) { returned.shared() } else { returned }
    }

    /// Joins the values that a call passes to a `*` parameter: a tuple, as long as all calls pass as many values. `None` stands for an
    /// unknown number of values, all of which are `rest`.
    pub(super) fn put_extra(
        &mut self,
        home: CodeLocation,
        id: FunctionId,
        parameter: &'a Parameter,
        given: Option<Vec<Value>>,
        rest: &Value,
    ) {
        let old = self.extra.get(&id).cloned();
        let is_same = old.as_ref().is_none_or(|old| old.as_ref().map(Vec::len) == given.as_ref().map(Vec::len));
        let mut values: Vec<Value> = given.iter().flatten().cloned().collect();
        if is_same && given.is_some() {
            for (value, before) in values.iter_mut().zip(old.into_iter().flatten().flatten()) {
                *value = value.clone().join(before);
            }
            let tuple = Value::tuple(values.clone());
            if tuple != Value::Mixed {
                self.extra.insert(id, Some(values));
                return self.put_local(id, parameter.name().as_str(), tuple);
            }
        } else {
            values.extend(old.flatten().into_iter().flatten());
        }
        // A tuple and a container have no join, so the container takes the place of the tuple, once.
        if self.extra.insert(id, None) != Some(None) {
            self.functions[id.0].locals.insert(parameter.name().as_str(), Value::Nothing);
        }
        for value in values.iter().chain([rest]) {
            self.put_variadic(home, id, parameter, value);
        }
    }

    pub(super) fn put_variadic(&mut self, home: CodeLocation, id: FunctionId, parameter: &'a Parameter, value: &Value) {
        let site = self.site(home, parameter, as_argument(value));
        if self
            .function(id)
            .parameters
            .is_some_and(|list| list.kwarg.as_deref().is_some_and(|kwarg| kwarg == parameter))
        {
            self.dictionaries.insert(site);
        }
        self.put_local(id, parameter.name().as_str(), Value::fresh(site).shared());
    }
}

/// Returns the value of a parameter for an argument. The callee may not change the caller's containers, and a launch argument may
/// be a tensor.
pub(super) fn as_argument(value: &Value) -> Value {
    match value.clone().shared() {
        Value::LaunchArgument => Value::Tensor,
        other => other,
    }
}
