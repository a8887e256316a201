use crate::rule::Violation;

/// ## What it does
///
/// Allows a fixed list of functions and constants of imported modules in wrappers and at module level: creation of
/// tensors (`torch.empty`, `torch.zeros`, ...), inspection of tensors and of the device, `triton.cdiv`,
/// `triton.Config`, `math`.
///
/// ## Why
///
/// A replacement must compute with its own kernels. A wrapper that calls `torch.matmul`, even by another name, leaves
/// the work to the library that it is compared with. Switches such as `torch.backends` change the comparison itself.
///
/// ## Example
///
/// ```python
/// def fused(x, y):
///     return torch.matmul(x, y)      # PN206
/// ```
///
/// ## How to fix
///
/// Allocate with `torch.empty` and compute in a kernel. Inside `pattern`, any operation is allowed.
pub(crate) struct ApiNotAllowed {
    /// Dotted name, aliases resolved.
    pub(crate) subject: String,
}

impl Violation for ApiNotAllowed {
    const ID: &'static str = "PN206";
    const NAME: &'static str = "api-not-allowed";
    const SOURCE: &'static str = include_str!("api_not_allowed.rs");
    const HELP: &'static str = "wrappers allocate, inspect and launch; compute inside a kernel";

    fn message(&self) -> String {
        format!("`{}` may not be used here{}", self.subject, advice(&self.subject))
    }
}

const UNSUPPORTED: &str = "; compute in a kernel, and raise `ValueError` for tensors that the kernel does not support";

/// Returns what to write instead of functions that ordinary code often calls.
fn advice(path: &str) -> &'static str {
    match path {
        "torch.inference_mode" | "torch.set_grad_enabled" | "torch.is_grad_enabled" => {
            "; write `with torch.no_grad():`, or nothing, because passes run without gradients"
        }
        "torch.cuda.stream" | "torch.cuda.Stream" | "torch.cuda.set_stream" => {
            "; leave it out, because launches use the current stream, which the referee measures"
        }
        "torch.cuda.synchronize" | "torch.cuda.empty_cache" => {
            "; leave it out, because the referee waits for the device"
        }
        "torch.set_float32_matmul_precision" => "; pass `input_precision` to `tl.dot`",
        _ if path.starts_with("torch.backends.") => {
            "; pass the setting to the kernel, e.g. `input_precision` of `tl.dot`"
        }
        "torch.add" | "torch.addmm" | "torch.bmm" | "torch.cat" | "torch.clone" | "torch.exp" | "torch.matmul"
        | "torch.mean" | "torch.mm" | "torch.mul" | "torch.relu" | "torch.sigmoid" | "torch.softmax" | "torch.sum"
        | "torch.tanh" | "torch.where" => UNSUPPORTED,
        _ if path.starts_with("torch.nn.functional.") => UNSUPPORTED,
        _ if path.starts_with("torch.library.") => "; define the wrapper as a plain function",
        _ if path.starts_with("torch.autograd.function.FunctionCtx") => "; a pass has no backward, so leave it out",
        _ => "",
    }
}
