use crate::rule::Violation;

/// ## What it does
///
/// Allows on tensors only attributes and methods that inspect (`shape`, `stride`, `dtype`, `is_contiguous`,
/// `x.data_ptr() % 16`, ...), create (`new_empty`, ...) or view without copying (`view`, `permute`, `expand`, ...).
///
/// ## Why
///
/// Methods compute like functions do: `x.softmax(-1)`, `x.to(torch.float16)`, `x.contiguous()`. Storage access
/// (`set_`, `untyped_storage`, `data`) makes tensors that no observer follows. An address distinguishes calls, and as an argument
/// gives a kernel memory that nothing checks; only its remainder by a literal up to 64 can be asked for.
///
/// ## Example
///
/// ```python
/// def fused(x):
///     return x.softmax(-1)      # PN402
/// ```
///
/// ## How to fix
///
/// Compute, convert and copy inside the kernel: pass tensors and strides to it, and cast with `.to` in Triton.
pub(crate) struct TensorAttribute {
    /// The attribute.
    pub(crate) subject: String,
}

impl Violation for TensorAttribute {
    const ID: &'static str = "PN402";
    const NAME: &'static str = "tensor-attribute";
    const SOURCE: &'static str = include_str!("tensor_attribute.rs");
    const HELP: &'static str = "wrappers may inspect, allocate and view; convert, copy and compute inside a kernel";

    fn message(&self) -> String {
        format!("`.{}` is not an inspection of a tensor", self.subject)
    }
}
