//! `passnet eval`: evaluates one task, for a user or a training loop.

use std::{
    path::Path,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::Result;
use passnet_author::{modification_times, next_step, verdict_report};
use passnet_dataset::open_suite;
use passnet_eval::{Referee, halting, run::Progress};
use passnet_flags::{EvalArgs, author_names};
use passnet_record::{AuthorSpec, Device, SCHEMA_VERSION, Status, Verdict, counted};
use passnet_run::{SampleFolder, Selection, Suite};
use passnet_score::{Outcomes, ScoreReport, ScoreSettings};
use serde::Serialize;

use super::{
    authors::{check_author, create, write_submission},
    referee,
    stop::interruptible_with_folder,
};
use crate::{
    failure::{exit_code, report, usage},
    output,
    progress::ProgressLine,
};

/// Pause between two checks of the pass directory with `--watch`.
const WATCH_EVERY: Duration = Duration::from_millis(300);

/// The JSON form of an evaluation.
#[derive(Serialize)]
struct JsonEvaluation<'a> {
    schema_version: u32,
    /// The sound score; `None` if no graph counts.
    score: Option<f64>,
    /// AS.
    aggregated: Option<f64>,
    /// The reward for training, as for agents and in the environment: 0 unless all graphs are right and some are faster.
    reward: f64,
    verdicts: &'a [Verdict],
}

/// Evaluates every graph of the task and prints the verdicts. Exits with 1 unless all are correct, and after an interrupt.
pub(crate) fn run(args: &EvalArgs) -> Result<ExitCode> {
    let author = author(args)?;
    let suite = open_suite(&args.task, &Selection { patterns: args.filter.clone(), ..Selection::default() })?;
    interruptible_with_folder("passnet-eval-", |folder, stop| evaluate_and_watch(args, &suite, &author, folder, stop))
}

/// Evaluates the task until `stop` is true: once, or after each change of the pass directory.
fn evaluate_and_watch(
    args: &EvalArgs,
    suite: &Suite,
    author: &AuthorSpec,
    scratch: &Path,
    stop: &AtomicBool,
) -> Result<ExitCode> {
    let referee = referee::start_for(&suite.record, &args.measure, None)?;
    loop {
        // Read before the evaluation: a change during it causes another one.
        let stamp = args.passes.as_deref().map(modification_times);
        let result = halting(&referee, stop, || evaluate(&referee, suite, author, scratch, stop));
        match result {
            _ if stop.load(Ordering::SeqCst) => return exit_code(false),
            Ok(verdicts) => {
                print(args, &verdicts)?;
                if !args.watch {
                    return exit_code(verdicts.iter().all(|verdict| verdict.status == Status::Correct));
                }
            }
            // An editor may be writing the files.
            Err(error) if args.watch => {
                report(&error);
            }
            Err(error) => return Err(error),
        }
        eprintln!("waiting for changes of the pass directory; press Ctrl-C to stop");
        while args.passes.as_deref().map(modification_times) == stamp {
            if stop.load(Ordering::SeqCst) {
                return exit_code(false);
            }
            std::thread::sleep(WATCH_EVERY);
        }
    }
}

fn author(args: &EvalArgs) -> Result<AuthorSpec> {
    let author = match (&args.passes, &args.author) {
        (Some(path), _) => AuthorSpec::new("dir", Some(path.display().to_string())),
        (None, Some(author)) => author.clone(),
        (None, None) => {
            let known = author_names();
            return Err(usage(format!(
                "nothing to evaluate; name passes with --passes DIR, or an author with --author NAME ({known})"
            )));
        }
    };
    check_author(&author, args.measure.device)?;
    Ok(author)
}

/// Returns the verdicts; fewer, or an error, if `stop` becomes true.
fn evaluate(
    referee: &Referee,
    suite: &Suite,
    author: &AuthorSpec,
    scratch: &Path,
    stop: &AtomicBool,
) -> Result<Vec<Verdict>> {
    let total = suite.graphs().count();
    let (graphs, tasks) = (counted(total, "graph"), counted(suite.record.tasks.len(), "task"));
    tracing::info!("evaluating {graphs} of {tasks} of {}", suite.record.name);
    let submission = write_submission(create(author)?.as_mut(), suite, referee, scratch, stop)?;
    let line = ProgressLine::new(total);
    let mut verdicts = Vec::new();
    for id in suite.graphs().take_while(|_| !stop.load(Ordering::SeqCst)) {
        let Some(candidate) = submission.candidates.get(&id.task) else { continue };
        let folder = SampleFolder::read(&suite.sample_dir(&id), id);
        let verdict = referee.evaluate_folder(&folder, candidate)?.verdict;
        line.show(&Progress::Done { verdict: &verdict, reused: false, done: verdicts.len() + 1, total });
        verdicts.push(verdict);
    }
    line.finish();
    Ok(verdicts)
}

fn print(args: &EvalArgs, verdicts: &[Verdict]) -> Result<()> {
    let correct_at = args.measure.correct_at.unwrap_or(passnet_eval::settings::sound(Device::Cpu).correct_at);
    let outcomes = Outcomes::from_verdicts(verdicts, correct_at);
    // There is no score if no graph counts.
    let report = ScoreReport::new(&outcomes, &ScoreSettings::default()).ok();
    if args.json {
        let score = report.as_ref().and_then(|report| Some(report.sound.as_ref()?.score));
        return output::json(&JsonEvaluation {
            schema_version: SCHEMA_VERSION,
            score,
            aggregated: report.as_ref().map(|report| report.aggregated),
            reward: passnet_agent::reward_of(&outcomes.graphs).value,
            verdicts,
        });
    }
    output::report(&verdict_report(verdicts))?;
    if let Some(report) = report {
        let sound = report.sound.map(|sound| format!("sound score {:.3}, ", sound.score)).unwrap_or_default();
        output::text(&format!("\n{sound}AS {:.3}", report.aggregated))?;
    }
    if let Some(advice) = next_step(verdicts) {
        output::text(&format!("next: {advice}"))?;
    }
    Ok(())
}
