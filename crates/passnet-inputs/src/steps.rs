//! Values at which a graph decides.
//!
//! A random number is almost never equal to the bound of a comparison, and almost never halfway between two integers. A pass that
//! writes `>` for `>=`, or rounds halves up, would be right for all other contents.

use passnet_graph::{Arg, Graph};

/// Distance of two values.
const STEP: f64 = 0.5;
/// Largest number of constants that are used.
const MOST: usize = 16;
/// Largest magnitude of these constants. Larger ones, such as those that mark masked elements, would hide all other differences.
const LARGEST: f64 = 100.0;
/// One of this number of elements is a constant of the graph.
const ELEMENTS_PER_CONSTANT: u64 = 4;

/// Returns the floating-point arguments of a graph that are no multiples of [`STEP`], with both signs: bounds of comparisons, and others.
pub(crate) fn constants_of(graph: &Graph) -> Vec<f64> {
    let mut constants = Vec::new();
    for arg in graph.nodes().flat_map(|node| node.all_args()) {
        if let Arg::Float(value) = arg
            && value.abs() <= LARGEST
            && value % STEP != 0.0
            && !constants.contains(&value)
        {
            constants.extend([value, -value]);
        }
    }
    constants.truncate(MOST);
    constants
}

/// Returns the multiple of [`STEP`] that is nearest to a value, or one of the constants. The low bits of the variate choose.
pub(crate) fn value(value: f64, normal: f64, constants: &[f64]) -> f64 {
    let bits = normal.to_bits();
    match (constants, bits % ELEMENTS_PER_CONSTANT) {
        ([_, ..], 0) => constants[(bits / ELEMENTS_PER_CONSTANT) as usize % constants.len()],
        // The sum turns the zero of a negative value into that of a positive one.
        _ => (value / STEP).round() * STEP + 0.0,
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::{DType, TensorMeta};

    use crate::{AllInputs, Content, GraphFacts, fill_among, tests::meta};

    fn values(meta: &TensorMeta, constants: &[f64]) -> Vec<f32> {
        let facts = GraphFacts { floats: constants.to_vec(), ..GraphFacts::default() };
        let all = AllInputs::of(std::slice::from_ref(meta), &facts);
        let bytes = fill_among(meta, 0, 7, Content::Steps, all).unwrap();
        bytes.as_chunks().0.iter().map(|&value| f32::from_ne_bytes(value)).collect()
    }

    #[test]
    fn halves_and_constants_of_the_graph_occur() {
        let meta = TensorMeta { std: Some(0.02), mean: Some(0.0), ..meta(DType::Float32, &[4096]) };
        let found = values(&meta, &[]);
        assert!(found.iter().all(|value| value % 0.5 == 0.0 && value.to_bits() != (-0.0_f32).to_bits()));
        let counts = |found: &[f32], wanted: f32| found.iter().filter(|&&value| value == wanted).count();
        for wanted in [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5] {
            assert!(counts(&found, wanted) > 100, "{wanted}");
        }
        let found = values(&meta, &[0.3, -0.3]);
        assert!(counts(&found, 0.3) > 300 && counts(&found, -0.3) > 300 && counts(&found, 0.5) > 300);
    }

    #[test]
    fn bounds_of_a_tensor_apply() {
        let meta = TensorMeta { min_val: Some(0.1), ..meta(DType::Float32, &[1000]) };
        assert!(values(&meta, &[0.05]).iter().all(|&value| value >= 0.1));
    }
}
