//! Complex numbers: two real tensors, one of real and one of imaginary parts.

use passnet_record::{DType, TensorMeta, TensorValue};

use crate::{
    content::Content,
    facts::{AllInputs, Construction, GraphFacts},
    non_finite, outliers,
    philox::Stream,
    real::Real,
    rule::is_drawn,
    values::{change_parts, fill_values},
};

/// Fills a complex tensor. Real parts, and the imaginary parts of drawn tensors, are as for a real type. The imaginary parts of constants and
/// literals are those of a constant of zero. By the published rules, all imaginary parts are zero. Rows of real and of imaginary parts are
/// changed together, other elements separately.
pub(crate) fn fill<R: Real>(
    meta: &TensorMeta,
    number: usize,
    seed: u64,
    content: Content,
    all: AllInputs<'_>,
    out: &mut [u8],
) {
    // The values of one element are no sums in any construction.
    let facts = GraphFacts { construction: Construction::Published, ..all.facts.clone() };
    let rows = Stream::new(seed, &meta.name);
    let has_outliers = outliers::has_outliers(content, number, seed, all.metas);
    let is_free = meta.min_val.is_none() && meta.max_val.is_none();
    let parts = if all.facts.construction == Construction::Timed { 2 } else { 1 };
    for (place, part) in parts_of(meta).iter().enumerate().take(parts) {
        let mut values = vec![0; out.len() / 2];
        fill_values::<R>(part, seed, content, &facts, &mut values);
        change_parts::<R>(part, (seed, rows), content, all, &mut values);
        if has_outliers {
            outliers::change(part, seed, content, &mut values);
        }
        if is_free {
            non_finite::place(part, Stream::new(seed, &part.name), content, &mut values);
        }
        for (element, value) in out.chunks_exact_mut(2 * R::SIZE).zip(values.chunks_exact(R::SIZE)) {
            element[place * R::SIZE..][..R::SIZE].copy_from_slice(value);
        }
    }
}

/// Returns the metadata of the real and of the imaginary parts.
fn parts_of(meta: &TensorMeta) -> [TensorMeta; 2] {
    let dtype = if meta.dtype == DType::Complex128 { DType::Float64 } else { DType::Float32 };
    let real = TensorMeta { dtype, ..meta.clone() };
    let imaginary = TensorMeta { name: format!("{} imaginary parts", meta.name), ..real.clone() };
    if is_drawn(meta) {
        return [real, imaginary];
    }
    let data = meta.data.as_ref().map(|data| vec![TensorValue::Float(0.0); data.len()]);
    [real, TensorMeta { mean: None, std: Some(0.0), data, min_val: None, max_val: None, ..imaginary }]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{fill_among, tests::meta};

    /// Returns the real and the imaginary parts.
    fn parts(metas: &[TensorMeta], number: usize, seed: u64, content: Content) -> [Vec<f64>; 2] {
        let facts = GraphFacts { construction: Construction::Timed, ..GraphFacts::default() };
        let bytes = fill_among(&metas[number], number, seed, content, AllInputs::of(metas, &facts)).unwrap();
        let size = metas[number].dtype.size() / 2;
        let part = |part: usize| {
            let parts = bytes.chunks(size).skip(part).step_by(2);
            parts.map(|bytes| if size == 4 { f32::load(bytes) } else { f64::load(bytes) }).collect()
        };
        [part(0), part(1)]
    }

    fn rotations() -> TensorMeta {
        TensorMeta { mean: Some(0.0), std: Some(1.0), ..meta(DType::Complex64, &[64, 48]) }
    }

    /// A pass that is right for small complex numbers, or for one kind of rows, was accepted.
    #[test]
    fn contents_change_both_parts_of_complex_numbers() {
        let metas = [rotations()];
        let random = parts(&metas, 0, 3, Content::Random);
        for content in [
            Content::Uneven,
            Content::Spikes,
            Content::Segments,
            Content::Stripes,
            Content::Scaled,
            Content::Aligned,
            Content::Outliers,
            Content::EvenOutliers,
            Content::SingleOutliers,
            Content::NonFinite,
        ] {
            let changed = parts(&metas, 0, 3, content);
            assert!((0..2).all(|part| changed[part] != random[part]), "{content}");
            assert_ne!(changed[0], changed[1], "{content}");
        }
        let spikes = parts(&metas, 0, 3, Content::Spikes);
        assert!(spikes.iter().all(|part| part.iter().any(|value| *value > 70_000.0)));
        let none = parts(&metas, 0, 3, Content::NonFinite);
        assert!(none.iter().all(|part| part.iter().filter(|value| !value.is_finite()).count() == 3));
        // Some rows of complex numbers are zero except for an element.
        let uneven = parts(&metas, 0, 3, Content::Uneven);
        let zeros =
            |row: usize| (row * 48..row * 48 + 48).filter(|&at| uneven.iter().all(|part| part[at] == 0.0)).count();
        assert!((0..64).any(|row| zeros(row) >= 46));
    }

    #[test]
    fn complex_inputs_count_among_those_with_outliers() {
        let metas = [rotations(), TensorMeta { name: "in_1".to_owned(), ..rotations() }];
        for (content, changed) in [(Content::EvenOutliers, [true, false]), (Content::OddOutliers, [false, true])] {
            let differs = |number| parts(&metas, number, 3, content) != parts(&metas, number, 3, Content::Random);
            assert_eq!([0, 1].map(differs), changed, "{content}");
        }
    }

    #[test]
    fn literals_are_flipped_and_stay_finite() {
        let data = Some(vec![TensorValue::Float(1.0); 40]);
        let metas = [TensorMeta { data, std: Some(0.0), ..meta(DType::Complex128, &[40]) }];
        assert_eq!(parts(&metas, 0, 3, Content::NonFinite), [vec![1.0; 40], vec![0.0; 40]]);
        let flipped = parts(&metas, 0, 3, Content::Flipped);
        assert!(flipped.iter().all(|part| part.iter().any(|value| *value < 0.0)), "{flipped:?}");
    }

    proptest! {
        #[test]
        fn bounds_hold_and_values_depend_on_the_seed_only(low in 0.01..1.0, seed: u64) {
            let metas = [TensorMeta { min_val: Some(low), ..rotations() }];
            for content in Content::ADVERSARIAL {
                let found = parts(&metas, 0, seed, content);
                prop_assert_eq!(&found, &parts(&metas, 0, seed, content));
                prop_assert!(found.iter().flatten().all(|value| *value >= f64::from(low as f32)), "{}", content);
            }
        }
    }
}
