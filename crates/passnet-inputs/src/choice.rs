//! Contents that change some inputs only, and the graphs that each content is for.

use passnet_record::TensorMeta;

use crate::{
    content::Content,
    copies,
    discrete::{has_columns, is_discrete},
    philox::Stream,
    rule::{has_float_parts, is_drawn},
};

/// Largest number of inputs whose order is not random. Each two of them differ in one of two halvings.
const ORDERED: usize = 4;

/// Half of the inputs to which an input belongs, in two halvings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// True for every second input, from the second one on.
    pub(crate) is_odd: bool,
    /// True for the last two of four inputs, or for the second one of two.
    pub(crate) is_second_pair: bool,
}

impl Choice {
    /// Returns the halves of the input with the given number, among the inputs for which `is_one` is true. Of the first four, each two differ
    /// in one of the halvings for some inputs. Of more than four, `order` decides which of them do.
    pub(crate) fn of(number: usize, metas: &[TensorMeta], order: Stream, is_one: impl Fn(&TensorMeta) -> bool) -> Self {
        let among: Vec<usize> = (0..metas.len()).filter(|&number| is_one(&metas[number])).collect();
        let key = |number: usize| {
            let chance = if among.len() > ORDERED { order.group(number as u64)[0] } else { 0 };
            (chance, number)
        };
        let rank = among.iter().filter(|&&other| key(other) < key(number)).count();
        let is_second_pair = if among.len() > 2 { rank % 4 >= 2 } else { rank == 1 };
        Self { is_odd: !rank.is_multiple_of(2), is_second_pair }
    }
}

/// Returns the content that an input gets in a content with large values in some inputs: `Large` or `Random`. Other contents are returned
/// unchanged. In `large` contents, all inputs are a thousand times as large, so a small addend stays small in relation to the others.
pub(crate) fn content_of(content: Content, number: usize, seed: u64, metas: &[TensorMeta]) -> Content {
    let choice = || Choice::of(number, metas, Stream::new(seed, "order of large inputs"), is_drawn);
    let is_large = match content {
        Content::EvenLarge => !choice().is_odd,
        Content::OddLarge => choice().is_odd,
        Content::PairLarge => !choice().is_second_pair,
        Content::OtherPairLarge => choice().is_second_pair,
        _ => return content,
    };
    if is_large { Content::Large } else { Content::Random }
}

/// Returns whether a content asks for more than the other contents, for a graph whose inputs have these metadata.
pub fn is_asked(content: Content, metas: &[TensorMeta]) -> bool {
    let drawn = || metas.iter().filter(|meta| is_drawn(meta)).count();
    match content {
        Content::Flipped => metas.iter().any(|meta| has_float_parts(meta.dtype) && !is_drawn(meta)),
        Content::Discrete | Content::Divided | Content::SingleChanges => metas.iter().any(is_discrete),
        Content::Copies => copies::has_copies(metas),
        Content::Columns => metas.iter().any(has_columns),
        // With a single tensor, `outliers` asks the same.
        Content::EvenOutliers | Content::OddOutliers | Content::OtherSingleOutliers => {
            metas.iter().filter(|meta| has_float_parts(meta.dtype)).count() > 1
        }
        // With a single tensor, `large` asks the same, and with two, the others do.
        Content::EvenLarge | Content::OddLarge => drawn() > 1,
        Content::PairLarge | Content::OtherPairLarge => drawn() > 2,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;
    use crate::{AllInputs, GraphFacts, fill, fill_among, tests::meta};

    fn named(number: usize) -> TensorMeta {
        TensorMeta { name: format!("in_{number}"), ..meta(DType::Float32, &[40]) }
    }

    const CONTENTS: [Content; 4] = [Content::EvenLarge, Content::OddLarge, Content::PairLarge, Content::OtherPairLarge];

    /// A pass that left out `gelu(y) * 0.001` next to `x` was accepted: `x` was large too.
    #[test]
    fn each_of_four_inputs_is_large_while_any_other_one_is_ordinary() {
        // The constant in the middle has no rank.
        let constant = TensorMeta { std: Some(0.0), ..named(9) };
        let metas = [named(0), named(1), constant, named(2), named(3)];
        let is_large = |content, number: usize| {
            let facts = GraphFacts::default();
            let all = AllInputs::of(&metas, &facts);
            let bytes = fill_among(&metas[number], number, 5, content, all).unwrap();
            let [large, random] =
                [Content::Large, Content::Random].map(|content| fill(&metas[number], 5, content).unwrap());
            assert!(bytes == large || bytes == random);
            bytes != random
        };
        let numbers = [0, 1, 3, 4];
        for (one, other) in numbers.iter().flat_map(|one| numbers.map(|other| (*one, other))) {
            let parts = |content| is_large(content, one) && !is_large(content, other);
            assert!(one == other || CONTENTS.into_iter().any(parts), "{one} {other}");
        }
        assert!(CONTENTS.into_iter().all(|content| !is_large(content, 2)));
    }

    #[test]
    fn contents_that_change_nothing_are_not_asked() {
        let constant = TensorMeta { std: Some(0.0), ..named(9) };
        let asked = |metas: &[TensorMeta]| {
            [Content::Flipped].into_iter().chain(CONTENTS).map(|content| is_asked(content, metas)).collect::<Vec<_>>()
        };
        assert_eq!(asked(&[named(0)]), [false; 5]);
        assert_eq!(asked(&[named(0), constant]), [true, false, false, false, false]);
        assert_eq!(asked(&[named(0), named(1)]), [false, true, true, false, false]);
        assert_eq!(asked(&[named(0), named(1), named(2)]), [false, true, true, true, true]);
        assert!(is_asked(Content::Varied, &[named(0)]));
    }
}
