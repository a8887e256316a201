//! Comprehensions, iterators and sets.

use std::collections::BTreeSet;

use ruff_python_ast::{Comprehension, Expr, ExprCall};
use ruff_text_size::Ranged;

use super::{CodeLocation, Flow, Value, api};

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

    /// Returns a dictionary made here.
    pub(super) fn dictionary(&mut self, frame: CodeLocation, node: &impl Ranged, value: Value) -> Value {
        let made = self.container(frame, node, value);
        if let Value::Items { sites, .. } = &made {
            self.dictionaries.extend(sites.iter().copied());
        }
        made
    }

    /// Returns whether a value is certainly a dictionary.
    pub(super) fn is_dictionary(&self, value: &Value) -> bool {
        matches!(value, Value::Items { sites, .. } if sites.iter().all(|site| self.dictionaries.contains(site)))
    }

    /// Returns the values of a dictionary, or the elements of another value.
    pub(super) fn values_or_elements(&mut self, frame: CodeLocation, node: &impl Ranged, value: Value) -> Value {
        match &value {
            Value::Items { sites, fresh } if self.is_dictionary(&value) => {
                let values = self.elements(sites);
                if *fresh { values } else { values.shared() }
            }
            _ => self.element(frame, node, value),
        }
    }

    /// Returns the values that `dict(other)` takes from a dictionary or pairs. Keys have to be plain, because the data flow does
    /// not follow them.
    pub(super) fn entries(&mut self, frame: CodeLocation, call: &'a ExprCall, other: Value) -> Value {
        if self.is_dictionary(&other) {
            return self.values_or_elements(frame, call, other);
        }
        let element = self.values_or_elements(frame, call, other);
        match element {
            Value::Tuple(parts) if parts.len() == 2 => {
                self.require_plain(frame, call, &parts[0], "using it as a dictionary key");
                parts[1].clone()
            }
            element => {
                self.require_plain(frame, call, &element, "taking over its keys; write `{**other}`");
                element
            }
        }
    }

    /// Returns the value of an expression, with an instance of a named tuple as a tuple.
    pub(super) fn eval_tuple(&mut self, frame: CodeLocation, expr: &'a Expr) -> Value {
        let value = self.eval(frame, expr);
        self.as_tuple(value)
    }

    /// Notes the use of a method that may copy.
    pub(super) fn note_copy(&mut self, frame: CodeLocation, node: &impl Ranged, name: &str) {
        if self.reporting && api::VIEWS_OR_COPIES.contains(&name) {
            self.copies.push((frame.module, node.range(), name.to_owned()));
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
        let mut records = BTreeSet::new();
        let mut open = vec![value.clone()];
        while let Some(part) = open.pop() {
            match part {
                Value::Tuple(elements) => open.extend(elements),
                Value::Items { sites, .. } => {
                    let fresh = sites.into_iter().filter(|site| seen.insert(*site));
                    open.extend(fresh.map(|site| self.heap[site.0].clone()));
                }
                Value::Record(class) if records.insert(class) => open.extend(self.held_by(class).cloned()),
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
