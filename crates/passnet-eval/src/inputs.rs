//! Values of a graph's inputs, made from the metadata of its sample. The rules are in `docs/reference/inputs.md`.

mod content;
mod discrete;
mod non_finite;
mod outliers;
mod real;
mod rows;
mod rule;
mod segments;
mod steps;

use std::num::NonZero;

pub use content::{Content, UnknownContent};
use discrete::common_indices;
pub(crate) use discrete::is_fixed;
use half::{bf16, f16};
use passnet_record::{DType, TensorMeta, TensorValue};
pub(crate) use real::rounded;
use real::{Real, literal};
use rule::FloatRule;
pub(crate) use rule::is_drawn;
pub(crate) use steps::constants_of;

use crate::philox::{BATCH, Stream};

/// Tensors with more elements than this are filled by several threads.
const PARALLEL_ELEMENTS: usize = 1 << 20;

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

/// Returns the number of bytes of a tensor.
///
/// # Errors
/// If the size overflows.
pub fn byte_size(meta: &TensorMeta) -> Result<usize, InputError> {
    let bytes =
        meta.nbytes().and_then(|bytes| usize::try_from(bytes).ok()).filter(|&bytes| bytes <= isize::MAX as usize);
    bytes.ok_or_else(|| InputError::TooLarge { name: meta.name.clone(), shape: meta.shape.clone() })
}

/// Properties of all inputs of a graph. Some contents of an input depend on the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AllInputs<'a> {
    metas: &'a [TensorMeta],
    /// Number of valid indices in all dimensions.
    indices: i64,
    /// True if a tensor of random values has more than one row.
    has_rows: bool,
    /// Constants of the graph.
    constants: &'a [f64],
}

impl<'a> AllInputs<'a> {
    pub(crate) fn of(metas: &'a [TensorMeta], constants: &'a [f64]) -> Self {
        Self {
            metas,
            indices: common_indices(metas),
            has_rows: metas.iter().any(|meta| is_drawn(meta) && rows::has_rows(meta)),
            constants,
        }
    }
}

/// Makes the values of the only input of a graph, contiguous and row-major. They depend only on the seed, the name, the metadata and the
/// content.
///
/// # Errors
/// If the metadata contradicts itself.
pub fn fill(meta: &TensorMeta, seed: u64, content: Content) -> Result<Vec<u8>, InputError> {
    fill_among(meta, 0, seed, content, AllInputs::of(std::slice::from_ref(meta), &[]))
}

/// Makes the values of the input with the given number, as [`fill`] does.
pub(crate) fn fill_among(
    meta: &TensorMeta,
    number: usize,
    seed: u64,
    content: Content,
    all: AllInputs<'_>,
) -> Result<Vec<u8>, InputError> {
    let mut out = vec![0; byte_size(meta)?];
    let stream = Stream::new(seed, &meta.name);
    let changes = content.is_discrete() && is_fixed(meta);
    if meta.dtype.is_int()
        && let (Some(min), Some(max), false) = (meta.min_val, meta.max_val, changes)
    {
        fill_range(meta, stream, (min, max), &mut out)?;
        return Ok(out);
    }
    if let Some(data) = &meta.data {
        let expected = meta.numel().unwrap_or(u64::MAX);
        if data.len() as u64 != expected {
            let (name, shape) = (meta.name.clone(), meta.shape.clone());
            return Err(InputError::DataLength { name, shape, expected, found: data.len() });
        }
    }
    if changes {
        discrete::fill(meta, stream, content, all.indices, &mut out);
        return Ok(out);
    }
    match meta.dtype {
        DType::Float64 => fill_real::<f64>(meta, seed, content, all, &mut out),
        DType::Float32 => fill_real::<f32>(meta, seed, content, all, &mut out),
        DType::Float16 => fill_real::<f16>(meta, seed, content, all, &mut out),
        DType::BFloat16 => fill_real::<bf16>(meta, seed, content, all, &mut out),
        _ => fill_by_type(meta, stream, content, &mut out),
    }
    if meta.dtype.is_float() && outliers::has_outliers(content, number, seed, all.metas) {
        outliers::change(meta, seed, content, &mut out);
    }
    non_finite::place(meta, stream, content, &mut out);
    Ok(out)
}

fn fill_by_type(meta: &TensorMeta, stream: Stream, content: Content, out: &mut [u8]) {
    match meta.dtype {
        DType::Complex64 => fill_complex::<f32>(meta, stream, content, out),
        DType::Complex128 => fill_complex::<f64>(meta, stream, content, out),
        DType::Bool => fill_bool(meta, stream, out),
        _ => fill_literal_int(meta, out),
    }
}

/// Splits `out` into parts of whole groups of four elements and fills the parts, on several threads if `out` is large. `fill` gets the
/// index of the part's first element.
fn in_parallel(out: &mut [u8], element: usize, fill: impl Fn(u64, &mut [u8]) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    if out.len() / element < PARALLEL_ELEMENTS || threads == 1 {
        return fill(0, out);
    }
    let part = out.len().div_ceil(threads).next_multiple_of(4 * element);
    std::thread::scope(|scope| {
        for (i, chunk) in out.chunks_mut(part).enumerate() {
            let fill = &fill;
            scope.spawn(move || fill((i * part / element) as u64, chunk));
        }
    });
}

