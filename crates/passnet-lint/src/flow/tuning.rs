//! Settings of Triton: configurations, functions that choose among them, descriptors of tensors, and the allocator of kernels.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, ExprCall, visitor::Visitor};
use ruff_text_size::Ranged;

use super::{Body, CodeLocation, Flow, FunctionId, Value, arguments::Called, lasting::Names};
use crate::rules::{LaunchHook, UnknownCall};

/// Settings of `triton.Config` that are plain data, in the order of positions.
const CONFIG_KEYWORDS: &[&str] = &["kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg"];

/// Settings of `TensorDescriptor` besides the tensor.
const DESCRIPTOR_KEYWORDS: &[&str] = &["block_shape", "padding", "shape", "strides"];

impl<'a> Flow<'a> {
    /// `triton.Config(...)`.
    pub(super) fn config(&mut self, frame: CodeLocation, call: &'a ExprCall, called: &Called) -> Value {
        for keyword in &call.arguments.keywords {
            let name = keyword.arg.as_ref().map_or("**", |name| name.as_str());
            // Others, such as `pre_hook`, are functions that Triton would call at a launch.
            let is_none = name == "pre_hook" && keyword.value.is_none_literal_expr();
            if !CONFIG_KEYWORDS.contains(&name) && !is_none {
                self.report(frame.module, keyword, &LaunchHook { subject: name.to_owned() });
            }
        }
        if let Some(extra) = call.arguments.args.get(CONFIG_KEYWORDS.len()) {
            self.report(frame.module, extra, &LaunchHook { subject: "a sixth argument by position".to_owned() });
        }
        self.check_plain_arguments(frame, call, called, "a configuration");
        for value in called.values().cloned().collect::<Vec<_>>() {
            let subject = if self.holds_iterator(&value) {
                "an iterator"
            } else if !self.has_constant_elements(&value) {
                // Functions that choose among configurations read them as plain values.
                "a list or dictionary in the settings"
            } else {
                continue;
            };
            self.report(frame.module, call, &LaunchHook { subject: subject.to_owned() });
        }
        Value::Plain
    }

    fn has_constant_elements(&self, value: &Value) -> bool {
        match value {
            Value::Items { sites, .. } => {
                let element = self.elements(sites);
                element.is_constant() || matches!(element, Value::Reported(_))
            }
            Value::Reported(_) => true,
            other => other.is_constant(),
        }
    }

    /// Checks `prune_configs_by={"early_config_prune": f, "perf_model": g, "top_k": n}`. Triton calls `f` with the configurations and a
    /// launch's arguments, and `g` with a launch's arguments and settings, once for each key of the tuner. Returns the setting.
    pub(super) fn run_pruning(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Option<&'a Expr> {
        let expr = &call.arguments.find_keyword("prune_configs_by")?.value;
        let Expr::Dict(dict) = self.constant(frame, expr) else {
            let subject = self.source(frame.module).slice(expr).to_owned();
            self.report(frame.module, expr, &LaunchHook { subject });
            return Some(expr);
        };
        for item in &dict.items {
            let key = item.key.as_ref().and_then(|key| key.as_string_literal_expr()).map(|text| text.value.to_str());
            let value = self.eval(frame, &item.value);
            let result = match (key, &value) {
                (Some("top_k"), _) => value,
                (Some("early_config_prune"), Value::Functions(ids)) => self.call_pruning(frame, item, ids, true),
                (Some("perf_model"), Value::Functions(ids)) => self.call_pruning(frame, item, ids, false),
                (_, Value::Nothing | Value::Reported(_)) => value,
                _ => {
                    let subject = self.source(frame.module).slice(item).to_owned();
                    self.report(frame.module, item, &LaunchHook { subject })
                }
            };
            self.require_plain(frame, item, &result, "choosing configurations by it");
            if self.holds_iterator(&result) {
                self.report(frame.module, item, &LaunchHook { subject: "an iterator".to_owned() });
            }
        }
        Some(expr)
    }

