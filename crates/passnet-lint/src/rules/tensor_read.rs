use crate::rule::Violation;

/// ## What it does
///
/// Rejects reading a tensor's values on the host: truth value, iteration, formatting, conversion to a number, and
/// passing it to a builtin.
///
/// ## Why
///
/// Reading waits for the device. It also moves work to the host that the kernels should do.
///
/// ## Example
///
/// ```python
/// def fused(x):
///     if x:                 # PN403
///         return float(x)   # PN403
/// ```
///
/// ## How to fix
///
/// Decide by shape, dtype or an argument from `replacement_args`; let kernels read values.
pub(crate) struct TensorRead {
    /// The construct.
    pub(crate) subject: String,
}

impl Violation for TensorRead {
    const ID: &'static str = "PN403";
    const NAME: &'static str = "tensor-read";
    const SOURCE: &'static str = include_str!("tensor_read.rs");
    const HELP: &'static str = "decide by shape and dtype; let kernels read values";

    fn message(&self) -> String {
        format!("{} reads the values of a tensor", self.subject)
    }
}
