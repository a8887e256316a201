//! Contents in which integers without a range, and bools, vary.
//!
//! In all other contents, a mask of ones, indices that are all zero and literal positions have the same values. A pass could ignore such
//! inputs.

use passnet_record::{DType, TensorMeta, TensorValue};

use crate::philox::Stream;
use crate::{
    content::Content,
    facts::AllInputs,
    lines::{KINDS, Lines, first_changed, kind_of, other_dimensions},
    quantity,
    real::{literal, store},
    rule::SENTINEL,
};

/// Number of elements in a run of bools, in tensors of few rows and in every third row of the others.
const RUN: u64 = 16;

/// Number of elements of a tensor that `single_changes` contents change.
const PARTS: u64 = 2;

/// Largest number of elements among which one that differs is sought.
const MOST_LOOKED_AT: usize = 4096;

/// Returns whether the tensor has integers, bools, or literals that are a mask. Random integers and bools count because their rows are never
/// all equal.
pub(crate) fn is_discrete(meta: &TensorMeta) -> bool {
    meta.dtype == DType::Bool || meta.dtype.is_int() || meta.dtype.is_float() && is_mask(meta)
}

/// Returns whether the tensor has lines along another dimension than the last one, for `columns` contents.
pub(crate) fn has_columns(meta: &TensorMeta) -> bool {
    is_discrete(meta) && other_dimensions(meta).next().is_some()
}

/// Returns whether a tensor of literals has both masked and ordinary elements.
fn is_mask(meta: &TensorMeta) -> bool {
    let literals = || meta.data.iter().flatten().map(|&value| literal(value).abs());
    literals().any(|value| value > SENTINEL) && literals().any(|value| value <= SENTINEL)
}

/// Fills a tensor for which [`is_discrete`] is true, and whose integers have no range. Integers are drawn from the literals, so they stay valid
/// indices. If all literals are equal, half of the elements get another value: zero, or one instead of zero. If there are neither literals
/// nor bounds, they are below the number of common indices; in `divided` contents, they are 0 and 1.
///
/// Indices of tables of known sizes are any valid ones in their place, or in the place of half of the literals. An input that is neither an index nor a size has integers of all magnitudes and both signs in their place, or in the place of half of
/// its literals.
///
/// In `divided` contents, each row has such values from a random place on only. Before it, values are those of random contents, and bools are
/// all equal; the bools behind it are the others. In `columns` contents, the same applies to the lines of another dimension. Two of three
/// such lines of bools are all equal.
pub(crate) fn fill(meta: &TensorMeta, stream: Stream, content: Content, all: AllInputs<'_>, out: &mut [u8]) {
    let lines = Lines::of(meta, content, &stream);
    if meta.dtype == DType::Bool {
        return fill_bools(stream, content, lines, out);
    }
    let size = meta.dtype.size();
    let is_changed = |index: u64| {
        let (line, place) = lines.at(index);
        content == Content::Discrete || place >= first_changed(line, lines.length, &stream)
    };
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
    let quantities = quantity::Quantities::of(meta, content, all.facts);
    let indices = all.facts.indices.iter().find(|indices| indices.name == meta.name);
    let indices = indices.filter(|_| meta.min_val.is_none() && meta.max_val.is_none());
    let has_literals = !values.is_empty();
    let pool = match values.first() {
        // A table may have fewer rows than the least dimension of the other inputs, and the graph then raises an exception.
        None if content == Content::Divided => vec![0, 1],
        None => (0..all.indices).collect(),
        Some(&first) if values.iter().all(|&value| value == first) => vec![first, i64::from(first == 0)],
        Some(_) => values,
    };
    for (index, element) in (0_u64..).zip(out.chunks_mut(size)) {
        let words @ [word, ..] = stream.group(index);
        // Half of the literals stay literals.
        let is_new = !has_literals || words[3].is_multiple_of(2);
        let value = match (&quantities, indices) {
            _ if !is_changed(index) => fixed.get(index as usize % fixed.len().max(1)).copied().unwrap_or(0),
            (Some(quantities), _) if is_new => quantities.value(words),
            (_, Some(indices)) if is_new => indices.value(words),
            _ => pool[word as usize % pool.len()],
        };
        element.copy_from_slice(&value.to_ne_bytes()[..size]);
    }
}

/// Replaces a few elements, each in another part of the tensor, by those of another content of it, where these differ.
pub(crate) fn copy_some(meta: &TensorMeta, stream: Stream, from: &[u8], out: &mut [u8]) {
    let size = meta.dtype.size();
    let count = (out.len() / size) as u64;
    let parts = PARTS.min(count);
    for part in 0..parts {
        let (first, end) = (count * part / parts, count * (part + 1) / parts);
        let [place, ..] = stream.group(u64::MAX / 4 + part);
        let start = first + u64::from(place) % (end - first);
        let bytes = |index: u64| index as usize * size..(index as usize + 1) * size;
        // Some elements of a discrete content are those of random contents.
        let differs = |index: &u64| from[bytes(*index)] != out[bytes(*index)];
        if let Some(index) = (start..end).take(MOST_LOOKED_AT).find(differs) {
            out[bytes(index)].copy_from_slice(&from[bytes(index)]);
        }
    }
}

/// Fills a tensor of bools. Lines of a mask are often all true or all false, and a pass must be right for these too. Of three neighbouring
/// lines, one is all true and one all false. In `discrete` contents, the third one, and all of a tensor of fewer lines, consists of such
/// runs. In the other contents, it changes at one place.
fn fill_bools(stream: Stream, content: Content, lines: Lines, out: &mut [u8]) {
    let has_kinds = content != Content::Divided && lines.count >= KINDS;
    for (index, element) in (0_u64..).zip(out) {
        let (line, place) = lines.at(index);
        let kind = if has_kinds { kind_of(line, &stream, u64::MAX) } else { KINDS - 1 };
        let value = match kind {
            0 => false,
            1 => true,
            _ if content != Content::Discrete => {
                let begins_true = !stream.group(u64::MAX - line)[1].is_multiple_of(2);
                begins_true == (place < first_changed(line, lines.length, &stream))
            }
            _ => match kind_of(index / RUN, &stream, u64::MAX / 2) {
                0 => false,
                1 => true,
                _ => stream.group(index)[0].is_multiple_of(2),
            },
        };
        *element = u8::from(value);
    }
}

fn whole(value: TensorValue) -> i64 {
    match value {
        TensorValue::Bool(value) => i64::from(value),
        TensorValue::Int(value) => value,
        TensorValue::Float(value) => value as i64,
    }
}
