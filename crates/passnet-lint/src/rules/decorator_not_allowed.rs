use crate::rule::Violation;

/// ## What it does
///
/// Allows the decorators `triton.jit`, `triton.autotune`, `triton.heuristics`, `passnet.kernels.triton`,
/// `passnet.kernels.prepared`, `torch.fx.wrap`, `torch.no_grad()`, those of classes of data (`dataclass`,
/// `enum.unique`, `property`, `staticmethod`, `classmethod`), functions of the directory that get and return functions (or calls that return such functions),
/// `functools.wraps` inside of these, and `functools.lru_cache` on functions of sizes. A function under `lru_cache`, and all functions that it calls, may only compute plain values (and instances of classes of data) from
/// plain values. Without arguments, it may compile a kernel from a constant text.
///
/// ## Why
///
/// A decorator replaces the function in the source by another one: `torch.compile` compiles it. `functools.cache` stores
/// its results: with a tensor among arguments or results, or with a value that depends on the moment of the call, a
/// later call could depend on an earlier one. Caches of passes forget no result, also with `maxsize`: a forgotten result
/// would tell what earlier calls asked for.
///
/// ## Example
///
/// ```python
/// @torch.compile           # PN208
/// def fused(x):
///     ...
/// ```
///
/// ## How to fix
///
/// Remove the decorator. Give a cached function sizes and types instead of tensors, and allocate outside of it.
pub(crate) struct DecoratorNotAllowed {
    message: String,
}

impl DecoratorNotAllowed {
    /// A decorator, as written, that is not on the list.
    pub(crate) fn unknown(subject: impl std::fmt::Display) -> Self {
        let subject = subject.to_string();
        let advice = match &*subject {
            known if known.contains("inference_mode") => "; write `torch.no_grad()`",
            known if known.contains("constexpr_function") => "; write a `@triton.jit` function",
            known if known.contains("torch.compile") || known.contains("torch.jit") => "; compute in a kernel",
            known if known.contains("custom_op") => "; leave it out",
            _ => "",
        };
        Self { message: format!("decorator `{subject}` is not allowed{advice}") }
    }

    /// Stored results in a directory that asks for the alignment of an address.
    pub(crate) fn tells_alignment() -> Self {
        let message =
            "`functools.cache` together with `x.data_ptr() % 16`: results would keep an alignment between calls";
        Self { message: message.to_owned() }
    }

    /// The use of something in a function whose results are stored.
    pub(crate) fn stores(subject: impl std::fmt::Display) -> Self {
        Self {
            message: format!(
                "{subject} in a function whose results are kept between calls (under `functools.cache`, or in `prune_configs_by`)"
            ),
        }
    }
}

impl Violation for DecoratorNotAllowed {
    const ID: &'static str = "PN208";
    const NAME: &'static str = "decorator-not-allowed";
    const SOURCE: &'static str = include_str!("decorator_not_allowed.rs");
    const HELP: &'static str = "allowed are triton.jit, triton.autotune, triton.heuristics, passnet.kernels.triton on kernels, passnet.kernels.prepared and \
         torch.fx.wrap on wrappers, functools.lru_cache on functions of sizes";

    fn message(&self) -> String {
        self.message.clone()
    }
}
