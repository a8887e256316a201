//! The evaluation of a submission on hidden graphs.

use std::{path::Path, sync::atomic::AtomicBool};

use fs_err as fs;
use passnet_eval::{Candidate, Referee, Submission, run_suite};
use passnet_record::{AuthorSpec, ContentId, RESULT_VERSION, ResultStatement, SignedResult, SubmissionState};
use passnet_run::{
    RunLog, Suite,
    archive::{load_run, score_run},
    bundle::Bundle,
    now_rfc3339, plain_name, remove_run,
};

use crate::{
    error::{BoardError, SubmissionRefusal},
    redact::redact,
    signature::sign,
    store::{Board, log_id, passes, read},
};

impl Board {
    /// Checks that a referee may evaluate untrusted passes: every layer of defence confines its workers, and it chooses its seeds
    /// itself.
    ///
    /// # Errors
    /// If a layer is missing, or a seed is set.
    pub fn check_referee(referee: &Referee) -> Result<(), BoardError> {
        if referee.settings().seed.is_some() {
            return Err(BoardError::KnownSeed);
        }
        let layers = &referee.fingerprint().sandbox;
        if layers.is_empty() {
            return Err(BoardError::NoSandbox("the sandbox is off".to_owned()));
        }
        let open: Vec<String> = layers
            .iter()
            .filter(|(_, level)| *level != "enforced")
            .map(|(layer, level)| format!("{layer}: {level}"))
            .collect();
        if open.is_empty() { Ok(()) } else { Err(BoardError::NoSandbox(open.join(", "))) }
    }

    /// Evaluates the oldest waiting submission and returns its state. Returns `None` if no submission waits, or if `stop`
    /// interrupted the evaluation; the next call then continues it.
    ///
    /// # Errors
    /// If the referee fails, or the board cannot be written. The submission then still waits.
    pub fn review_next(
        &self,
        referee: &Referee,
        suite: &Suite,
        stop: &AtomicBool,
    ) -> Result<Option<(ContentId, SubmissionState)>, BoardError> {
        Self::check_referee(referee)?;
        let Some(path) = self.waiting()?.into_iter().next() else { return Ok(None) };
        let (id, state) = match read(&path) {
            Ok(bundle) => match self.evaluate(&bundle, referee, suite, stop) {
                Ok(None) => return Ok(None),
                Ok(Some(result)) => (bundle.id, SubmissionState::Shown(result)),
                Err(BoardError::Refused(refusal)) => {
                    (bundle.id, SubmissionState::Refused { reason: refusal.to_string() })
                }
                Err(error) => return Err(error),
            },
            // A person put the file into the folder; its name should be its id.
            Err(refusal) => {
                let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                let id = name.parse().unwrap_or_else(|_| ContentId::of(name.as_bytes()));
                (id, SubmissionState::Refused { reason: refusal.to_string() })
            }
        };
        if let SubmissionState::Refused { reason } = &state {
            tracing::warn!("{}: {reason}", path.display());
            self.record(&id, &state)?;
        }
        // The file is removed last: a board that is killed before evaluates the submission again and finds the verdicts in
        // `private`.
        fs::remove_file(&path)?;
        Ok(Some((id, state)))
    }

    fn evaluate(
        &self,
        bundle: &Bundle,
        referee: &Referee,
        suite: &Suite,
        stop: &AtomicBool,
    ) -> Result<Option<SignedResult>, BoardError> {
        let header = &bundle.log.header;
        let name = run_name(&header.author, &header.metadata.name, &bundle.id);
        let (private, shown) = (self.folder.join("private").join(&name), self.runs().join(&name));
        let submission = submission(bundle, suite)?;
        let outcome = run_suite(referee, suite, &submission, &private, stop, &|_| {})?;
        if !outcome.complete {
            return Ok(None);
        }
        // The pages may read `runs/` at any time, so the run is written to another folder and moved when it is complete.
        let building = tempfile::Builder::new().prefix("work-").tempdir_in(&self.folder)?;
        let place = building.path().join(&name);
        redact(&private, &RunLog::read(&private)?, &place)?;
        // The scores are computed from the published log, so that any reader can compute the signed numbers from the published
        // data.
        let statement = statement(bundle, &place, &name)?;
        let result = sign(&statement, &self.key)?;
        // The signed result is written before the run. If the board is killed in between, there is a result without a run, which
        // the board accepts at its next start. It would refuse a run without a result.
        self.record(&bundle.id, &SubmissionState::Shown(result.clone()))?;
        // A board that was killed after the rename evaluates the submission again. The old folder is removed, because `rename`
        // does not replace a folder with files.
        remove_run(&shown)?;
        fs::rename(&place, &shown)?;
        Ok(Some(result))
    }
}

/// Returns the passes of a bundle for the tasks of the suite. A hidden task for which the bundle has no passes counts as not
/// submitted.
fn submission(bundle: &Bundle, suite: &Suite) -> Result<Submission, SubmissionRefusal> {
    let mut passes = passes(bundle)?;
    passes.retain(|task, _| suite.record.tasks.iter().any(|known| known.id == *task));
    if passes.is_empty() {
        return Err(SubmissionRefusal::NoCommonTask { suite: suite.record.name.clone() });
    }
    let candidates = passes.into_iter().map(|(task, passes)| (task, Candidate::Passes(passes))).collect();
    let header = &bundle.log.header;
    Ok(Submission { author: header.author.clone(), candidates, metadata: header.metadata.clone() })
}

fn run_name(author: &AuthorSpec, name: &str, id: &ContentId) -> String {
    let name = if name.is_empty() { author.to_string() } else { name.to_owned() };
    plain_name(&format!("{}-{}", name.chars().take(60).collect::<String>(), id.short()))
}

fn statement(bundle: &Bundle, run: &Path, name: &str) -> Result<ResultStatement, BoardError> {
    let view = load_run(run).map_err(|error| BoardError::Score(error.to_string()))?;
    let scored = score_run(view.header, view.verdicts).map_err(|error| BoardError::Score(error.to_string()))?;
    let (header, score) = (scored.header, scored.score);
    let machine = &header.fingerprint;
    let interval = score.sound.as_ref().and_then(|sound| sound.interval);
    Ok(ResultStatement {
        schema_version: RESULT_VERSION,
        bundle: bundle.id.clone(),
        run: name.to_owned(),
        author: header.author,
        metadata: header.metadata,
        suite: header.suite,
        suite_version: header.suite_version,
        device: if machine.device.is_empty() { machine.cpu.clone() } else { machine.device.clone() },
        graphs: score.tally.graphs,
        correct: score.tally.correct,
        sound: score.sound.as_ref().map(|sound| sound.score),
        interval: interval.map(|interval| [interval.low, interval.high]),
        aggregated: score.aggregated,
        log: log_id(run)?,
        at: now_rfc3339(),
    })
}
