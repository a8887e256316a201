//! Values that may outlive a call: at module level, in results, and in the variables of functions that are made in a call.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr,
    visitor::{self, Visitor},
};
use ruff_text_size::Ranged;

use super::{Body, CodeLocation, Flow, FunctionId, Value};
use crate::{ids::ClassId, rules::EscapingClosure};

/// Functions and classes whose values were looked at.
#[derive(Default)]
struct Seen {
    functions: BTreeSet<FunctionId>,
    classes: BTreeSet<ClassId>,
}

impl<'a> Flow<'a> {
    /// Returns whether a value may stand at module level.
    pub(super) fn is_lasting(&self, value: &Value) -> bool {
        self.lasts(value, &mut Seen::default())
    }

    fn lasts(&self, value: &Value, seen: &mut Seen) -> bool {
        !self.holds_iterator(value)
            && self.all_parts(value, &mut |part| match part {
                Value::Nothing | Value::Plain | Value::Kernel | Value::Native | Value::Path(_) | Value::Class(_) => {
                    true
                }
                Value::Functions(ids) => ids.iter().all(|id| self.keeps_lasting(*id, seen)),
                Value::Record(class) => {
                    !seen.classes.insert(*class) || self.held_by(*class).all(|held| self.lasts(held, seen))
                }
                // A tensor or a container could carry data from one call to the next.
                _ => false,
            })
    }

    /// Returns whether a function keeps only lasting values alive: its defaults, and the variables of the functions around it. It
    /// cannot assign to these variables, and cannot change a container in them.
    fn keeps_lasting(&self, id: FunctionId, seen: &mut Seen) -> bool {
        if let Some(bound) = self.partials.get(&id) {
            let targets = Value::Functions(bound.targets.clone());
            return !seen.functions.insert(id) || bound.values().chain([&targets]).all(|value| self.lasts(value, seen));
        }
        let function = self.function(id);
        if function.parent.is_none() || !seen.functions.insert(id) {
            return true;
        }
        let mut names = Names::default();
        match function.body {
            Body::Def(def) => names.visit_body(&def.body),
            Body::Lambda(body) => names.visit_expr(body),
            // Unless it is a partial function of itself, which is a finding.
            Body::Partial => return false,
        }
        let parents = std::iter::successors(function.parent, |parent| self.function(*parent).parent);
        let captured = parents.flat_map(|parent| self.function(parent).locals.iter());
        let mut captured = captured.filter(|(name, _)| names.read.contains(*name)).map(|(_, value)| value);
        self.lasts(&function.defaults, seen) && captured.all(|value| self.lasts(value, seen))
    }

    /// Checks that a function which is made inside a function keeps no data of the call if it leaves the call.
    pub(super) fn check_no_closure(&mut self, frame: CodeLocation, node: &impl Ranged, value: &Value) {
        let mut seen = Seen::default();
        let stays = self.all_parts(value, &mut |part| match part {
            Value::Functions(ids) => ids.iter().all(|id| self.keeps_lasting(*id, &mut seen)),
            _ => true,
        });
        if !stays {
            self.report(frame.module, node, &EscapingClosure);
        }
    }
}

/// The names that a body reads, with those of functions in it.
#[derive(Default)]
pub(super) struct Names<'a> {
    pub(super) read: BTreeSet<&'a str>,
}

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.read.insert(name.id.as_str());
        }
        visitor::walk_expr(self, expr);
    }
}
