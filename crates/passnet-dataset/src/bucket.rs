//! Coarse classes of subgraph inputs, used to choose samples that differ.

use passnet_record::{DType, TensorMeta};

/// Class of the inputs of one subgraph. Samples of one op sequence and one bucket test nearly the same case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InputBucket {
    /// For each input, the class of each extent: 0 for 1..16, 1 for 16..256, 2 for 256..4096 and so on by factors of 16; -1 for
    /// an empty dimension.
    pub shapes: Vec<Vec<i32>>,
    /// Element type of each input.
    pub dtypes: Vec<DType>,
}

impl InputBucket {
    /// Returns the bucket of these inputs.
    pub fn of(inputs: &[TensorMeta]) -> Self {
        let class = |extent: &u64| extent.checked_ilog2().map_or(-1, |log| (log / 4).cast_signed());
        Self {
            shapes: inputs.iter().map(|input| input.shape.iter().map(class).collect()).collect(),
            dtypes: inputs.iter().map(|input| input.dtype).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_classed_by_factors_of_sixteen() {
        let meta = TensorMeta {
            name: "x".to_owned(),
            original_name: None,
            shape: vec![0, 1, 15, 16, 255, 256, 4096],
            dtype: DType::Float16,
            device: "cpu".to_owned(),
            mean: None,
            std: None,
            data: None,
            min_val: None,
            max_val: None,
        };
        let bucket = InputBucket::of(&[meta]);
        assert_eq!(bucket.shapes, [[-1, 0, 0, 1, 1, 2, 3]]);
        assert_eq!(bucket.dtypes, [DType::Float16]);
    }
}
