//! Records of training runs: `curve.jsonl` and `results.json` (docs/reference/training-curves.md).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of the two files of a training run.
pub const TRAINING_VERSION: u32 = 1;

/// One line of `curve.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CurveEvent {
    /// Training began. This is always the first line. A further event of this kind begins another stage, whose steps count from 0 again.
    Started {
        /// [`TRAINING_VERSION`] of the writer.
        schema_version: u32,
        /// Name of the stage.
        name: String,
    },
    /// Measured figures at a step.
    Point(CurvePoint),
    /// The model at a step wrote passes.
    Checkpoint {
        step: u64,
        /// Name of the author in `results.json` that stands for this checkpoint.
        author: String,
    },
}

/// Measured figures at a step. Figures that were not measured at the step are absent or null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Number of updates of the weights.
    pub step: u64,
    /// Time of training, in seconds, without evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Number of training tokens so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Mean loss on training data since the last point, in nats per token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Mean loss on validation data, in nats per token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Share of the tokens of the validation data that the model predicts as most likely, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeliest: Option<f64>,
    /// Mean reward of the episodes of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
}

/// The file `results.json`: scores of the checkpoints, and of authors to compare them with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingResults {
    /// [`TRAINING_VERSION`] of the writer.
    pub schema_version: u32,
    /// Scores by author.
    pub authors: BTreeMap<String, TrainingScores>,
}

/// Scores of one author.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingScores {
    /// Suite and version of the run; empty in files from before 0.3. Only scores on the same suite are shown together.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    /// Number of graphs.
    pub graphs: usize,
    /// Number of graphs with right results.
    pub right: usize,
    /// Number of right graphs that are faster than eager beyond noise.
    pub faster: usize,
    /// AS, the aggregated score.
    pub aggregated: f64,
    /// Sound score; null if the run has none.
    #[serde(default)]
    pub sound: Option<TrainingSound>,
}

/// A sound score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingSound {
    pub score: f64,
    /// 95 % interval over tasks.
    #[serde(default)]
    pub interval: Option<TrainingInterval>,
}

/// An interval of a score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingInterval {
    pub low: f64,
    pub high: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_recipes_are_read_and_unknown_fields_ignored() {
        let read = |line: &str| serde_json::from_str::<CurveEvent>(line).unwrap();
        let started = read(r#"{"event": "started", "schema_version": 1, "name": "train"}"#);
        assert_eq!(started, CurveEvent::Started { schema_version: TRAINING_VERSION, name: "train".to_owned() });
        let point = read(r#"{"event": "point", "step": 20, "seconds": 2.5, "loss": null, "new": 1}"#);
        let expected = CurvePoint { step: 20, seconds: Some(2.5), ..CurvePoint::default() };
        assert_eq!(point, CurveEvent::Point(expected));
        let line = serde_json::to_string(&read(r#"{"event": "checkpoint", "step": 5, "author": "share-1"}"#)).unwrap();
        assert_eq!(line, r#"{"event":"checkpoint","step":5,"author":"share-1"}"#);
    }
}
