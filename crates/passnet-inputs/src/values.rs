//! Values of tensors of floating-point numbers.

use std::num::NonZero;

use passnet_record::TensorMeta;

use crate::{
    aligned,
    content::Content,
    facts::{AllInputs, Construction, GraphFacts},
    flipped,
    parts::{Parts, Sums},
    philox::{BATCH, Stream},
    real::Real,
    rows,
    rule::{FloatRule, SCALE, is_drawn},
    segments, units,
};

/// Tensors with more elements than this are filled by several threads.
pub(crate) const PARALLEL_ELEMENTS: usize = 1 << 20;

/// Fills a tensor with the values of a content.
pub(crate) fn fill_real<R: Real>(meta: &TensorMeta, seed: u64, content: Content, all: AllInputs<'_>, out: &mut [u8]) {
    fill_values::<R>(meta, seed, content, all.facts, out);
    change_parts::<R>(meta, (seed, Stream::new(seed, &meta.name)), content, all, out);
}

/// Fills `out` with the values of a content that do not depend on those of other elements.
pub(crate) fn fill_values<R: Real>(meta: &TensorMeta, seed: u64, content: Content, facts: &GraphFacts, out: &mut [u8]) {
    let stream = Stream::new(seed, &meta.name);
    let rule = FloatRule { constants: &facts.floats, ..FloatRule::of(meta, content) };
    let has_parts = facts.construction == Construction::Timed && is_drawn(meta) && rule.keeps_drawn();
    let parts = if has_parts { Parts::of(&TensorMeta { std: Some(rule.drawn_std()), ..meta.clone() }) } else { None };
    let sums = parts.as_ref().map(|parts| {
        let meta = parts.addends_of(meta);
        let mut addends = vec![0; meta.shape[0] as usize * R::SIZE];
        fill_values::<R>(&meta, seed, Content::Random, &GraphFacts::default(), &mut addends);
        Sums::new(parts, addends, seed)
    });
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
}

/// Makes the changes of a content that concern some elements, or parts of a tensor. Rows, and parts along the first dimension, are chosen
/// by the stream `rows`.
pub(crate) fn change_parts<R: Real>(
    meta: &TensorMeta,
    (seed, rows): (u64, Stream),
    content: Content,
    all: AllInputs<'_>,
    out: &mut [u8],
) {
    let (stream, rule) = (Stream::new(seed, &meta.name), FloatRule::of(meta, content));
    match content {
        Content::Flipped if !is_drawn(meta) => flipped::change::<R>(&rule, stream, out),
        _ if !is_drawn(meta) => {}
        Content::Uneven | Content::Spikes | Content::Scaled => {
            // Spikes of two parts of complex numbers are different elements.
            let stream = if content == Content::Spikes { stream } else { rows };
            rows::change::<R>(meta, stream, (content, all.has_rows), out, |value| rule.within(value, 0.0, R::SPIKE));
        }
        Content::Segments | Content::Stripes => {
            let shift = segments::shift(content, stream) * rule.std * SCALE;
            let inside = |value| rule.within((value - rule.mean) * segments::FACTOR + rule.mean + shift, 0.0, 100.0);
            segments::change::<R>(meta, seed, content, out, inside);
        }
        Content::Aligned => {
            let value = |deviations| rule.within(rule.mean + deviations * rule.std * SCALE, 0.0, 100.0);
            aligned::change::<R>(meta, seed, out, value);
        }
        Content::Units => {
            let deviation = rule.std * SCALE;
            let deviations = |value: f64| if deviation > 0.0 { (value - rule.mean) / deviation } else { 0.0 };
            units::change::<R>(meta, stream, out, deviations, |value| rule.within(value, 0.0, 100.0));
        }
        _ => {}
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

/// Splits `out` into parts of whole groups of four elements and fills the parts, on several threads if `out` is large. `fill` gets the
/// index of the part's first element.
pub(crate) fn in_parallel(out: &mut [u8], element: usize, fill: impl Fn(u64, &mut [u8]) + Sync) {
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
