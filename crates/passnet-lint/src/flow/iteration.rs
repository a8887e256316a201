//! Comprehensions, iterators and sets.

use std::collections::BTreeSet;

use ruff_python_ast::{Comprehension, Expr};
use ruff_text_size::Ranged;

use super::{CodeLocation, Flow, Value};

impl<'a> Flow<'a> {
    pub(super) fn comprehension(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        generators: &'a [Comprehension],
        element: &'a Expr,
    ) -> Value {
        self.generators(frame, generators);
        let element = self.eval(frame, element);
        self.container(frame, node, element)
    }

    pub(super) fn generators(&mut self, frame: CodeLocation, generators: &'a [Comprehension]) {
        for generator in generators {
            let iterated = self.eval(frame, &generator.iter);
            let element = self.element(frame, &generator.iter, iterated);
            self.bind(frame, &generator.target, element);
            for condition in &generator.ifs {
                self.condition(frame, condition);
            }
        }
    }

    /// Marks a new container as an iterator.
    pub(super) fn iterator(&mut self, made: Value) -> Value {
        if let Value::Items { sites, .. } = &made {
            self.iterators.extend(sites.iter().copied());
        }
        made
    }

    /// Returns whether a value is an iterator or holds one. An iterator has a position, so it can count calls.
    pub(super) fn holds_iterator(&self, value: &Value) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![value.clone()];
        while let Some(part) = open.pop() {
            match part {
                Value::Tuple(elements) => open.extend(elements),
                Value::Items { sites, .. } => {
                    let fresh = sites.into_iter().filter(|site| seen.insert(*site));
                    open.extend(fresh.map(|site| self.heap[site.0].clone()));
                }
                _ => {}
            }
        }
        seen.iter().any(|site| self.iterators.contains(site))
    }

    /// Describes a value that may not stand at module level.
    pub(super) fn describe_state(&self, value: &Value) -> String {
        if self.holds_iterator(value) {
            "an iterator (write `list(...)` or `tuple(...)` around it)".to_owned()
        } else {
            value.describe()
        }
    }

    /// Checks the elements of a set. The order of tensors in it depends on their addresses.
    pub(super) fn check_set(&mut self, frame: CodeLocation, elements: &'a [Expr]) {
        for expr in elements {
            let value = match expr {
                Expr::Starred(starred) => {
                    let iterated = self.eval(frame, &starred.value);
                    self.element(frame, starred, iterated)
                }
                _ => self.eval(frame, expr),
            };
            self.require_plain(frame, expr, &value, "putting it into a set");
        }
    }
}
