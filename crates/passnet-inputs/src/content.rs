use std::{fmt, str::FromStr};

/// Kind of values in a set of inputs. `docs/reference/inputs.md` gives the reason for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// Values that the sample's metadata describes. The only content that counts for the tolerance.
    Random,
    /// Like `Random`, but tensors that are constant or literal in the metadata vary as well.
    Varied,
    /// Like `Varied`, but constants and literals also have the other sign, or are several times as large.
    Flipped,
    Zeros,
    /// Like `Random`, with a standard deviation of at least 1. The metadata often describes a smaller range than functions are made for.
    Wide,
    /// Like `Wide`, but rows differ: some are small, mostly zero, or nearly equal to the row before.
    Uneven,
    /// Multiples of one half with the deviation of `Wide`, and constants of the graph: values at which the graph decides.
    Steps,
    /// Like `Random`, with very large values in a few rows.
    Spikes,
    /// Like `Random`, but in a segment of each long dimension, values have another mean and a smaller deviation.
    Segments,
    /// Like `Segments`, but with short parts that repeat along each dimension.
    Stripes,
    /// Like `Wide`, but small: each tensor, and each part of it along its first dimension, has its own magnitude.
    Scaled,
    /// Like `Random`, but a few rows of all tensors are alike, and a few lines along another dimension.
    Aligned,
    /// Values near 1 and -1 in some rows, and values of many magnitudes in others.
    Units,
    /// Like `Random`, but tensors of the same shape have equal rows, and rows that differ in one element.
    Copies,
    /// Like `Random`, with a small block of values as in `Wide` in each tensor.
    Outliers,
    /// Like `Outliers`, with a block in every second floating-point tensor only, from the first one on.
    EvenOutliers,
    /// Like `EvenOutliers`, with blocks in the other tensors.
    OddOutliers,
    /// Like `Outliers`, with single elements in place of blocks, in two of four floating-point tensors only, from the first one on. Constants
    /// change there too.
    SingleOutliers,
    /// Like `SingleOutliers`, in the other tensors.
    OtherSingleOutliers,
    /// Like `Random`, but integers that the metadata fixes vary as well, and bools and bounded integers are not independent.
    Discrete,
    /// Like `Discrete`, but rows begin as in the metadata, or with equal values, and change at one place.
    Divided,
    /// Like `Discrete` and `Divided`, but along another dimension than the last one.
    Columns,
    /// Like `Random`, but a few integers and bools are as in `Discrete`.
    SingleChanges,
    /// A thousand times the random values, within the type's range.
    Large,
    /// Like `Large` in every second drawn tensor, from the first one on, and like `Random` in the others.
    EvenLarge,
    /// Like `EvenLarge`, with large values in the other tensors.
    OddLarge,
    /// Like `EvenLarge`, with large values in two of four drawn tensors, from the first one on.
    PairLarge,
    /// Like `PairLarge`, with large values in the other tensors.
    OtherPairLarge,
    /// The random values, all with a negative sign.
    Negative,
    /// Values around the smallest normal number of the type.
    Tiny,
    /// The random content of the same seed with the middle half of each tensor reversed.
    NearDuplicate,
    /// Like `Random`, with a few elements of each floating-point tensor replaced by NaN and both infinities.
    NonFinite,
    /// Like `NonFinite`, with large numbers in place of NaN and infinities. Those in place of infinities have their signs, the one in place of
    /// NaN is positive. Only the reference gets it.
    FarPositive,
    /// Like `FarPositive`, with other magnitudes, and a negative number in place of NaN.
    FarNegative,
    /// Like `FarPositive`, with numbers of magnitudes below 1.
    Small,
}

impl Content {
    /// Contents that are equal to `NonFinite` with the same seed, except for the elements that are NaN or infinite there.
    pub const FINITE: [Self; 3] = [Self::FarPositive, Self::FarNegative, Self::Small];

