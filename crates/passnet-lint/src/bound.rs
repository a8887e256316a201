//! The functions that a partial function calls, and the values that it passes to them.

use std::collections::BTreeSet;

use super::{ids::FunctionId, value::Value};

/// The contents of `functools.partial(function, value, name=value)`.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) targets: BTreeSet<FunctionId>,
    pub(super) positional: Vec<Value>,
    pub(super) keywords: Vec<(String, Value)>,
}

impl Bound {
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.positional.iter().chain(self.keywords.iter().map(|(_, value)| value))
    }
}