/// Fills `out` with integers that are uniform between two bounds, both included.
fn fill_range(meta: &TensorMeta, stream: Stream, (min, max): (f64, f64), out: &mut [u8]) -> Result<(), InputError> {
    let (low, high) = (min.ceil() as i128, max.floor() as i128);
    let bits = meta.dtype.size() as u32 * 8;
    let (least, most) = match meta.dtype {
        DType::UInt8 => (0, 255),
        _ => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
    };
    let (low, high) = (low.max(least), high.min(most));
    if low > high || min.is_nan() || max.is_nan() {
        return Err(InputError::EmptyRange { name: meta.name.clone(), min, max });
    }
    let count = (high - low + 1) as u128;
    let size = meta.dtype.size();
    in_parallel(out, size, |first, part| {
        for (i, element) in (first..).zip(part.chunks_mut(size)) {
            let [a, b, ..] = stream.group(i);
            let word = u128::from(u64::from(a) | u64::from(b) << 32);
            // The high half of the product is uniform in 0..count up to count / 2^64.
            let value = low + ((word * count) >> 64) as i128;
            element.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    });
    Ok(())
}

fn fill_literal_int(meta: &TensorMeta, out: &mut [u8]) {
    // Without literals and without a range, all elements stay zero: no other integer is a valid index of every table.
    let size = meta.dtype.size();
    for (element, value) in out.chunks_mut(size).zip(meta.data.iter().flatten()) {
        let value = match *value {
            TensorValue::Bool(value) => i64::from(value),
            TensorValue::Int(value) => value,
            TensorValue::Float(value) => value as i64,
        };
        element.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

fn fill_bool(meta: &TensorMeta, stream: Stream, out: &mut [u8]) {
    if let Some(data) = &meta.data {
        for (element, value) in out.iter_mut().zip(data) {
            *element = u8::from(literal(*value) != 0.0);
        }
        return;
    }
    in_parallel(out, 1, |first, part| {
        for (group, elements) in (first / 4..).zip(part.chunks_mut(4)) {
            for (element, normal) in elements.iter_mut().zip(stream.normals(group)) {
                *element = u8::from(normal > 0.5);
            }
        }
    });
}

fn fill_real<R: Real>(meta: &TensorMeta, seed: u64, content: Content, all: AllInputs<'_>, out: &mut [u8]) {
    let stream = Stream::new(seed, &meta.name);
    let rule = FloatRule { constants: all.constants, ..FloatRule::of(meta, content) };
    in_parallel(out, R::SIZE, |first, part| {
        let mut normals = [[0.0; 4]; BATCH];
        for (batch, elements) in (0..).zip(part.chunks_mut(4 * BATCH * R::SIZE)) {
            let group = first / 4 + batch * BATCH as u64;
            if rule.draws() {
                stream.fill_normals(group, &mut normals);
            }
            let values = (group * 4..).zip(normals.as_flattened());
            for ((index, &normal), element) in values.zip(elements.chunks_exact_mut(R::SIZE)) {
                R::store(rule.value::<R>(index, normal), element);
            }
        }
    });
    if content == Content::NearDuplicate && meta.data.is_none() {
        reverse_middle(out, R::SIZE);
    }
    if is_drawn(meta) && matches!(content, Content::Uneven | Content::Spikes) {
        rows::change::<R>(meta, stream, (content, all.has_rows), out, |value| rule.within(value, 0.0, R::SPIKE));
    }
    if is_drawn(meta) && content == Content::Segments {
        let shift = segments::SHIFT * rule.std * rule::SCALE;
        let inside = |value| rule.within((value - rule.mean) * segments::FACTOR + rule.mean + shift, 0.0, 100.0);
        segments::change::<R>(meta, seed, out, inside);
    }
}

/// Fills a complex tensor: real parts as for a real type, imaginary parts zero.
fn fill_complex<R: Real>(meta: &TensorMeta, stream: Stream, content: Content, out: &mut [u8]) {
    let rule = FloatRule::of(meta, content);
    in_parallel(out, 2 * R::SIZE, |first, part| {
        for (i, element) in (first..).zip(part.chunks_mut(2 * R::SIZE)) {
            let normal = stream.normals(i / 4)[(i % 4) as usize];
            R::store(rule.value::<R>(i, normal), &mut element[..R::SIZE]);
        }
    });
    if content == Content::NearDuplicate && meta.data.is_none() {
        reverse_middle(out, 2 * R::SIZE);
    }
}

/// Reverses the order of the elements between the first and the last quarter.
fn reverse_middle(out: &mut [u8], size: usize) {
    let n = out.len() / size;
    let (mut low, mut high) = (n / 4, (n - n / 4).saturating_sub(1));
    while low < high {
        let (head, tail) = out.split_at_mut(high * size);
        head[low * size..(low + 1) * size].swap_with_slice(&mut tail[..size]);
        (low, high) = (low + 1, high - 1);
    }
}

#[cfg(test)]
mod tests;
