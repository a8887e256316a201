//! The rule that makes floating-point values from the metadata of a tensor.

use passnet_record::{DType, TensorMeta, TensorValue};

use crate::{
    content::Content,
    real::{Real, literal},
    steps,
};

/// Deviation of random values in deviations of the metadata.
pub(crate) const SCALE: f64 = 0.2;

/// Returns whether elements are floating-point numbers, or complex numbers of such parts.
pub(crate) fn has_float_parts(dtype: DType) -> bool {
    dtype.is_float() || matches!(dtype, DType::Complex64 | DType::Complex128)
}

/// Returns whether the metadata describes a distribution of floating-point or complex numbers, not a constant or literals.
pub(crate) fn is_drawn(meta: &TensorMeta) -> bool {
    has_float_parts(meta.dtype) && meta.data.is_none() && meta.std != Some(0.0)
}

/// Rule that makes the floating-point values of one tensor from standard normal variates.
pub(crate) struct FloatRule<'a> {
    pub(crate) data: Option<&'a [TensorValue]>,
    pub(crate) mean: f64,
    pub(crate) std: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) content: Content,
    /// Constants of the graph.
    pub(crate) constants: &'a [f64],
}

impl<'a> FloatRule<'a> {
    pub(crate) fn of(meta: &'a TensorMeta, content: Content) -> Self {
        Self {
            data: meta.data.as_deref(),
            mean: meta.mean.unwrap_or(0.0),
            std: meta.std.unwrap_or(0.1),
            min: meta.min_val.unwrap_or(f64::NEG_INFINITY),
            max: meta.max_val.unwrap_or(f64::INFINITY),
            content,
            constants: &[],
        }
    }

    /// Returns whether values depend on a normal variate. A value that is not finite is replaced by a variate.
    pub(crate) fn draws(&self) -> bool {
        if self.content.varies_constants() {
            return true;
        }
        let fixed = match (self.data, self.content) {
            (Some(_), _) => return false,
            (None, _) if self.std == 0.0 => self.mean,
            (None, Content::Zeros) => 0.0,
            (None, _) => return true,
        };
        !fixed.max(self.min).min(self.max).is_finite()
    }

    /// Returns whether the content changes values that are drawn with [`Self::drawn_std`].
    pub(crate) const fn keeps_drawn(&self) -> bool {
        !matches!(self.content, Content::Zeros | Content::Tiny)
    }

    /// Returns the deviation, in units of [`SCALE`], of the values that are drawn before the content changes them.
    pub(crate) fn drawn_std(&self) -> f64 {
        match self.content {
            Content::Wide | Content::Uneven | Content::Steps | Content::Scaled => self.std.max(1.0) / SCALE,
            _ => self.std,
        }
    }

    pub(crate) fn value<R: Real>(&self, index: u64, normal: f64) -> f64 {
        if let Some(value) = self.data.and_then(|data| data.get(usize::try_from(index).ok()?)) {
            return if self.content.varies_constants() { vary(literal(*value), normal) } else { literal(*value) };
        }
        if self.std == 0.0 {
            let value = if self.content.varies_constants() { vary(self.mean, normal) } else { self.mean };
            return self.within(value, normal, 100.0);
        }
        // The value is rounded after each operation, as in arithmetic of the type itself.
        let scaled = R::round(R::round(R::round(normal as f32 as f64) * self.drawn_std()) * SCALE);
        self.of_drawn::<R>(R::round(scaled + self.mean), normal)
    }

    /// Returns the value of the content that takes the place of a drawn value. `normal` is the variate of this value.
    pub(crate) fn of_drawn<R: Real>(&self, drawn: f64, normal: f64) -> f64 {
        match self.content {
            Content::Random
            | Content::Varied
            | Content::Flipped
            | Content::EvenLarge
            | Content::OddLarge
            | Content::PairLarge
            | Content::OtherPairLarge
            | Content::Spikes
            | Content::Wide
            | Content::Uneven
            | Content::Segments
            | Content::Stripes
            | Content::Scaled
            | Content::Aligned
            | Content::Units
            | Content::Copies
            | Content::Outliers
            | Content::EvenOutliers
            | Content::OddOutliers
            | Content::SingleOutliers
            | Content::OtherSingleOutliers
            | Content::Discrete
            | Content::Divided
            | Content::Columns
            | Content::SingleChanges
            | Content::NearDuplicate
            | Content::NonFinite
            | Content::FarPositive
            | Content::FarNegative
            | Content::Small => self.within(drawn, normal, 100.0),
            Content::Steps => self.within(steps::value(drawn, normal, self.constants), normal, 100.0),
            Content::Zeros => self.within(0.0, normal, 100.0),
            Content::Large => self.within(drawn * 1000.0, normal, R::LARGE),
            Content::Negative => self.within(-drawn.abs(), normal, 100.0),
            Content::Tiny => self.within(normal * R::TINY, normal, 100.0),
        }
    }

    /// Applies the bounds of the tensor's metadata, replaces values that are not finite, and applies the general bound.
    pub(crate) fn within(&self, value: f64, normal: f64, bound: f64) -> f64 {
        let value = value.max(self.min).min(self.max);
        let value = if value.is_finite() { value } else { normal * 0.01 };
        value.clamp(-bound, bound)
    }
}

/// Magnitude of constants below which their share of a result may be within the tolerances: scales of layers begin with 1e-6, for instance.
const NEGLIGIBLE: f64 = 0.1;

/// Magnitude above which constants and literals mark masked elements.
pub(crate) const SENTINEL: f64 = 1e4;

/// Returns a neighbour of a constant: 0.5 to 1.5 times the constant, a small normal variate for zero, or one of the same sign for constants
/// near zero. Sentinels are returned unchanged.
pub(crate) fn vary(constant: f64, normal: f64) -> f64 {
    if constant == 0.0 {
        0.5 * normal
    } else if constant.abs() < NEGLIGIBLE {
        0.5 * normal.abs() * constant.signum()
    } else if constant.abs() <= SENTINEL {
        constant * (1.0 + 0.5 * (normal / 3.0).clamp(-1.0, 1.0))
    } else {
        constant
    }
}
