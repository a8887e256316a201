use crate::rule::Violation;

/// ## What it does
///
/// Allows for `triton.jit`, `triton.autotune`, `triton.heuristics` and `triton.Config` only settings that are data.
///
/// ## Why
///
/// `pre_hook`, `post_hook`, `launch_metadata`, `repr` and `do_bench` are host functions that run
/// before, during or after a launch and can access its tensors. `cache_results` keeps files between runs.
///
/// `prune_configs_by` may be a dictionary in the text with `early_config_prune`, `perf_model` and `top_k`. Its functions choose among
/// configurations by sizes and types of a launch's arguments. Triton calls them in the first call for each key only, so they may only
/// compute plain values from plain values, as functions under `functools.cache` (PN208).
///
/// ## Example
///
/// ```python
/// @triton.autotune(configs=CONFIGS, key=["n"], pre_hook=fill)      # PN603
/// ```
///
/// ## How to fix
///
/// Use `reset_to_zero` or `restore_value` for accumulators.
pub(crate) struct LaunchHook {
    /// The keyword.
    pub(crate) subject: String,
}

impl Violation for LaunchHook {
    const ID: &'static str = "PN603";
    const NAME: &'static str = "launch-hook";
    const SOURCE: &'static str = include_str!("launch_hook.rs");
    const HELP: &'static str = "allowed are configs, key, prune_configs_by, reset_to_zero, restore_value, warmup, rep and Config's num_warps, num_stages, num_ctas, maxnreg";

    fn message(&self) -> String {
        format!("`{}` is not a data setting of this decorator", self.subject)
    }
}
