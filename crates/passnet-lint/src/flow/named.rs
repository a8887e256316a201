//! Dictionaries whose keys are names in the text, such as `options = {"dtype": x.dtype}` for `torch.empty(n, **options)`.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, ExprCall, ExprDict};
use ruff_text_size::Ranged;

use super::{Flow, ModuleId, SiteId, Value};

impl<'a> Flow<'a> {
    /// Notes the keys of a dictionary that a display makes.
    pub(super) fn note_display(&mut self, made: &Value, dict: &'a ExprDict) {
        let literal = |key: &'a Option<Expr>| Some(key.as_ref()?.as_string_literal_expr()?.value.to_str());
        self.note_keys(made, dict.items.iter().map(|item| literal(&item.key)).collect());
    }

    /// Notes the keys of a dictionary that `dict(name=value)` makes.
    pub(super) fn note_call(&mut self, made: &Value, call: &'a ExprCall) {
        let named = call.arguments.keywords.iter().map(|keyword| Some(keyword.arg.as_ref()?.as_str())).collect();
        self.note_keys(made, if call.arguments.args.is_empty() { named } else { None });
    }

    fn note_keys(&mut self, made: &Value, keys: Option<BTreeSet<&'a str>>) {
        let Value::Items { sites, .. } = made else { return };
        for site in sites {
            self.keys.entry(*site).or_insert_with(|| keys.clone());
        }
    }

    /// Notes that a container may have other keys and elements than its display in the text.
    pub(super) fn note_change(&mut self, site: SiteId) {
        self.keys.insert(site, None);
        self.altered.insert(site);
    }

    /// Returns whether an expression is a display whose container is changed later, also by another name of it.
    pub(super) fn is_altered(&self, id: ModuleId, display: &Expr) -> bool {
        let place = (id, display.start(), display.end());
        self.site_at.get(&place).is_some_and(|site| self.altered.contains(site))
    }

    /// Returns the keys that a dictionary may have, if all are known.
    pub(super) fn known_keys(&self, value: &Value) -> Option<BTreeSet<&'a str>> {
        let Value::Items { sites, .. } = value else { return None };
        let mut known = BTreeSet::new();
        for site in sites {
            known.extend(self.keys.get(site)?.as_ref()?);
        }
        Some(known)
    }
}
