//! Sides of a split: full graphs for evaluation only, and full graphs for training only.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::family::{family, model};
use crate::store::SampleRow;

/// Unit that is kept on one side of the split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// A single place of a graph: evaluation and training may have different parts of a model.
    #[default]
    Place,
    /// All graphs of a model: its heads, configurations, types, batches, pieces and training steps.
    Model,
    /// All graphs of an architecture family, such as `resnet`. The family is an approximation, derived from names.
    Family,
}

/// Set of models or families. It is empty if single graphs are split.
#[derive(Debug)]
pub(super) struct SplitUnits {
    split: Split,
    names: BTreeSet<String>,
}

impl Split {
    /// Returns the name of the model or family of a full graph; `None` if single graphs are split.
    fn unit(self, path: &str) -> Option<String> {
        match self {
            Self::Place => None,
            Self::Model => Some(model(path).to_owned()),
            Self::Family => Some(family(path)),
        }
    }

    /// Returns whether a full graph is on the side of evaluation, which gets about `share` of the models or families. Returns
    /// `None` if single graphs are split.
    ///
    /// A hash of the name decides, so that a model stays on its side when other models are added.
    pub(super) fn evaluates(self, path: &str, share: f64) -> Option<bool> {
        let digest = Sha256::digest(self.unit(path)?);
        let number = digest.iter().take(4).fold(0_u32, |number, &byte| number << 8 | u32::from(byte));
        Some(f64::from(number) < share * (f64::from(u32::MAX) + 1.0))
    }
}

impl SplitUnits {
    pub(super) fn new(split: Split) -> Self {
        Self { split, names: BTreeSet::new() }
    }

    /// Adds the models or families from which a graph was cut.
    pub(super) fn add_origins(&mut self, row: &SampleRow) {
        self.names.extend(row.origins.iter().filter_map(|origin| self.split.unit(&origin.path)));
    }

    /// Returns whether a graph was cut from one of the models or families.
    pub(super) fn has_origin_of(&self, row: &SampleRow) -> bool {
        row.origins.iter().filter_map(|origin| self.split.unit(&origin.path)).any(|unit| self.names.contains(&unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_on_one_side_with_all_its_graphs() {
        let share = 0.5;
        for name in ["bert", "gpt2", "llama", "vit", "t5", "opt", "clip", "wav2vec2-bert"] {
            let model = format!("transformers/{name}");
            let side = Split::Model.evaluates(&model, share);
            for graph in [
                "/XForMaskedLM",
                "-XForMaskedLM",
                "/subgraph_3",
                "-num_hidden_layers=2-1a2b3c4d-bfloat16-train/train_forward",
            ] {
                assert_eq!(Split::Model.evaluates(&format!("{model}{graph}"), share), side, "{name}{graph}");
            }
            assert_eq!(Split::Model.evaluates(&model, 0.0), Some(false));
            assert_eq!(Split::Model.evaluates(&model, 1.0), Some(true));
            assert_eq!(Split::Place.evaluates(&model, share), None);
        }
    }

    #[test]
    fn the_share_of_models_for_evaluation_is_about_the_given_one() {
        let names = (0..2_000).map(|number| format!("own/model_{number}"));
        let evaluated = names.filter(|name| Split::Model.evaluates(name, 0.25) == Some(true)).count();
        assert!((400..600).contains(&evaluated), "{evaluated}");
    }
}
