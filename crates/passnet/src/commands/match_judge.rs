//! Matches judged by the referee.

use anyhow::Result;
use passnet_dataset::coverage::{Judge, JudgedMatch, NamedPattern};
use passnet_eval::{Candidate, Referee};
use passnet_record::{ORDER_FILE, PassDirectory};
use passnet_run::GraphSample;

/// Evaluates one pass at a time: its directory with the other passes left out of the order.
pub(super) struct RefereeJudge<'r> {
    referee: &'r Referee,
    candidates: Vec<Candidate>,
}

impl<'r> RefereeJudge<'r> {
    pub(super) fn new(referee: &'r Referee, patterns: &[NamedPattern], directories: &[PassDirectory]) -> Result<Self> {
        let candidates = patterns.iter().zip(directories).map(|(pattern, directory)| {
            // All files stay, since passes may import each other; only the order decides which are applied.
            let order = (ORDER_FILE.to_owned(), serde_json::to_vec(&[&pattern.name])?);
            let files = directory.files().iter().filter(|(path, _)| path != ORDER_FILE).cloned();
            Ok(Candidate::Passes(PassDirectory::new(files.chain([order]))?))
        });
        Ok(Self { referee, candidates: candidates.collect::<Result<_>>()? })
    }
}

impl Judge for RefereeJudge<'_> {
    fn judge(&self, pattern: usize, sample: &GraphSample) -> Result<JudgedMatch, String> {
        let verdict = self.referee.check(sample, &self.candidates[pattern]).map_err(|error| error.to_string())?;
        Ok(JudgedMatch { status: verdict.status, message: verdict.reason.map(|reason| reason.message) })
    }
}
