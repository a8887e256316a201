use crate::rule::Violation;

/// ## What it does
///
/// Rejects statements and expressions that a pass does not need: `async`, `global`, `nonlocal`, and
/// anything but imports, definitions and constants at module level. The body of `if __name__ == "__main__":` (without
/// `else`) is not checked, because it does not run when a pass is imported. `if` with `else` may choose constants there: each branch
/// assigns to the same names.
///
/// Classes at module level are allowed if they hold data: enumerations, `NamedTuple`, `@dataclass` (methods, properties,
/// `__post_init__` and `__call__` included), classes without a base (functions, constants, and an `__init__` that assigns
/// to attributes of `self`), and exceptions without members. Two classes of PyTorch may be extended to wrap a function. A
/// `torch.nn.Module` may have `__init__`, `forward` and methods whose names the base does not have. Its instances can be
/// called, and `eval()` returns them; nothing else that they inherit is available. A `torch.autograd.Function` may have one
/// static method `forward`, which `apply` calls with a context that nothing may use. Other bases, decorators, metaclasses and methods that begin
/// with two underscores are not. A class may list the names of its attributes in `__slots__`. `yield` is allowed in functions, but
/// not inside `with`: the generator is an iterator, which may not outlive the call (PN501). The body of `if TYPE_CHECKING:` (without `else`) is not checked either. `match` compares plain values; patterns
/// with classes or dictionaries are not allowed. `del` removes variables of the function; for elements of containers from elsewhere, see PN502.
///
/// ## Why
///
/// Such code can keep state, run at an unexpected time, or give a name several meanings. An instance of a class of data
/// keeps nothing between calls, because only its `__init__` can assign to its attributes.
///
/// ## Example
///
/// ```python
/// class Fused(torch.nn.Module):
///     def __setattr__(self, name, value):      # PN209
///         ...
/// ```
///
/// ## How to fix
///
/// Use functions, and `@dataclass` or `NamedTuple` for settings.
pub(crate) struct StatementNotAllowed {
    /// The construct, with its article.
    pub(crate) subject: String,
}

impl Violation for StatementNotAllowed {
    const ID: &'static str = "PN209";
    const NAME: &'static str = "statement-not-allowed";
    const SOURCE: &'static str = include_str!("statement_not_allowed.rs");
    const HELP: &'static str =
        "a pass consists of imports, constants, functions and classes of data: enumerations, NamedTuple, @dataclass";

    fn message(&self) -> String {
        format!("{} is not part of the pass language", self.subject)
    }
}
