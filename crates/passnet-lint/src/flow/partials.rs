//! `functools.partial`: a function with the values of some of its arguments.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::{Body, CheckedFunction, CodeLocation, Flow, FunctionId, FunctionRole, Value};
use crate::{bound::Bound, rules::UnknownCall};

impl<'a> Flow<'a> {
    /// `functools.partial(function, value, name=value)`.
    pub(super) fn partial(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let Some((function, given)) = call.arguments.args.split_first() else { return self.unclear(frame, call) };
        let callee = self.eval(frame, function);
        if matches!(callee, Value::Nothing | Value::Reported(_)) {
            return callee;
        }
        let Value::Functions(targets) = &callee else {
            let subject = format!("`functools.partial` of {} (define a function that calls it)", callee.describe());
            return self.report(frame.module, call, &UnknownCall { subject });
        };
        let mut bound = Bound { targets: targets.clone(), ..Bound::default() };
        for expr in given {
            if expr.is_starred_expr() {
                return self.unclear(frame, call);
            }
            match self.bound_value(frame, expr) {
                Ok(value) => bound.positional.push(value),
                Err(reported) => return reported,
            }
        }
        for keyword in &call.arguments.keywords {
            let Some(name) = &keyword.arg else { return self.unclear(frame, call) };
            match self.bound_value(frame, &keyword.value) {
                Ok(value) => bound.keywords.push((name.as_str().to_owned(), value)),
                Err(reported) => return reported,
            }
        }
        let id = self.bind_partial(frame, call, bound);
        if self.calls_itself(id) {
            let subject = "a `functools.partial` of itself (give it another name than its function); this".to_owned();
            self.partials.remove(&id);
            return self.report(frame.module, call, &UnknownCall { subject });
        }
        Value::function(id)
    }

    /// Returns a value that a partial function keeps. It lives as long as the function, which may be bound at module level.
    fn bound_value(&mut self, frame: CodeLocation, expr: &'a Expr) -> Result<Value, Value> {
        let value = self.eval(frame, expr);
        if self.is_lasting(&value) {
            return Ok(value.shared());
        }
        let subject = format!("`functools.partial` with {}", self.describe_state(&value));
        Err(self.report(frame.module, expr, &UnknownCall { subject }))
    }

    /// Returns the function that an expression makes of others and of values. The place of the expression makes it the same function in
    /// each round.
    pub(super) fn bind_partial(&mut self, frame: CodeLocation, node: &impl Ranged, bound: Bound) -> FunctionId {
        let place = (frame.module, node.start(), node.end());
        let next = FunctionId(self.functions.len());
        let id = *self.partial_at.entry(place).or_insert(next);
        if id == next {
            self.functions.push(CheckedFunction {
                module: frame.module,
                parent: frame.function,
                role: FunctionRole::Host,
                parameters: None,
                body: Body::Partial,
                locals: Default::default(),
                defaults: Value::Nothing,
                returned: Value::Nothing,
            });
        }
        // Values only grow, so those of this round replace those of earlier rounds.
        if self.partials.get(&id) != Some(&bound) {
            self.partials.insert(id, bound);
            self.changed = true;
        }
        id
    }

    fn calls_itself(&self, id: FunctionId) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            for target in self.partials.get(&next).into_iter().flat_map(|bound| &bound.targets) {
                if *target == id {
                    return true;
                }
                if seen.insert(*target) {
                    open.push(*target);
                }
            }
        }
        false
    }
}
