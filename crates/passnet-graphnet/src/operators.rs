//! Python's operators as functions of `operator`.

/// For each operator: its symbol, its function, and the function of its in-place form (`+=`).
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

/// Returns the function of an arithmetic operator: `a + b`.
pub(crate) fn binary(symbol: &str) -> Option<&'static str> {
    BINARY.iter().find(|(of, ..)| *of == symbol).map(|&(_, function, _)| function)
}

/// Returns the function of an in-place operator, by the symbol before the `=`.
pub(crate) fn in_place(symbol: &str) -> Option<&'static str> {
    BINARY.iter().find(|(of, ..)| *of == symbol).map(|&(.., in_place)| in_place)
}

/// Returns the function of a comparison; `None` for tests of identity and membership, which no graph has.
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

/// Returns the function of an operator with one operand; `None` for `not`, which reads the truth value of a tensor.
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
