//! Dictionaries whose keys are names in the text, such as `options = {"dtype": x.dtype}` for `torch.empty(n, **options)`. As long as nothing
//! changes them, each key has a value of its own.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, ExprCall, ExprDict};
use ruff_text_size::Ranged;

use super::{Flow, ModuleId, SiteId, Value, arguments::Called};

impl<'a> Flow<'a> {
    /// Notes the keys of a dictionary that a display makes, with their values.
    pub(super) fn note_display(&mut self, made: &Value, dict: &'a ExprDict, values: &[Value]) {
        let literal = |key: &'a Option<Expr>| Some(key.as_ref()?.as_string_literal_expr()?.value.to_str());
        let keys = dict.items.iter().map(|item| literal(&item.key)).collect::<Option<Vec<_>>>();
        self.note_keys(made, keys.map(|keys| keys.into_iter().zip(values.iter().cloned()).collect()));
    }

    /// Notes the keys of a dictionary that `dict(name=value)` makes, with their values.
    pub(super) fn note_call(&mut self, made: &Value, call: &'a ExprCall, called: &Called) {
        let keywords = &call.arguments.keywords;
        let names = keywords.iter().map(|keyword| Some(keyword.arg.as_ref()?.as_str())).collect::<Option<Vec<_>>>();
        let values = called.keywords.iter().map(|(_, value)| value.clone());
        let named = names.filter(|_| call.arguments.args.is_empty());
        self.note_keys(made, named.map(|names| names.into_iter().zip(values).collect()));
    }

    fn note_keys(&mut self, made: &Value, named: Option<Vec<(&'a str, Value)>>) {
        let Value::Items { sites, .. } = made else { return };
        for site in sites {
            let old = self.keys.get(site).cloned();
            let next = match (&old, &named) {
                (Some(None), _) | (_, None) => None,
                (old, Some(named)) => {
                    let mut values = old.clone().flatten().unwrap_or_default();
                    for (name, value) in named {
                        let slot = values.entry(*name).or_insert(Value::Nothing);
                        *slot = slot.clone().join(value.clone());
                    }
                    Some(values)
                }
            };
            if old.as_ref() != Some(&next) {
                self.keys.insert(*site, next);
                self.changed = true;
            }
        }
    }

    /// Returns the value of a key that stands in the text, if the containers are dictionaries whose keys are known.
    pub(super) fn named_element(&self, sites: &BTreeSet<SiteId>, key: &Expr) -> Option<Value> {
        let name = key.as_string_literal_expr()?.value.to_str();
        let values = sites.iter().map(|site| self.keys.get(site)?.as_ref()?.get(name).cloned());
        values.collect::<Option<Vec<_>>>().map(|values| values.into_iter().fold(Value::Nothing, Value::join))
    }

    /// Notes that a container may have other keys and elements than its display in the text.
    pub(super) fn note_change(&mut self, site: SiteId) {
        self.keys.insert(site, None);
        if self.altered.insert(site) {
            self.changed = true;
        }
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
            known.extend(self.keys.get(site)?.as_ref()?.keys());
        }
        Some(known)
    }
}
