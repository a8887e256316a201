//! Operations that multiply elements by weights of zero.

use crate::{Callee, Graph};

/// Last parts of the names of functions whose formula has such weights: padding of convolutions, the zeros that a transposed convolution
/// inserts, and neighbours at distance zero in an interpolation.
const WEIGHING: &[&str] =
    &["conv1d", "conv2d", "conv3d", "conv_transpose", "convolution", "interpolate", "upsample", "grid_sample"];

/// Returns whether a call of the graph may multiply elements of its arguments by zero. Zero times infinity is NaN in code that computes
/// such products, and nothing in code that leaves them out. Both are right.
pub fn has_zero_weights(graph: &Graph) -> bool {
    graph.nodes().any(|node| match node.callee {
        Callee::Function(path) => {
            let name = path.rsplit('.').find(|part| *part != "default").unwrap_or(path);
            WEIGHING.iter().any(|weighing| name.trim_start_matches('_').starts_with(weighing))
        }
        Callee::Method(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn convolutions_and_interpolations_weigh_by_zero() {
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
        ] {
            assert!(of(path), "{path}");
        }
        for path in ["torch.matmul", "torch.nn.functional.softmax", "torch.nn.functional.linear", "torch.exp"] {
            assert!(!of(path), "{path}");
        }
    }
}
