//! Search for the smallest failing part with a referee, and writing of this part as a sample.

use std::path::Path;

use passnet_graphnet::{GraphNetMeta, Sample, sample::write_sample_dir};
use passnet_record::{AuthorSpec, BISECTED_KEY, BisectedPart, SCHEMA_VERSION};
use passnet_run::GraphSample;

use crate::{
    Candidate, EvalError, Referee,
    bisect::{Bisection, bisect, values_of},
};

/// Error of [`smallest_part`] and [`Bisection::save`].
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    /// The referee failed.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The values of the graph are unknown, so parts of the graph have no inputs.
    #[error("the values of the graph are not known")]
    Values(#[from] passnet_services::HelperError),
    /// The part cannot be written.
    #[error(transparent)]
    Sample(#[from] passnet_graphnet::Error),
}

/// Finds the smallest part on which a candidate fails, in at most `most` evaluations. Returns `None` if the whole graph does not fail.
///
/// # Errors
/// If an evaluation cannot run, or the graph cannot be run for its values.
pub fn smallest_part(
    referee: &Referee,
    sample: &GraphSample,
    candidate: &Candidate,
    most: usize,
) -> Result<Option<Bisection>, BisectError> {
    // To obtain the values, a helper runs the whole graph. This is done only for a graph that fails.
    if !referee.check(sample, candidate)?.status.is_failure() {
        return Ok(None);
    }
    let values = values_of(sample, &referee.interpreter())?;
    Ok(bisect(sample, &values, most, &mut |part| referee.check(part, candidate))?)
}

impl Bisection {
    /// Writes the part as a sample. Its `graph_net.json` names the author and the failure.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path, author: &AuthorSpec) -> Result<(), BisectError> {
        let found = BisectedPart {
            schema_version: SCHEMA_VERSION,
            author: author.to_string(),
            status: self.verdict.status,
            reason: self.verdict.reason.clone(),
            nodes_of_whole: self.whole,
            minimal: self.is_minimal,
        };
        let mut meta = GraphNetMeta {
            framework: Some("torch".to_owned()),
            model_name: Some(self.sample.id().graph.clone()),
            ..GraphNetMeta::default()
        };
        // The value is plain data, so converting it to JSON does not fail.
        meta.other.insert(BISECTED_KEY.to_owned(), serde_json::to_value(found).unwrap_or_default());
        let sample = Sample {
            graph: self.sample.graph().clone(),
            tensors: self.sample.metas().to_vec(),
            meta,
            constraints: String::new(),
            graph_hash: None,
        };
        Ok(write_sample_dir(folder, &sample)?)
    }
}
