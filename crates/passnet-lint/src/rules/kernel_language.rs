use crate::rule::Violation;

/// ## What it does
///
/// Allows in Triton kernels `triton.language`, libdevice, `math` constants, arithmetic, other kernels of the
/// directory and constants of the module.
///
/// ## Why
///
/// The host resolves the names in a kernel when it compiles the kernel. Inline assembly, printing and clock registers
/// are not computation.
///
/// ## Example
///
/// ```python
/// @triton.jit
/// def kernel(x_ptr):
///     tl.inline_asm_elementwise(...)      # PN601
/// ```
///
/// ## How to fix
///
/// Express the computation with `tl` operations; pass constants as `tl.constexpr`.
pub(crate) struct KernelLanguage {
    /// The text at that place.
    pub(crate) subject: String,
}

impl Violation for KernelLanguage {
    const ID: &'static str = "PN601";
    const NAME: &'static str = "kernel-language";
    const SOURCE: &'static str = include_str!("kernel_language.rs");
    const HELP: &'static str = "kernels use tl, libdevice, arithmetic, other kernels and constants";

    fn message(&self) -> String {
        format!("{} is not part of the kernel language", self.subject)
    }
}
