//! The order of op names that decides where canonical folding begins a piece.
//!
//! The lists are part of the definition of the published suites, so they must not follow later changes in the table of
//! `passnet_graph::ops`.

/// Normalisations that open a residual block. `batch_norm` is not among them, because it follows its convolution.
const NORMALISATIONS: &[&str] = &["group_norm", "instance_norm", "layer_norm", "rms_norm"];

/// Ops with most of a network's arithmetic. The ops after a contraction, up to the next one, are its epilogue.
const CONTRACTIONS: &[&str] = &[
    "Tensor.baddbmm",
    "Tensor.bmm",
    "Tensor.matmul",
    "addmm",
    "baddbmm",
    "bmm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "einsum",
    "embedding",
    "linear",
    "matmul",
    "mm",
    "multi_head_attention_forward",
    "scaled_dot_product_attention",
];

/// Returns the sort key of an op name: normalisations, then contractions, then the rest, each ordered by name. The key depends
/// only on the name, so that it is the same for all graphs.
pub(super) fn key(name: &str) -> (u8, &str) {
    // The lists are sorted, which a test checks.
    let class = if NORMALISATIONS.binary_search(&name).is_ok() {
        0
    } else if CONTRACTIONS.binary_search(&name).is_ok() {
        1
    } else {
        2
    };
    (class, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(NORMALISATIONS.is_sorted() && CONTRACTIONS.is_sorted());
    }

    #[test]
    fn blocks_open_with_a_normalisation_then_a_contraction() {
        assert!(key("layer_norm") < key("conv2d"));
        assert!(key("scaled_dot_product_attention") < key("Tensor.view"));
    }
}
