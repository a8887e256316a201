//! Operations that multiply elements by weights of zero, or by products that may be zero.

use crate::{Callee, Graph};

/// Last parts of the names of functions whose formula has such weights: padding of convolutions, the zeros that a transposed convolution
/// inserts, and neighbours at distance zero in an interpolation.
const WEIGHING: &[&str] =
    &["conv1d", "conv2d", "conv3d", "conv_transpose", "convolution", "interpolate", "upsample", "grid_sample"];

/// Names of functions and methods that multiply all elements of a row. A product of many numbers leaves the range of its type, and
/// whether it does depends on the type and the order in which the numbers are multiplied.
const PRODUCTS: &[&str] = &["prod", "cumprod"];

/// Returns whether a call of the graph multiplies the elements of rows.
pub fn has_row_products(graph: &Graph) -> bool {
    graph.nodes().any(|node| PRODUCTS.contains(&last_name(node.callee)))
}

/// Returns whether a call of the graph may multiply elements of its arguments by zero. Zero times infinity is NaN in code that computes
/// such products, and nothing in code that leaves them out. Both are right.
pub fn has_zero_weights(graph: &Graph) -> bool {
    let weighs = |callee: Callee<'_>| {
        let name = last_name(callee).trim_start_matches('_');
        matches!(callee, Callee::Function(_)) && WEIGHING.iter().any(|weighing| name.starts_with(weighing))
    };
    graph.nodes().any(|node| weighs(node.callee)) || has_row_products(graph)
}

/// Returns the name of an operation without its namespace and its overload.
fn last_name<'g>(callee: Callee<'g>) -> &'g str {
    match callee {
        Callee::Function(path) => path.rsplit('.').find(|part| *part != "default").unwrap_or(path),
        Callee::Method(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn convolutions_interpolations_and_products_weigh_by_zero() {
        let of = |path: &str| {
            let mut builder = Graph::builder();
            let input = builder.input("x").into();
            let value = builder.call_function("y", path, &[input], &[]);
            has_zero_weights(&builder.finish(&[value.into()]).unwrap())
        };
        for path in [
            "torch.conv2d",
            "torch.nn.functional.conv_transpose1d",
            "torch.nn.functional.interpolate",
            "torch.ops.aten._convolution.default",
            "torch.ops.aten.upsample_bilinear2d.default",
            "torch.prod",
            "torch.ops.aten.cumprod.default",
        ] {
            assert!(of(path), "{path}");
        }
        for path in ["torch.matmul", "torch.nn.functional.softmax", "torch.nn.functional.linear", "torch.exp"] {
            assert!(!of(path), "{path}");
        }
    }
}