    fn call_pruning(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        ids: &BTreeSet<FunctionId>,
        gets_configs: bool,
    ) -> Value {
        let mut result = Value::Nothing;
        for id in ids {
            let function = self.function(*id);
            let home = CodeLocation { module: function.module, function: Some(*id) };
            let (Some(parameters), false) = (function.parameters, self.partials.contains_key(id)) else {
                return self.unknown(frame, node, &Value::function(*id));
            };
            // Triton calls it in the first call for each key only, so an effect would tell this call from later ones.
            if self.pure.insert(*id) {
                self.changed = true;
            }
            for (index, parameter) in parameters.iter_non_variadic_params().enumerate() {
                let value = match index {
                    0 if gets_configs => {
                        let site = self.site(home, parameter, Value::Plain);
                        Value::fresh(site).shared()
                    }
                    1 if gets_configs => {
                        let site = self.site(home, parameter, Value::LaunchArgument);
                        self.dictionaries.insert(site);
                        Value::fresh(site).shared()
                    }
                    _ => Value::LaunchArgument,
                };
                self.put_local(*id, parameter.name().as_str(), value);
            }
            if let Some(named) = &parameters.kwarg {
                let site = self.site(home, &**named, Value::LaunchArgument);
                self.dictionaries.insert(site);
                self.put_local(*id, named.name().as_str(), Value::fresh(site).shared());
            }
            if let Some(variadic) = parameters.vararg.as_deref() {
                self.put_extra(home, *id, variadic, None, &Value::LaunchArgument);
            }
            // Called without arguments, because the parameters have their values already.
            let returned = self.bind_call(frame, node, *id, &Called::default());
            result = result.join(returned);
        }
        result
    }

    /// `TensorDescriptor(x, shape, strides, block_shape)` and `TensorDescriptor.from_tensor(x, block_shape)`.
    pub(super) fn descriptor(&mut self, frame: CodeLocation, call: &'a ExprCall, called: &Called) -> Value {
        for (name, value) in called.keywords.clone() {
            if DESCRIPTOR_KEYWORDS.contains(&name.as_str()) {
                self.require_plain(frame, call, &value, "describing a tensor by it");
            } else if !(matches!(name.as_str(), "base" | "tensor") && matches!(value, Value::Tensor)) {
                return self.unclear(frame, call);
            }
        }
        for (index, value) in called.positional.clone().into_iter().enumerate() {
            if index > 0 {
                self.require_plain(frame, call, &value, "describing a tensor by it");
            } else if !matches!(value, Value::Tensor | Value::Nothing | Value::Reported(_)) {
                return self.unknown(frame, call, &value);
            }
        }
        match called.rest {
            Some(_) => self.unclear(frame, call),
            None => Value::Descriptor,
        }
    }

    /// `triton.set_allocator(function)`. The function stays set after the call, so it has to be the same one in the whole directory, and may
    /// keep nothing of the call.
    pub(super) fn allocator(&mut self, frame: CodeLocation, call: &'a ExprCall, called: &Called) -> Value {
        let ids = match (&*called.positional, &*called.keywords, &called.rest) {
            ([Value::Functions(ids)], [], None) => ids.clone(),
            ([Value::Nothing | Value::Reported(_)], [], None) => return Value::Plain,
            _ => return self.unclear(frame, call),
        };
        let sizes = Called { positional: vec![Value::Plain; 3], ..Called::default() };
        for id in ids {
            let made = self.bind_call(frame, call, id, &sizes);
            let is_tensor = matches!(made, Value::Tensor | Value::Nothing | Value::Reported(_));
            if !is_tensor || self.partials.contains_key(&id) || self.reads_outer_names(id) {
                let subject = "an allocator that uses more than its arguments (define it at module level)".to_owned();
                self.report(frame.module, call, &UnknownCall { subject });
            }
            if self.allocators.insert(id) {
                self.changed = true;
            }
        }
        if self.allocators.len() > 1 {
            let subject = "one of several allocators (a directory has one)".to_owned();
            self.report(frame.module, call, &UnknownCall { subject });
        }
        Value::Plain
    }

    /// Returns whether a function reads variables of the functions around it, or has defaults.
    fn reads_outer_names(&self, id: FunctionId) -> bool {
        let function = self.function(id);
        let mut names = Names::default();
        match function.body {
            Body::Def(def) => names.visit_body(&def.body),
            Body::Lambda(body) => names.visit_expr(body),
            Body::Partial => return true,
        }
        let parents = std::iter::successors(function.parent, |parent| self.function(*parent).parent);
        let mut outer = parents.flat_map(|parent| self.function(parent).locals.keys());
        function.defaults != Value::Nothing || outer.any(|name| names.read.contains(name))
    }
}
