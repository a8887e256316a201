//! Launches of kernels, their grids and their settings.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange};

use super::{CodeLocation, Flow, Value, arguments::Called};
use crate::rules::KernelLaunch;

/// Settings of `triton.autotune` that are plain data.
pub(super) const AUTOTUNE_KEYWORDS: &[&str] =
    &["configs", "key", "prune_configs_by", "rep", "reset_to_zero", "restore_value", "warmup"];

/// Settings of `triton.jit` that are plain data.
pub(super) const JIT_KEYWORDS: &[&str] =
    &["debug", "do_not_specialize", "do_not_specialize_on_alignment", "noinline", "version"];

/// Options of a launch that are no data of the kernel: among them, files that the compiler would read.
const REFUSED_OPTIONS: &[&str] =
    &["extern_libs", "grid", "ir_override", "launch_metadata", "pre_hook", "ptx_options", "stream", "warmup"];

impl<'a> Flow<'a> {
    /// Checks `kernel[grid](...)`.
    pub(super) fn launch(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let called = self.eval_arguments(frame, &call.arguments);
        for value in called.values().cloned().collect::<Vec<_>>() {
            let fit = self.all_parts(&value, &mut |part| {
                matches!(
                    part,
                    Value::Nothing
                        | Value::Plain
                        | Value::LaunchArgument
                        | Value::Tensor
                        | Value::Descriptor
                        | Value::Kernel
                )
            });
            if !fit {
                let subject = format!("{} is passed to a kernel", value.describe());
                self.report(frame.module, call, &KernelLaunch { subject });
            }
        }
        for keyword in &call.arguments.keywords {
            if keyword.arg.as_ref().is_some_and(|name| REFUSED_OPTIONS.contains(&name.as_str())) {
                let subject =
                    "launch options other than num_warps, num_stages and num_ctas are not available".to_owned();
                self.report(frame.module, keyword, &KernelLaunch { subject });
            }
        }
        Value::Plain
    }

    /// Checks a launch grid: numbers, or a function of the launch's arguments that returns numbers.
    pub(super) fn check_grid(&mut self, frame: CodeLocation, grid: &'a Expr) {
        let value = self.eval(frame, grid);
        match &value {
            Value::Functions(_) => {
                let result = self.call_with_launch_arguments(frame, grid, &value);
                self.require_plain(frame, grid, &result, "using it as a launch grid");
            }
            _ => self.require_plain(frame, grid, &value, "using it as a launch grid"),
        }
    }

    /// Calls functions as Triton does, with the dictionary of a launch's arguments.
    pub(super) fn call_with_launch_arguments(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        value: &Value,
    ) -> Value {
        let Value::Functions(ids) = value else { return self.unknown(frame, node, value) };
        let mut result = Value::Nothing;
        // The node itself can be a dictionary of functions, which has a site of its own.
        let place = TextRange::empty(node.start());
        for id in ids {
            if self.partials.contains_key(id) {
                let site = self.site(frame, &place, Value::LaunchArgument);
                let called = Called { positional: vec![Value::fresh(site).shared()], ..Called::default() };
                result = result.join(self.bind_call(frame, node, *id, &called));
                continue;
            }
            let function = self.function(*id);
            let home = CodeLocation { module: function.module, function: Some(*id) };
            if let Some(first) = function.parameters.and_then(|parameters| parameters.args.first()) {
                let site = self.site(home, first, Value::LaunchArgument);
                self.put_local(*id, first.name().as_str(), Value::fresh(site).shared());
            } else if let Some(variadic) = function.parameters.and_then(|parameters| parameters.vararg.as_deref()) {
                let site = self.site(frame, &place, Value::LaunchArgument);
                self.put_extra(home, *id, variadic, None, &Value::fresh(site).shared());
            }
            // Called without arguments, because the first parameter has its value already.
            let returned = self.bind_call(frame, node, *id, &Called::default());
            result = result.join(returned);
        }
        result
    }
}
