use crate::rule::Violation;

/// ## What it does
///
/// Allows on tensors only attributes and methods that inspect (`shape`, `stride`, `dtype`, `is_contiguous`,
/// `x.data_ptr() % 16`, ...), create (`new_empty`, ...) or view (`view`, `permute`, `chunk`, `T`, ...). `contiguous`,
/// `reshape`, `flatten` and `ravel` are allowed where they return the tensor itself or a view. If they copy, the
/// interception layer refuses the call. They are not allowed in a directory that asks `x.data_ptr() % 16`.
///
/// ## Why
///
/// Methods compute as functions do: `x.softmax(-1)`, `x.to(torch.float16)`, `x.clone()`. Access to the storage (`set_`, `untyped_storage`, `data`) creates tensors that the referee cannot observe. With an address, a pass can
/// distinguish calls, or give a kernel memory that is not checked. A pass can therefore use only the remainder of an
/// address by a literal up to 64.
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
        format!("`.{}` is not an inspection of a tensor{}", self.subject, advice(&self.subject))
    }
}

/// Returns advice for methods that ordinary code often calls.
fn advice(method: &str) -> &'static str {
    match method {
        "to" | "float" | "half" | "bfloat16" | "type_as" => "; convert inside the kernel, e.g. by `.to(tl.float32)`",
        "clone" | "copy_" => "; let the kernel write the copy",
        "fill_" | "zero_" => "; allocate with `torch.full` or `torch.zeros`",
        "data" => "; use the tensor itself",
        "resize_" | "new_tensor" => "; allocate with `torch.empty` or `.new_empty`",
        _ => "",
    }
}
