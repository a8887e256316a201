use crate::Callee;

/// The short name of an operation: without its namespace, without the `_` of in-place methods, without the `i` of in-place operators, and
/// without the underscores of names such as `__eq__`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpName<'g> {
    /// Short name, for example `add` or `layer_norm`.
    pub name: &'g str,
    /// True if the name says that the first argument is changed.
    pub in_place: bool,
    /// True if a method is called.
    pub is_method: bool,
}

/// Namespaces whose functions have short names.
const NAMESPACES: &[&str] =
    &["torch.nn.functional.", "torch.functional.", "torch._C._nn.", "torch.special.", "torch.", "operator."];

/// Operators whose Python method has the same name with underscores, such as `eq` and `__eq__`.
const DUNDER: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "and", "or", "neg", "invert"];

impl<'g> OpName<'g> {
    /// Returns the short name of a callee; `None` for functions of other namespaces.
    pub fn of(callee: Callee<'g>) -> Option<Self> {
        let (name, is_method) = match callee {
            Callee::Function(target) => {
                (NAMESPACES.iter().find_map(|namespace| target.strip_prefix(namespace))?, false)
            }
            Callee::Method(name) => (name, true),
        };
        // `operator.and_` has an underscore because `and` is a keyword, while the underscore of `add_` means a change in place.
        let is_operator = callee.target().starts_with("operator.");
        let (name, in_place) = match name {
            "iadd" | "isub" | "imul" | "itruediv" | "iand" | "ior" | "ixor" if is_operator => (&name[1..], true),
            "and_" | "or_" | "xor_" if is_operator => (name.trim_end_matches('_'), false),
            _ if name.ends_with('_') && !name.ends_with("__") => (&name[..name.len() - 1], true),
            _ => (name, false),
        };
        let undressed = name.strip_prefix("__").and_then(|name| name.strip_suffix("__"));
        let name = undressed.filter(|name| DUNDER.contains(name)).unwrap_or(name);
        Some(Self { name, in_place, is_method })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        let check = |callee, name, in_place| {
            let found = OpName::of(callee).map(|op| (op.name, op.in_place));
            assert_eq!(found, Some((name, in_place)), "{callee:?}");
        };
        check(Callee::Function("torch.nn.functional.gelu"), "gelu", false);
        check(Callee::Function("torch._C._nn.gelu"), "gelu", false);
        check(Callee::Function("operator.iadd"), "add", true);
        check(Callee::Function("operator.and_"), "and", false);
        check(Callee::Method("masked_fill_"), "masked_fill", true);
        check(Callee::Method("__eq__"), "eq", false);
        check(Callee::Method("__getitem__"), "__getitem__", false);
        assert_eq!(OpName::of(Callee::Function("builtins.getattr")), None);
    }
}
