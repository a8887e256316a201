//! Integers of a range.

use passnet_record::{DType, TensorMeta};

use crate::error::InputError;

/// Returns the least and the largest integer of a tensor with both bounds. `None` if it has not both.
pub(crate) fn integer_range(meta: &TensorMeta) -> Option<Result<(i128, i128), InputError>> {
    let (min, max) = meta.min_val.zip(meta.max_val)?;
    let (low, high) = (min.ceil() as i128, max.floor() as i128);
    let bits = meta.dtype.size() as u32 * 8;
    let (least, most) = match meta.dtype {
        DType::UInt8 => (0, 255),
        _ => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
    };
    let (low, high) = (low.max(least), high.min(most));
    if low > high || min.is_nan() || max.is_nan() {
        return Some(Err(InputError::EmptyRange { name: meta.name.clone(), min, max }));
    }
    Some(Ok((low, high)))
}

/// Returns an integer of the range that the random words choose.
pub(crate) fn uniform((low, high): (i128, i128), [a, b]: [u32; 2]) -> i128 {
    let word = u128::from(u64::from(a) | u64::from(b) << 32);
    // The high half of the product is uniform in 0..count up to count / 2^64.
    low + ((word * (high - low + 1) as u128) >> 64) as i128
}
