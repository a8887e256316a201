use crate::rule::Violation;

/// ## What it does
///
/// Requires kernels to be launched as `kernel[grid](arguments)`, with a grid of numbers or a function of the
/// launch's meta parameters, and arguments that are tensors, numbers, types or kernels.
///
/// ## Why
///
/// Other ways to run a kernel (`kernel.run`, `kernel.warmup`, a plain call) skip or change the measured work.
///
/// ## Example
///
/// ```python
/// kernel(x, out)      # PN602
/// ```
///
/// ## How to fix
///
/// Write `kernel[(blocks,)](x, out, n, BLOCK=1024)`.
pub(crate) struct KernelLaunch {
    /// The problem with the launch.
    pub(crate) subject: String,
}

impl Violation for KernelLaunch {
    const ID: &'static str = "PN602";
    const NAME: &'static str = "kernel-launch";
    const SOURCE: &'static str = include_str!("kernel_launch.rs");
    const HELP: &'static str = "launch with `kernel[grid](tensors, numbers, META=...)`";

    fn message(&self) -> String {
        self.subject.clone()
    }
}
