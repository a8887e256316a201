use crate::rule::Violation;

/// ## What it does
///
/// Rejects operators, comparisons and assignment to elements on values that may be tensors, and indexing that gathers:
/// by a tensor, a list or a truth value. `x[0]` and `x[:, 1:]` are views and allowed.
///
/// ## Why
///
/// `x @ y`, `x + y`, `x[rows]` and `out[:] = x` call PyTorch operators in a shorter form.
///
/// ## Example
///
/// ```python
/// def fused(x, y):
///     return x @ y      # PN401
/// ```
///
/// ## How to fix
///
/// Compute in a kernel. Arithmetic on sizes, strides and other numbers is allowed.
pub(crate) struct TensorOperator {
    /// The operator, quoted.
    pub(crate) subject: String,
}

impl Violation for TensorOperator {
    const ID: &'static str = "PN401";
    const NAME: &'static str = "tensor-operator";
    const SOURCE: &'static str = include_str!("tensor_operator.rs");
    const HELP: &'static str = "compute inside a kernel; only numbers such as sizes can be computed with in a wrapper";

    fn message(&self) -> String {
        format!("{} works on a tensor here", self.subject)
    }
}
