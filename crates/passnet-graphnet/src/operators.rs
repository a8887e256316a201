//! Python's operators as functions of `operator`.

/// Symbol, function, and function of the form in place (`+=`).
const BINARY: [(&str, &str, &str); 13] = [
    ("+", "operator.add", "operator.iadd"),
    ("-", "operator.sub", "operator.isub"),
    ("*", "operator.mul", "operator.imul"),
    ("@", "operator.matmul", "operator.imatmul"),
    ("/", "operator.truediv", "operator.itruediv"),
    ("%", "operator.mod", "operator.imod"),
    ("**", "operator.pow", "operator.ipow"),
    ("<<", "operator.lshift", "operator.ilshift"),
    (">>", "operator.rshift", "operator.irshift"),
    ("|", "operator.or_", "operator.ior"),
    ("^", "operator.xor", "operator.ixor"),
    ("&", "operator.and_", "operator.iand"),
    ("//", "operator.floordiv", "operator.ifloordiv"),
];

/// Arithmetic: `a + b`.
pub(crate) fn binary(symbol: &str) -> Option<&'static str> {
    BINARY.iter().find(|(of, ..)| *of == symbol).map(|&(_, function, _)| function)
}

/// Arithmetic in place, by the symbol before the `=`.
pub(crate) fn in_place(symbol: &str) -> Option<&'static str> {
    BINARY.iter().find(|(of, ..)| *of == symbol).map(|&(.., in_place)| in_place)
}

/// `None` for tests of identity and membership, which no graph has.
pub(crate) fn compare(symbol: &str) -> Option<&'static str> {
    match symbol {
        "==" => Some("operator.eq"),
        "!=" => Some("operator.ne"),
        "<" => Some("operator.lt"),
        "<=" => Some("operator.le"),
        ">" => Some("operator.gt"),
        ">=" => Some("operator.ge"),
        _ => None,
    }
}

/// `None` for `not`, which asks a tensor for its truth.
pub(crate) fn unary(symbol: &str) -> Option<&'static str> {
    match symbol {
        "~" => Some("operator.invert"),
        "+" => Some("operator.pos"),
        "-" => Some("operator.neg"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use passnet_graph::operators::{OPERATORS, Syntax};

    use super::*;

    #[test]
    fn every_operator_is_found_by_its_symbol() {
        for operator in OPERATORS {
            let function = match operator.syntax {
                Syntax::Binary(symbol) => binary(symbol),
                Syntax::Compare(symbol) => compare(symbol),
                Syntax::Unary(symbol) => unary(symbol),
                Syntax::InPlace(symbol) => symbol.strip_suffix('=').and_then(in_place),
                Syntax::GetItem | Syntax::SetItem => continue,
            };
            assert_eq!(function, Some(format!("operator.{}", operator.name)).as_deref());
        }
    }
}
