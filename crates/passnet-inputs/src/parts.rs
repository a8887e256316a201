//! Random values as sums of two parts.
//!
//! Contents of timed calls are such sums (`pools`), because a window of values alone would repeat values of earlier calls. The second part
//! repeats, so values at this distance have a small correlation. Contents of checked calls are constructed in the same way. A kernel
//! could otherwise measure the correlation, and take a shortcut in timed calls only.

use passnet_record::{DType, TensorMeta, add};

use crate::philox::{BATCH, Stream};
use crate::{
    content::Content,
    real::{Real, rounded},
    rule::{FloatRule, SCALE},
};

/// Number of addends, which are repeated behind their end. It is a prime number, so that no size of a dimension divides it.
pub const ADDENDS: u64 = 4099;
/// Shares of the standard deviation that values and addends have. Their squares add up to one. A value hardly depends on the value
/// [`ADDENDS`] elements before it: their correlation is 0.08.
const SHARES: [f64; 2] = [0.96, 0.28];
/// Upper bound of the magnitude of a normal variate (`philox`).
const LARGEST_NORMAL: f64 = 6.77;
/// Bound of all values.
const BOUND: f64 = 100.0;
/// Largest number of bytes of a batch of values.
const BATCH_BYTES: usize = 4 * BATCH * size_of::<f64>();

/// Smallest and largest value of an input, where there are such bounds.
pub type ValueBounds = (Option<f64>, Option<f64>);

/// The two parts of an input's values. Their sums have the normal distribution of the input's rule.
pub struct Parts {
    /// Metadata of the first part, one value for each element.
    pub values: TensorMeta,
    /// Metadata of the second part, [`ADDENDS`] values that are repeated.
    pub addends: TensorMeta,
    /// Bounds of the sums.
    pub bounds: ValueBounds,
}

impl Parts {
    /// Returns the parts; `None` where values are not sums, because the type is not a floating-point type or the general bound of values
    /// takes effect.
    pub fn of(meta: &TensorMeta) -> Option<Self> {
        let (mean, std) = (meta.mean.unwrap_or(0.0), meta.std.unwrap_or(0.1));
        let is_real = matches!(meta.dtype, DType::Float64 | DType::Float32 | DType::Float16 | DType::BFloat16);
        let reach = mean.abs() + LARGEST_NORMAL * SCALE * std.abs() * SHARES.iter().sum::<f64>();
        let is_open = |bound: Option<f64>| bound.is_none_or(f64::is_finite);
        if !(is_real && reach < BOUND && is_open(meta.min_val) && is_open(meta.max_val)) {
            return None;
        }
        let part = |mean, share: f64| TensorMeta {
            mean: Some(mean),
            std: Some(std * share),
            min_val: None,
            max_val: None,
            ..meta.clone()
        };
        let addends =
            TensorMeta { name: format!("{} addends", meta.name), shape: vec![ADDENDS], ..part(0.0, SHARES[1]) };
        let rounded = |bound: f64| rounded(meta.dtype, bound.clamp(-BOUND, BOUND));
        // Bounds that no value can reach are left out.
        let low = meta.min_val.filter(|low| *low > -BOUND).map(rounded);
        let high = meta.max_val.filter(|high| *high < BOUND).map(rounded);
        Some(Self { values: part(mean, SHARES[0]), addends, bounds: (low, high) })
    }

    /// Returns the addends of one tensor. A small tensor needs only as many as it has elements.
    pub(crate) fn addends_of(&self, meta: &TensorMeta) -> TensorMeta {
        let elements = meta.numel().map_or(ADDENDS, |numel| numel.clamp(1, ADDENDS));
        TensorMeta { shape: vec![elements], ..self.addends.clone() }
    }
}

/// Sums of the parts of one tensor. The addends begin at a random place.
pub(crate) struct Sums<'a> {
    rule: FloatRule<'a>,
    addends: Vec<u8>,
    start: u64,
    bounds: ValueBounds,
    dtype: DType,
}

impl<'a> Sums<'a> {
    pub(crate) fn new(parts: &'a Parts, addends: Vec<u8>, seed: u64) -> Self {
        let [start, ..] = Stream::new(seed, &parts.addends.name).group(u64::MAX);
        Self {
            rule: FloatRule::of(&parts.values, Content::Random),
            addends,
            start: u64::from(start),
            bounds: parts.bounds,
            dtype: parts.values.dtype,
        }
    }

    /// Writes the sums of the elements from number `first` on. `normals` are their variates, of at most [`BATCH`] groups.
    pub(crate) fn fill<R: Real>(&self, first: u64, normals: &[f64], out: &mut [u8]) {
        let mut values = [0; BATCH_BYTES];
        let values = &mut values[..out.len()];
        for ((index, &normal), value) in (first..).zip(normals).zip(values.chunks_exact_mut(R::SIZE)) {
            R::store(self.rule.value::<R>(index, normal), value);
        }
        add(self.dtype, values, &self.addends, self.start + first, self.bounds, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AllInputs, Construction, GraphFacts, fill_among, real::load, tests::meta};

    fn correlation(content: Content, construction: Construction) -> f64 {
        let meta = TensorMeta { mean: Some(0.0), std: Some(1.0), ..meta(DType::Float32, &[8, 40_000]) };
        let facts = GraphFacts { construction, ..GraphFacts::default() };
        let bytes = fill_among(&meta, 0, 5, content, AllInputs::of(std::slice::from_ref(&meta), &facts)).unwrap();
        let values: Vec<f64> = bytes.chunks(4).map(f32::load).collect();
        let ordinary = |value: &&f64| value.abs() < 2.0;
        let variance = values.iter().filter(ordinary).map(|value| value * value).sum::<f64>() / values.len() as f64;
        let pairs = values.iter().zip(&values[ADDENDS as usize..]).filter(|(a, b)| ordinary(a) && ordinary(b));
        pairs.map(|(a, b)| a * b).sum::<f64>() / (values.len() as f64 * variance)
    }

    /// A kernel measured the correlation, and took a shortcut in timed calls only.
    #[test]
    fn checked_contents_have_the_correlation_of_timed_contents() {
        for content in
            [Content::Random, Content::Spikes, Content::SingleOutliers, Content::NonFinite, Content::NearDuplicate]
        {
            let found = correlation(content, Construction::Timed);
            assert!((0.06..0.1).contains(&found), "{content}: {found}");
        }
        assert!(correlation(Content::Random, Construction::Published).abs() < 0.02);
    }

    #[test]
    fn bounds_apply_to_sums() {
        let facts = GraphFacts { construction: Construction::Timed, ..GraphFacts::default() };
        for dtype in [DType::Float32, DType::BFloat16] {
            let meta = TensorMeta { min_val: Some(0.125), max_val: Some(0.5), ..meta(dtype, &[5000]) };
            for content in [Content::Random, Content::Large, Content::Negative, Content::Segments] {
                let all = AllInputs::of(std::slice::from_ref(&meta), &facts);
                let bytes = fill_among(&meta, 0, 5, content, all).unwrap();
                let values = bytes.chunks(dtype.size()).map(|bytes| load(dtype, bytes));
                assert!(values.into_iter().all(|value| (0.125..=0.5).contains(&value)), "{content}");
            }
        }
    }
}