    /// All contents except the random one, that candidates get.
    pub const ADVERSARIAL: [Self; 31] = [
        Self::Varied,
        Self::Flipped,
        Self::Wide,
        Self::Uneven,
        Self::Steps,
        Self::Spikes,
        Self::Segments,
        Self::Stripes,
        Self::Scaled,
        Self::Aligned,
        Self::Units,
        Self::Copies,
        Self::Outliers,
        Self::EvenOutliers,
        Self::OddOutliers,
        Self::SingleOutliers,
        Self::OtherSingleOutliers,
        Self::Discrete,
        Self::Divided,
        Self::Columns,
        Self::SingleChanges,
        Self::Zeros,
        Self::Large,
        Self::EvenLarge,
        Self::OddLarge,
        Self::PairLarge,
        Self::OtherPairLarge,
        Self::Negative,
        Self::Tiny,
        Self::NearDuplicate,
        Self::NonFinite,
    ];

    /// Returns whether constants and literals vary.
    pub(crate) const fn varies_constants(self) -> bool {
        matches!(self, Self::Varied | Self::Flipped)
    }

    /// Returns whether integers and bools do not follow their rule.
    pub const fn is_discrete(self) -> bool {
        matches!(self, Self::Discrete | Self::Divided | Self::Columns | Self::SingleChanges)
    }

    /// Returns whether all values have ordinary magnitudes, but not those that the metadata describes.
    pub const fn is_near(self) -> bool {
        matches!(
            self,
            Self::Wide
                | Self::Uneven
                | Self::Steps
                | Self::Segments
                | Self::Stripes
                | Self::Scaled
                | Self::Aligned
                | Self::Units
                | Self::Copies
                | Self::Outliers
                | Self::EvenOutliers
                | Self::OddOutliers
                | Self::SingleOutliers
                | Self::OtherSingleOutliers
        )
    }

    /// Returns whether some or all values have magnitudes far from those that the metadata describes.
    pub const fn is_far(self) -> bool {
        matches!(
            self,
            Self::Spikes
                | Self::Large
                | Self::EvenLarge
                | Self::OddLarge
                | Self::PairLarge
                | Self::OtherPairLarge
                | Self::Tiny
                | Self::NonFinite
        )
    }

    /// Returns the name in settings and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Varied => "varied",
            Self::Flipped => "flipped",
            Self::Wide => "wide",
            Self::Uneven => "uneven",
            Self::Steps => "steps",
            Self::Spikes => "spikes",
            Self::Segments => "segments",
            Self::Stripes => "stripes",
            Self::Scaled => "scaled",
            Self::Aligned => "aligned",
            Self::Units => "units",
            Self::Copies => "copies",
            Self::Outliers => "outliers",
            Self::EvenOutliers => "even_outliers",
            Self::OddOutliers => "odd_outliers",
            Self::SingleOutliers => "single_outliers",
            Self::OtherSingleOutliers => "other_single_outliers",
            Self::Discrete => "discrete",
            Self::Divided => "divided",
            Self::Columns => "columns",
            Self::SingleChanges => "single_changes",
            Self::Zeros => "zeros",
            Self::Large => "large",
            Self::EvenLarge => "even_large",
            Self::OddLarge => "odd_large",
            Self::PairLarge => "pair_large",
            Self::OtherPairLarge => "other_pair_large",
            Self::Negative => "negative",
            Self::Tiny => "tiny",
            Self::NearDuplicate => "near_duplicate",
            Self::NonFinite => "non_finite",
            Self::FarPositive => "far_positive",
            Self::FarNegative => "far_negative",
            Self::Small => "small",
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A content name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown input content `{0}`; known are {known}", known = Content::ADVERSARIAL.map(Content::name).join(", "))]
pub struct UnknownContent(pub String);

impl FromStr for Content {
    type Err = UnknownContent;

    fn from_str(name: &str) -> Result<Self, UnknownContent> {
        let all = [Self::Random].into_iter().chain(Self::ADVERSARIAL);
        all.into_iter().find(|content| content.name() == name).ok_or_else(|| UnknownContent(name.to_owned()))
    }
}
