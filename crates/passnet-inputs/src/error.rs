//! Errors of making inputs.

/// Metadata from which no values can be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    /// The size does not fit the address space.
    #[error("input `{name}`: a tensor of shape {shape:?} has more bytes than can be addressed")]
    TooLarge {
        /// Parameter name.
        name: String,
        /// Shape of the tensor.
        shape: Vec<u64>,
    },
    /// The number of literals differs from the number of elements of the shape.
    #[error("input `{name}`: `data` has {found} values, shape {shape:?} needs {expected}")]
    DataLength {
        /// Parameter name.
        name: String,
        /// Shape of the tensor.
        shape: Vec<u64>,
        /// Number of elements of the shape.
        expected: u64,
        /// Number of literals.
        found: usize,
    },
    /// `min_val` is above `max_val`, or one of them is NaN.
    #[error("input `{name}`: no integer lies in [{min}, {max}]; correct min_val and max_val")]
    EmptyRange {
        /// Parameter name.
        name: String,
        /// `min_val`.
        min: f64,
        /// `max_val`.
        max: f64,
    },
}
