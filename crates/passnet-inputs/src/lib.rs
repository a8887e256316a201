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
mod content;
mod discrete;
mod error;
mod facts;
mod integers;
mod lines;
mod non_finite;
mod outliers;
mod parts;
mod philox;
mod quantities;
mod real;
mod rows;
mod rule;
mod segments;
mod steps;

use std::num::NonZero;

pub use content::{Content, UnknownContent};
pub use discrete::{has_columns, is_discrete};
pub use error::InputError;
pub use facts::{AllInputs, Construction, GraphFacts};
use half::{bf16, f16};
use integers::{integer_range, uniform};
use parts::Sums;
pub use parts::{ADDENDS, Parts, ValueBounds};
use passnet_record::{DType, TensorMeta, TensorValue};
use real::{Real, literal};
use rule::FloatRule;
use rule::is_drawn;

use philox::BATCH;
pub use philox::Stream;

/// Tensors with more elements than this are filled by several threads.
const PARALLEL_ELEMENTS: usize = 1 << 20;

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
    if content == Content::SingleChanges {
        return single_changes(meta, number, seed, all);
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
        DType::Float64 => fill_real::<f64>(meta, seed, content, all, &mut out)?,
        DType::Float32 => fill_real::<f32>(meta, seed, content, all, &mut out)?,
        DType::Float16 => fill_real::<f16>(meta, seed, content, all, &mut out)?,
        DType::BFloat16 => fill_real::<bf16>(meta, seed, content, all, &mut out)?,
        _ => fill_by_type(meta, seed, content, all, &mut out),
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

fn fill_by_type(meta: &TensorMeta, seed: u64, content: Content, all: AllInputs<'_>, out: &mut [u8]) {
    match meta.dtype {
        DType::Complex64 => fill_complex::<f32>(meta, seed, content, all, out),
        DType::Complex128 => fill_complex::<f64>(meta, seed, content, all, out),
        DType::Bool => fill_bool(meta, Stream::new(seed, &meta.name), out),
        _ => fill_literal_int(meta, out),
    }
}

/// Splits `out` into parts of whole groups of four elements and fills the parts, on several threads if `out` is large. `fill` gets the
/// index of the part's first element.
fn in_parallel(out: &mut [u8], element: usize, fill: impl Fn(u64, &mut [u8]) + Sync) {
    if out.len() / element < PARALLEL_ELEMENTS {
        // The number of threads is read from files of the system, which takes longer than a small tensor.
        return fill(0, out);
    }
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let part = out.len().div_ceil(threads).next_multiple_of(4 * element);
    std::thread::scope(|scope| {
        for (i, chunk) in out.chunks_mut(part).enumerate() {
            let fill = &fill;
            scope.spawn(move || fill((i * part / element) as u64, chunk));
        }
    });
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

fn fill_real<R: Real>(
    meta: &TensorMeta,
    seed: u64,
    content: Content,
    all: AllInputs<'_>,
    out: &mut [u8],
) -> Result<(), InputError> {
    let stream = Stream::new(seed, &meta.name);
    let rule = FloatRule { constants: &all.facts.floats, ..FloatRule::of(meta, content) };
    let has_parts = all.facts.construction == Construction::Timed && is_drawn(meta) && rule.keeps_drawn();
    let parts = if has_parts { Parts::of(&TensorMeta { std: Some(rule.drawn_std()), ..meta.clone() }) } else { None };
    let sums = match &parts {
        Some(parts) => Some(Sums::new(parts, fill(&parts.addends_of(meta), seed, Content::Random)?, seed)),
        None => None,
    };
    in_parallel(out, R::SIZE, |first, part| {
        let mut normals = [[0.0; 4]; BATCH];
        for (batch, elements) in (0..).zip(part.chunks_mut(4 * BATCH * R::SIZE)) {
            let group = first / 4 + batch * BATCH as u64;
            if rule.draws() {
                stream.fill_normals(group, &mut normals);
            }
            if let Some(sums) = &sums {
                sums.fill::<R>(group * 4, normals.as_flattened(), elements);
            }
            let values = (group * 4..).zip(normals.as_flattened());
            for ((index, &normal), element) in values.zip(elements.chunks_exact_mut(R::SIZE)) {
                let value = match sums {
                    Some(_) => rule.of_drawn::<R>(R::load(element), normal),
                    None => rule.value::<R>(index, normal),
                };
                R::store(value, element);
            }
        }
    });
    if content == Content::NearDuplicate && meta.data.is_none() {
        reverse_middle(out, R::SIZE);
    }
    if !is_drawn(meta) {
        return Ok(());
    }
    match content {
        Content::Uneven | Content::Spikes | Content::Scaled => {
            rows::change::<R>(meta, stream, (content, all.has_rows), out, |value| rule.within(value, 0.0, R::SPIKE));
        }
        Content::Segments | Content::Stripes => {
            let shift = segments::shift(content, stream) * rule.std * rule::SCALE;
            let inside = |value| rule.within((value - rule.mean) * segments::FACTOR + rule.mean + shift, 0.0, 100.0);
            segments::change::<R>(meta, seed, content, out, inside);
        }
        Content::Aligned => {
            let value = |deviations| rule.within(rule.mean + deviations * rule.std * rule::SCALE, 0.0, 100.0);
            aligned::change::<R>(meta, seed, out, value);
        }
        _ => {}
    }
    Ok(())
}

/// Fills a complex tensor. Real parts, and the imaginary parts of drawn tensors, are as for a real type. The imaginary parts of constants and
/// literals are those of a constant of zero. By the published rules, all imaginary parts are zero.
fn fill_complex<R: Real>(meta: &TensorMeta, seed: u64, content: Content, all: AllInputs<'_>, out: &mut [u8]) {
    let constant = TensorMeta { mean: None, std: Some(0.0), data: None, min_val: None, max_val: None, ..meta.clone() };
    let is_drawn = meta.data.is_none() && meta.std != Some(0.0);
    let rules = [meta, if is_drawn { meta } else { &constant }].map(|meta| FloatRule::of(meta, content));
    let streams = [Stream::new(seed, &meta.name), Stream::new(seed, &format!("{} imaginary parts", meta.name))];
    let parts = if all.facts.construction == Construction::Timed { 2 } else { 1 };
    in_parallel(out, 2 * R::SIZE, |first, part| {
        for (i, element) in (first..).zip(part.chunks_mut(2 * R::SIZE)) {
            for ((rule, stream), number) in rules.iter().zip(&streams).zip(element.chunks_mut(R::SIZE)).take(parts) {
                let normal = stream.normals(i / 4)[(i % 4) as usize];
                R::store(rule.value::<R>(i, normal), number);
            }
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
