//! Functions whose results `functools` stores.
//!
//! A stored result is state that outlives a call. It reveals nothing if the function computes plain values from plain values
//! alone: then the stored result is what the function would return. So a cached function, and all functions that it calls, may not
//! allocate, launch, or ask for anything that changes between calls.

use std::collections::BTreeSet;

use ruff_text_size::Ranged;

use super::{
    CodeLocation, Flow, FunctionId, Value,
    api::{self, Api},
    arguments::Called,
};
use crate::{ids::ClassId, rules::DecoratorNotAllowed};

impl Flow<'_> {
    /// Returns whether code belongs to a function that may only compute plain values.
    pub(super) fn is_pure(&self, frame: CodeLocation) -> bool {
        std::iter::successors(frame.function, |id| self.function(*id).parent).any(|id| self.pure.contains(&id))
    }

    /// Checks the use of a function of a module in a function whose results are stored.
    pub(super) fn check_pure_api(&mut self, frame: CodeLocation, node: &impl Ranged, path: &str, kind: Api) {
        let computes = matches!(
            kind,
            Api::Constant | Api::Compute | Api::Iterate | Api::Reduce | Api::Partial | Api::Config | Api::NamedTuple
        );
        let is_constant = matches!(kind, Api::Native(_)) && self.is_late_constant(frame);
        if self.is_pure(frame) && !is_constant && (!computes || api::MOMENTARY.contains(&path)) {
            self.report_impure(frame, node, &format!("`{path}`"));
        }
    }

    /// Returns whether code belongs to a cached function without arguments and variables of its own. A kernel that it compiles from a constant
    /// text is the same one as at module level.
    pub(super) fn is_late_constant(&self, frame: CodeLocation) -> bool {
        frame.function.is_some_and(|id| {
            let function = self.function(id);
            self.cached.contains(&id) && function.parent.is_none() && function.locals.is_empty()
        })
    }

    pub(super) fn report_impure(&mut self, frame: CodeLocation, node: &impl Ranged, subject: &str) -> Value {
        self.report(frame.module, node, &DecoratorNotAllowed::stores(subject))
    }

    /// Checks a call of a function whose results are stored, and makes the functions pure that such a function calls.
    pub(super) fn check_stored_call(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        id: FunctionId,
        called: &Called,
    ) {
        if self.is_pure(frame) && self.pure.insert(id) {
            self.changed = true;
        }
        if !self.cached.contains(&id) {
            return;
        }
        for value in called.values().cloned().collect::<Vec<_>>() {
            if !self.has_plain_parts(&value) {
                self.report_impure(frame, node, &format!("{} as an argument", value.describe()));
            }
        }
    }

    /// Checks the result of a function whose results are stored.
    pub(super) fn check_stored_result(&mut self, frame: CodeLocation, node: &impl Ranged, value: &Value) {
        if !frame.function.is_some_and(|id| self.cached.contains(&id)) {
            return;
        }
        if *value == Value::Native && self.is_late_constant(frame) {
            return;
        }
        if !self.has_plain_parts(value) || self.holds_iterator(value) {
            self.report_impure(frame, node, &format!("{} as a result", value.describe()));
        }
    }

    /// Returns whether a value consists of plain data. Nothing changes the fields of an instance.
    fn has_plain_parts(&self, value: &Value) -> bool {
        self.consists_of_plain(value, &mut BTreeSet::new())
    }

    fn consists_of_plain(&self, value: &Value, seen: &mut BTreeSet<ClassId>) -> bool {
        self.all_parts(value, &mut |part| match part {
            Value::Nothing | Value::Plain => true,
            Value::Record(class) => {
                !seen.insert(*class) || self.held_by(*class).all(|held| self.consists_of_plain(held, seen))
            }
            _ => false,
        })
    }

    /// Checks that a directory which asks for the alignment of an address calls no method that may copy. The interception layer,
    /// which refuses copies, sees checked calls only. A question of alignment could tell these from timed calls.
    pub(super) fn check_copies(&mut self) {
        if !self.asks_alignment {
            return;
        }
        // `f(1)` returns what `f(1.0)` returned before, so stored results could tell a call that an earlier one was aligned.
        for (module, range) in std::mem::take(&mut self.stored) {
            self.report(module, &range, &DecoratorNotAllowed::tells_alignment());
        }
        for (module, range, name) in std::mem::take(&mut self.copies) {
            let subject = format!("{name}()` together with `x.data_ptr() % 16");
            self.report(module, &range, &crate::rules::TensorAttribute { subject });
        }
    }
}
