//! `passnet eval`: one task, for a person or a training loop.

use std::{process::ExitCode, sync::atomic::AtomicBool, time::Duration};

use anyhow::Result;
use passnet_agent::Reward;
use passnet_author::{Complaint, Context, complaints, modification_times, next_step, submission};
use passnet_dataset::open_suite;
use passnet_eval::{Referee, run::Progress};
use passnet_record::{AuthorSpec, Device, OutputComparison, Remark, SCHEMA_VERSION, Status, Verdict, counted};
use passnet_run::{SampleFolder, Selection, Suite};
use passnet_score::{Outcomes, ScoreReport, ScoreSettings};
use serde::Serialize;

use super::{authors::create, referee};
use crate::{
    args::EvalArgs,
    failure::{BAD, usage},
    output::{self, Rows, duration},
    progress::ProgressLine,
};

/// Pause between two looks at the pass directory with `--watch`.
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

/// Evaluates every graph of the task and prints the verdicts. Exits with 1 unless all are correct.
pub(crate) fn run(args: &EvalArgs) -> Result<ExitCode> {
    let author = author(args)?;
    let suite = open_suite(&args.task, &Selection { patterns: args.filter.clone(), ..Selection::default() })?;
    let referee = referee::start(&args.measure, None)?;
    loop {
        // Read before the evaluation: a change during it causes another one.
        let stamp = args.passes.as_deref().map(modification_times);
        let verdicts = evaluate(&referee, &suite, &author)?;
        print(args, &verdicts)?;
        if !args.watch {
            let good = verdicts.iter().all(|verdict| verdict.status == Status::Correct);
            return Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(BAD) });
        }
        eprintln!("waiting for a change of the passes; Ctrl-C ends");
        while args.passes.as_deref().map(modification_times) == stamp {
            std::thread::sleep(WATCH_EVERY);
        }
    }
}

fn author(args: &EvalArgs) -> Result<AuthorSpec> {
    let author = match (&args.passes, &args.author) {
        (Some(path), _) => AuthorSpec::new("dir", Some(path.display().to_string())),
        (None, Some(author)) => author.clone(),
        (None, None) => {
            return Err(usage(
                "nothing to evaluate; name passes with --passes DIR, or an author with --author NAME (eager, noop, fuse, \
                 inductor, inductor:MODE, dir:PATH)",
            ));
        }
    };
    if author.kind() == "llm" {
        return Err(usage("a language model works on tasks in `passnet agent run` or `passnet bench run`"));
    }
    referee::check_author(&author)?;
    Ok(author)
}

fn evaluate(referee: &Referee, suite: &Suite, author: &AuthorSpec) -> Result<Vec<Verdict>> {
    let total = suite.graphs().count();
    let (graphs, tasks) = (counted(total, "graph"), counted(suite.record.tasks.len(), "task"));
    tracing::info!("evaluating {graphs} of {tasks} of {}", suite.record.name);
    let scratch = tempfile::tempdir()?;
    let stop = AtomicBool::new(false);
    let context = Context { referee, directory: scratch.path(), stop: &stop, progress: &|step| eprintln!("{step}") };
    let submission = submission(create(author)?.as_mut(), suite, &context)?;
    let line = ProgressLine::new(total);
    let mut verdicts = Vec::new();
    for id in suite.graphs() {
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
    // Without a graph that counts there is no score.
    let report = ScoreReport::new(&outcomes, &ScoreSettings::default()).ok();
    if args.json {
        let score = report.as_ref().and_then(|report| Some(report.sound.as_ref()?.score));
        return output::json(&JsonEvaluation {
            schema_version: SCHEMA_VERSION,
            score,
            aggregated: report.as_ref().map(|report| report.aggregated),
            reward: Reward::of(&outcomes.graphs).value,
            verdicts,
        });
    }
    print_table(verdicts)?;
    print_reasons(verdicts)?;
    print_accuracy(verdicts)?;
    if let Some(report) = report {
        let sound = report.sound.map(|sound| format!("sound score {:.3}, ", sound.score)).unwrap_or_default();
        output::text(&format!("\n{sound}AS {:.3}", report.aggregated))?;
    }
    if let Some(advice) = next_step(verdicts) {
        output::text(&format!("next: {advice}"))?;
    }
    Ok(())
}

/// Columns of the table of verdicts; the first three are of text.
const TITLES: [&str; 8] = ["graph", "status", "path", "tolerance", "eager", "candidate", "speed-up", "95% interval"];

fn print_table(verdicts: &[Verdict]) -> Result<()> {
    let mut rows = Rows::new(&TITLES, 3);
    for verdict in verdicts {
        let timing = verdict.scored_timing();
        let show = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        rows.push([
            format!("{}/{}", verdict.id.task, verdict.id.graph),
            verdict.status.name().to_owned(),
            show(timing.map(|timing| timing.path.to_string())),
            show(verdict.tolerance.map(|t| t.to_string())),
            show(timing.map(|timing| duration(timing.base.median_ns))),
            show(timing.map(|timing| duration(timing.candidate.median_ns))),
            show(timing.map(|timing| format!("{:.3}", timing.speedup.ratio))),
            show(timing.map(|timing| format!("{:.3}-{:.3}", timing.speedup.low, timing.speedup.high))),
        ]);
    }
    rows.print()
}

/// Prints each reason once, with the graphs that it is about.
fn print_reasons(verdicts: &[Verdict]) -> Result<()> {
    for Complaint { reason, graphs } in complaints(verdicts) {
        let all = if graphs.len() > 1 { format!(" ({})", counted(graphs.len(), "graph")) } else { String::new() };
        output::text(&format!("\n{}{all}: {}: {}", graphs.join(", "), reason.code, reason.message))?;
    }
    Ok(())
}

/// Prints how far both sides are from float64 where that decided, and which tolerance paper mode would find.
fn print_accuracy(verdicts: &[Verdict]) -> Result<()> {
    for verdict in verdicts {
        let accepted = |output: &&OutputComparison| {
            verdict.evidence.notes.contains(&Remark::AcceptedByFloat64 { output: output.index })
        };
        for output in verdict.outputs.iter().filter(accepted) {
            let Some(float64) = &output.float64 else { continue };
            let largest = |max: Option<f64>| max.map_or("NaN or infinity".to_owned(), |max| format!("{max:.1e}"));
            let eager = output.tolerance.map_or("at no tolerance".to_owned(), |t| format!("from t = {t} on"));
            output::text(&format!(
                "\n{}/{}: output {} is accepted by float64: it is off by up to {}, eager by up to {}; close to eager {eager}, which \
                 is what paper mode asks",
                verdict.id.task,
                verdict.id.graph,
                output.index,
                largest(float64.candidate.max),
                largest(float64.eager.max)
            ))?;
        }
    }
    Ok(())
}
