use passnet_graph::Graph;
use passnet_record::DType;

/// A graph of Paddle, and the types of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct PaddleGraph {
    pub graph: Graph,
    /// Type of each value according to the comments. Inputs and lists have none.
    pub types: Vec<Option<ValueType>>,
}

/// Type of a tensor according to a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueType {
    /// Extent of each dimension; `None` where Paddle did not know it.
    pub dims: Vec<Option<u64>>,
    /// Element type.
    pub dtype: DType,
}

/// Returns the types of the results of the operation that a comment describes: `# pd_op.add: (RESULTS) <- (OPERANDS)`. The type
/// is `None` for a list of tensors, and for a type that is not a tensor.
pub(super) fn results(comment: &str) -> Option<Vec<Option<ValueType>>> {
    let (_, types) = comment.strip_prefix('#')?.trim_start().split_once(": ")?;
    let (results, _) = types.split_once(" <- ")?;
    let results = results.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(split(results).into_iter().map(value_type).collect())
}

/// Splits a text at the commas that are outside of all brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// Parses `-1x64xf32`. `xi64` is a tensor without dimensions.
fn value_type(text: &str) -> Option<ValueType> {
    let (dims, dtype) = text.rsplit_once('x').unwrap_or(("", text));
    let extent = |dim: &str| match dim {
        "-1" => Some(None),
        _ => dim.parse().ok().map(Some),
    };
    let dims = if dims.is_empty() { Some(Vec::new()) } else { dims.split('x').map(extent).collect() };
    Some(ValueType { dims: dims?, dtype: dtype_of(dtype)? })
}

fn dtype_of(code: &str) -> Option<DType> {
    let name = match code {
        "f16" => "float16",
        "bf16" => "bfloat16",
        "f32" => "float32",
        "f64" => "float64",
        "i8" => "int8",
        "ui8" => "uint8",
        "i16" => "int16",
        "i32" => "int32",
        "i64" => "int64",
        "b" => "bool",
        "c64" => "complex64",
        "c128" => "complex128",
        _ => return None,
    };
    name.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(comment: &str) -> String {
        let show = |found: Option<ValueType>| match found {
            None => "-".to_owned(),
            Some(found) => {
                let dims = found.dims.iter().map(|dim| dim.map_or("?".to_owned(), |extent| extent.to_string()));
                format!("{}{:?}", found.dtype.name(), dims.collect::<Vec<_>>())
            }
        };
        results(comment).map_or("none".to_owned(), |found| found.into_iter().map(show).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn comments_give_the_types_of_results() {
        let cases = [
            ("# pd_op.add: (2x3xf32) <- (2x3xf32, 3xf32)", r#"float32["2", "3"]"#),
            ("# pd_op.full: (xi64) <- ()", "int64[]"),
            ("# pd_op.any: (b) <- (4xb)", "bool[]"),
            (
                "# pd_op.dropout: (-1x4xbf16, -1x4xui8) <- (-1x4xbf16, None, 1xf32)",
                r#"bfloat16["?", "4"] uint8["?", "4"]"#,
            ),
            ("# pd_op.split: ([1xf32, 2xf32], 3xi8) <- (3xf32)", r#"- int8["3"]"#),
            ("# pd_op.nothing: () <- (3xf32)", ""),
            ("# pd_op.odd: (3xqint) <- ()", "-"),
            ("# a remark", "none"),
            ("# pd_op.cut: (2x3xf32", "none"),
        ];
        for (comment, expected) in cases {
            assert_eq!(shown(comment), expected, "{comment}");
        }
    }
}
