//! Values of a graph's inputs, made from the metadata of its sample. The rules are in `docs/reference/inputs.md`.
//!
//! ```
//! use passnet_inputs::{Content, fill};
//! use passnet_record::{DType, TensorMeta};
//!
//! let meta = TensorMeta {
//!     name: "x".to_owned(),
//!     original_name: None,
//!     shape: vec![2, 3],
//!     dtype: DType::Float32,
//!     device: "cpu".to_owned(),
//!     mean: Some(0.0),
//!     std: Some(1.0),
//!     data: None,
//!     min_val: None,
//!     max_val: None,
//! };
//! let bytes = fill(&meta, 1, Content::Random)?;
//! assert_eq!(bytes.len(), 24);
//! assert_eq!(bytes, fill(&meta, 1, Content::Random)?);
//! # Ok::<(), passnet_inputs::InputError>(())
//! ```
//!
//! The crate only fills memory. It never reads files, clocks or the environment, so equal arguments give equal bytes on every machine. It is built with optimisation in all
//! profiles of the workspace, because each check draws megabytes.

mod aligned;
mod bounded;
mod choice;
mod complex;
mod content;
mod copies;
mod discrete;
mod error;
mod facts;
mod flipped;
mod indices;
mod integers;
mod lines;
mod non_finite;
mod outliers;
mod parts;
mod philox;
mod quantities;
mod quantity;
mod real;
mod rows;
mod rule;
mod segments;
mod steps;
mod units;
mod values;

pub use choice::is_asked;
pub use content::{Content, UnknownContent};
use discrete::is_discrete;
pub use error::InputError;
pub use facts::{AllInputs, Construction, GraphFacts};
use half::{bf16, f16};
use integers::{integer_range, uniform};
pub use parts::{ADDENDS, Parts, ValueBounds};
use passnet_record::{DType, TensorMeta, TensorValue};
pub use philox::Stream;
use real::literal;
use values::{fill_real, in_parallel};

/// Returns the number of bytes of a tensor.
///
/// # Errors
/// If the size overflows.
pub fn byte_size(meta: &TensorMeta) -> Result<usize, InputError> {
    let bytes =
        meta.nbytes().and_then(|bytes| usize::try_from(bytes).ok()).filter(|&bytes| bytes <= isize::MAX as usize);
    bytes.ok_or_else(|| InputError::TooLarge { name: meta.name.clone(), shape: meta.shape.clone() })
}

/// Makes the values of the only input of a graph by the published rules, contiguous and row-major. They depend only on the seed, the name,
/// the metadata and the content.
///
/// # Errors
/// If the metadata contradicts itself.
pub fn fill(meta: &TensorMeta, seed: u64, content: Content) -> Result<Vec<u8>, InputError> {
    fill_among(meta, 0, seed, content, AllInputs::of(std::slice::from_ref(meta), &GraphFacts::default()))
}

/// Makes random values of an input as [`fill`] does, in the construction of timed contents.
///
/// # Errors
/// As [`fill`].
pub fn fill_timed(meta: &TensorMeta, seed: u64) -> Result<Vec<u8>, InputError> {
    let facts = GraphFacts { construction: Construction::Timed, ..GraphFacts::default() };
    fill_among(meta, 0, seed, Content::Random, AllInputs::of(std::slice::from_ref(meta), &facts))
}

/// Makes the values of the input with the given number, as [`fill`] does. They also depend on the number, on the other inputs, and on
/// the facts about the graph.
///
/// # Errors
/// As [`fill`].
pub fn fill_among(
    meta: &TensorMeta,
    number: usize,
    seed: u64,
    content: Content,
    all: AllInputs<'_>,
) -> Result<Vec<u8>, InputError> {
    let content = choice::content_of(content, number, seed, all.metas);
    if content == Content::SingleChanges {
        return single_changes(meta, number, seed, all);
    }
    if content == Content::Copies {
        return copied(meta, number, seed, all);
    }
    let mut out = vec![0; byte_size(meta)?];
    let stream = Stream::new(seed, &meta.name);
    let changes = content.is_discrete() && is_discrete(meta);
    if meta.dtype.is_int()
        && let Some(range) = integer_range(meta)
    {
        let range = range?;
        if !changes {
            fill_range(meta, stream, range, &mut out);
            return Ok(out);
        } else if range.0 < range.1 {
            bounded::fill(meta, seed, content, all, range, &mut out);
            return Ok(out);
        }
    }
    if let Some(data) = &meta.data {
        let expected = meta.numel().unwrap_or(u64::MAX);
        if data.len() as u64 != expected {
            let (name, shape) = (meta.name.clone(), meta.shape.clone());
            return Err(InputError::DataLength { name, shape, expected, found: data.len() });
        }
    }
    if changes {
        discrete::fill(meta, stream, content, all, &mut out);
        return Ok(out);
    }
    match meta.dtype {
        DType::Float64 => fill_real::<f64>(meta, seed, content, all, &mut out),
        DType::Float32 => fill_real::<f32>(meta, seed, content, all, &mut out),
        DType::Float16 => fill_real::<f16>(meta, seed, content, all, &mut out),
        DType::BFloat16 => fill_real::<bf16>(meta, seed, content, all, &mut out),
        DType::Complex64 => complex::fill::<f32>(meta, number, seed, content, all, &mut out),
        DType::Complex128 => complex::fill::<f64>(meta, number, seed, content, all, &mut out),
        DType::Bool => fill_bool(meta, stream, &mut out),
        _ => fill_literal_int(meta, &mut out),
    }
    if meta.dtype.is_float() && outliers::has_outliers(content, number, seed, all.metas) {
        outliers::change(meta, seed, content, &mut out);
    }
    non_finite::place(meta, stream, content, &mut out);
    Ok(out)
}

/// Makes random values of which a few, if they are integers, bools or a mask, are those of a `discrete` content.
fn single_changes(meta: &TensorMeta, number: usize, seed: u64, all: AllInputs<'_>) -> Result<Vec<u8>, InputError> {
    let mut out = fill_among(meta, number, seed, Content::Random, all)?;
    if is_discrete(meta) {
        let changed = fill_among(meta, number, seed, Content::Discrete, all)?;
        discrete::copy_some(meta, Stream::new(seed, &meta.name), &changed, &mut out);
    }
    Ok(out)
}

/// Makes random values of which some rows are those of another input of the same shape.
fn copied(meta: &TensorMeta, number: usize, seed: u64, all: AllInputs<'_>) -> Result<Vec<u8>, InputError> {
    let mut out = fill_among(meta, number, seed, Content::Random, all)?;
    // Bounds of the metadata apply to every content.
    let has_bounds = meta.min_val.is_some() || meta.max_val.is_some();
    if let Some(original) = copies::original(number, all.metas).filter(|_| !has_bounds) {
        let from = fill_among(original, number, seed, Content::Random, all)?;
        copies::change(meta, Stream::new(seed, &meta.name), &from, &mut out);
    }
    Ok(out)
}

/// Fills `out` with integers that are uniform in a range, both ends included.
fn fill_range(meta: &TensorMeta, stream: Stream, range: (i128, i128), out: &mut [u8]) {
    let size = meta.dtype.size();
    in_parallel(out, size, |first, part| {
        for (i, element) in (first..).zip(part.chunks_mut(size)) {
            let [a, b, ..] = stream.group(i);
            element.copy_from_slice(&uniform(range, [a, b]).to_le_bytes()[..size]);
        }
    });
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

#[cfg(test)]
mod tests;
