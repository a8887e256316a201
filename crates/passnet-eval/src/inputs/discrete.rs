//! Contents in which integers and bools that the metadata fixes vary.
//!
//! In all other contents, a mask of ones, indices that are all zero and literal positions have the same values. A pass could ignore such
//! inputs.

use passnet_record::{DType, TensorMeta, TensorValue};

use super::{
    content::Content,
    real::{literal, store},
};
use crate::philox::Stream;

/// Number of elements in a run of bools, in tensors of few rows and in every third row of the others.
const RUN: u64 = 16;

/// Number of kinds of rows and runs: all false, all true, and mixed.
const KINDS: u64 = 3;

/// Magnitude above which literals mark masked elements. `varied` contents do not change them.
const SENTINEL: f64 = 1e4;

/// Returns whether the tensor has integers that are the same in all random contents, bools, or literals that are a mask. Random bools
/// count because their rows are never all false.
pub(crate) fn is_fixed(meta: &TensorMeta) -> bool {
    // A range of one number is a constant.
    let is_range = matches!((meta.min_val, meta.max_val), (Some(min), Some(max)) if min != max);
    meta.dtype == DType::Bool || meta.dtype.is_int() && !is_range || meta.dtype.is_float() && is_mask(meta)
}

/// Returns whether a tensor of literals has both masked and ordinary elements.
fn is_mask(meta: &TensorMeta) -> bool {
    let literals = || meta.data.iter().flatten().map(|&value| literal(value).abs());
    literals().any(|value| value > SENTINEL) && literals().any(|value| value <= SENTINEL)
}

/// Returns the number of valid indices of every dimension of the tensors with more than one element, up to 100. At least 2.
pub(crate) fn common_indices(metas: &[TensorMeta]) -> i64 {
    let sizes = metas.iter().filter(|meta| meta.dtype.is_float()).flat_map(|meta| &meta.shape);
    sizes.filter(|&&size| size > 1).min().map_or(2, |&size| size.min(100).cast_signed())
}

/// Fills a tensor for which [`is_fixed`] is true. Integers are drawn from the literals, so they stay valid indices. If all literals are
/// equal, half of the elements get another value: zero, or one instead of zero. If there are neither literals nor bounds, they are below `indices`.
///
/// In `divided` contents, each row has such values from a random place on only. Before it, values are those of random contents, and bools are
/// all equal; the bools behind it are the others.
pub(super) fn fill(meta: &TensorMeta, stream: Stream, content: Content, indices: i64, out: &mut [u8]) {
    let size = meta.dtype.size();
    let width = meta.shape.last().map_or(1, |&width| width.max(1));
    // A column is one row.
    let width = if width == 1 { (out.len() / size).max(1) as u64 } else { width };
    let is_changed =
        |index: u64| content != Content::Divided || index % width >= first_changed(index / width, width, &stream);
    if meta.dtype.is_float() {
        // Literals at other places: a pass could know which elements are masked.
        let values: Vec<f64> = meta.data.iter().flatten().map(|&value| literal(value)).collect();
        for (index, element) in (0_u64..).zip(out.chunks_mut(size)) {
            let [word, ..] = stream.group(index);
            let place = if is_changed(index) { word as usize % values.len() } else { index as usize % values.len() };
            store(meta.dtype, values[place], element);
        }
        return;
    }
    let mut values: Vec<i64> = meta.data.iter().flatten().map(|&value| whole(value)).collect();
    if let (true, Some(only), Some(_)) = (values.is_empty(), meta.min_val, meta.max_val) {
        values.push(only as i64);
    }
    let fixed = values.clone();
    let pool = match values.first() {
        None => (0..indices).collect(),
        Some(&first) if values.iter().all(|&value| value == first) => vec![first, i64::from(first == 0)],
        Some(_) => values,
    };
    let has_rows = (out.len() / size) as u64 / width >= KINDS;
    for (index, element) in (0_u64..).zip(out.chunks_mut(size)) {
        let [word, ..] = stream.group(index);
        let value = if meta.dtype == DType::Bool && content == Content::Divided {
            i64::from(is_changed(index) == stream.group(u64::MAX - index / width)[1].is_multiple_of(2))
        } else if meta.dtype == DType::Bool {
            i64::from(bool_at(index, width, has_rows, &stream))
        } else if !is_changed(index) {
            fixed.get(index as usize % fixed.len().max(1)).copied().unwrap_or(0)
        } else {
            pool[word as usize % pool.len()]
        };
        element.copy_from_slice(&value.to_ne_bytes()[..size]);
    }
}

/// Returns an element of a tensor of bools. Rows of a mask are often all true or all false, and a pass must be right for these too. Of
/// three neighbouring rows, one is all true and one all false. The third one, and all of a tensor of fewer rows, consists of such runs.
fn bool_at(index: u64, width: u64, has_rows: bool, stream: &Stream) -> bool {
    let (row, run) = (index / width, index / RUN);
    let kind = if has_rows { kind_of(row, stream, u64::MAX) } else { 2 };
    match if kind == 2 { kind_of(run, stream, u64::MAX / 2) } else { kind } {
        0 => false,
        1 => true,
        _ => stream.group(index)[0].is_multiple_of(2),
    }
}

/// Returns the kind of a row or run. Each three of them have all kinds, in random order, so that no tensor lacks one by chance.
fn kind_of(number: u64, stream: &Stream, top: u64) -> u64 {
    let [first, order, ..] = stream.group(top - number / KINDS);
    let place = number % KINDS;
    let place = if order.is_multiple_of(2) { place } else { KINDS - 1 - place };
    (place + u64::from(first)) % KINDS
}

/// Returns the first changed index of a row in `divided` contents. The number of elements in front of it, or behind it, is often small: a pass
/// may look at most of a row. A pass looks at the first elements rather than at the last ones, so the latter change more often.
fn first_changed(row: u64, width: u64, stream: &Stream) -> u64 {
    let [length, place, kind, _] = stream.group(u64::MAX / 2 - row);
    // Uniform in the logarithm, between 1 and the width.
    let most = width >> (length % width.ilog2().max(1));
    let few = 1 + u64::from(place) % most.max(1);
    if kind % 4 == 0 { few % width } else { width - few.min(width) }
}

fn whole(value: TensorValue) -> i64 {
    match value {
        TensorValue::Bool(value) => i64::from(value),
        TensorValue::Int(value) => value,
        TensorValue::Float(value) => value as i64,
    }
}
