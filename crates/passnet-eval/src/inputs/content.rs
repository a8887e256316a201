use std::{fmt, str::FromStr};

/// Kind of values in a set of inputs. `docs/reference/inputs.md` gives the reason for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// Values that the sample's metadata describes. The only content that counts for the tolerance.
    Random,
    /// Like `Random`, but tensors that are constant or literal in the metadata vary as well.
    Varied,
    Zeros,
    /// Like `Random`, with a standard deviation of at least 1. The metadata often describes a smaller range than functions are made for.
    Wide,
    /// Like `Wide`, but rows differ: some are small, mostly zero, or nearly equal to the row before.
    Uneven,
    /// Like `Wide`, with very large values in a few rows.
    Spikes,
    /// Like `Random`, but integers and bools that the metadata fixes vary as well.
    Discrete,
    /// A thousand times the random values, within the type's range.
    Large,
    /// The random values, all with a negative sign.
    Negative,
    /// Values around the smallest normal number of the type.
    Tiny,
    /// The random content of the same seed with the middle half of each tensor reversed.
    NearDuplicate,
    /// Like `Random`, with a few elements of each floating-point tensor replaced by NaN and both infinities.
    NonFinite,
}

impl Content {
    /// All contents except the random one.
    pub const ADVERSARIAL: [Self; 11] = [
        Self::Varied,
        Self::Wide,
        Self::Uneven,
        Self::Spikes,
        Self::Discrete,
        Self::Zeros,
        Self::Large,
        Self::Negative,
        Self::Tiny,
        Self::NearDuplicate,
        Self::NonFinite,
    ];

    /// Returns the name in settings and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Varied => "varied",
            Self::Wide => "wide",
            Self::Uneven => "uneven",
            Self::Spikes => "spikes",
            Self::Discrete => "discrete",
            Self::Zeros => "zeros",
            Self::Large => "large",
            Self::Negative => "negative",
            Self::Tiny => "tiny",
            Self::NearDuplicate => "near_duplicate",
            Self::NonFinite => "non_finite",
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
#[error(
    "unknown input content `{0}`; known are varied, wide, uneven, spikes, discrete, zeros, large, negative, tiny, near_duplicate, non_finite"
)]
pub struct UnknownContent(pub String);

impl FromStr for Content {
    type Err = UnknownContent;

    fn from_str(name: &str) -> Result<Self, UnknownContent> {
        let all = [Self::Random].into_iter().chain(Self::ADVERSARIAL);
        all.into_iter().find(|content| content.name() == name).ok_or_else(|| UnknownContent(name.to_owned()))
    }
}
