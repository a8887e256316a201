//! `passnet eval`: one task, for a person or a training loop.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::AtomicBool,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use passnet_author::{Context, submission};
use passnet_dataset::open_suite;
use passnet_eval::{Referee, run::Progress};
use passnet_record::{AuthorSpec, Device, SCHEMA_VERSION, Status, Verdict};
use passnet_run::{SampleFolder, Selection, Suite};
use passnet_score::{Outcomes, ScoreReport, ScoreSettings};
use serde::Serialize;

use super::{authors::create, referee};
use crate::{
    args::EvalArgs,
    failure::{BAD, usage},
    output::{self, Rows, counted, duration},
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
    /// The score minus 1: more than 0 if the passes are correct and faster than eager beyond the noise.
    reward: Option<f64>,
    verdicts: &'a [Verdict],
}

/// Evaluates every graph of the task and prints the verdicts. Exits with 1 unless all are correct.
pub(crate) fn run(args: &EvalArgs) -> Result<ExitCode> {
    let author = author(args)?;
    let suite = open_suite(&args.task, &Selection { patterns: args.filter.clone(), ..Selection::default() })?;
    let referee = referee::start_for(&suite.record, &args.measure, None)?;
    loop {
        // Read before the evaluation: a change during it causes another one.
        let stamp = args.passes.as_deref().map(stamp);
        let verdicts = evaluate(&referee, &suite, &author)?;
        print(args, &verdicts)?;
        if !args.watch {
            let good = verdicts.iter().all(|verdict| verdict.status == Status::Correct);
            return Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(BAD) });
        }
        eprintln!("waiting for a change of the passes; Ctrl-C ends");
        while args.passes.as_deref().map(self::stamp) == stamp {
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
    referee::check_author(&author, args.measure.device)?;
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

/// Times of change of the files of a pass directory.
fn stamp(directory: &Path) -> Vec<(PathBuf, Option<SystemTime>)> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                let changed = path.metadata().and_then(|meta| meta.modified()).ok();
                files.push((path, changed));
            }
        }
    }
    files.sort();
    files
}

fn print(args: &EvalArgs, verdicts: &[Verdict]) -> Result<()> {
    let correct_at = args.measure.correct_at.unwrap_or(passnet_eval::settings::sound(Device::Cpu).correct_at);
    // Without a graph that counts there is no score.
    let report = ScoreReport::new(&Outcomes::from_verdicts(verdicts, correct_at), &ScoreSettings::default()).ok();
    if args.json {
        let score = report.as_ref().and_then(|report| Some(report.sound.as_ref()?.score));
        return output::json(&JsonEvaluation {
            schema_version: SCHEMA_VERSION,
            score,
            aggregated: report.as_ref().map(|report| report.aggregated),
            reward: score.map(|score| score - 1.0),
            verdicts,
        });
    }
    print_table(verdicts)?;
    print_reasons(verdicts)?;
    if let Some(report) = report {
        let sound = report.sound.map(|sound| format!("sound score {:.3}, ", sound.score)).unwrap_or_default();
        output::text(&format!("\n{sound}AS {:.3}", report.aggregated))?;
    }
    if let Some(advice) = advice(verdicts) {
        output::text(&format!("next: {advice}"))?;
    }
    Ok(())
}

fn print_table(verdicts: &[Verdict]) -> Result<()> {
    let mut rows = Rows::new(&["graph", "status", "tolerance", "eager", "candidate", "speed-up", "95% interval"], 2);
    for verdict in verdicts {
        let timing = verdict.scored_timing();
        let show = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        rows.push([
            format!("{}/{}", verdict.id.task, verdict.id.graph),
            verdict.status.name().to_owned(),
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
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for verdict in verdicts {
        let Some(reason) = &verdict.reason else { continue };
        let graph = format!("{}/{}", verdict.id.task, verdict.id.graph);
        match reasons.iter_mut().find(|(code, text, _)| (*code, *text) == (&*reason.code, &*reason.message)) {
            Some((_, _, graphs)) => graphs.push(graph),
            None => reasons.push((&reason.code, &reason.message, vec![graph])),
        }
    }
    for (code, message, graphs) in reasons {
        let all = if graphs.len() > 1 { format!(" ({})", counted(graphs.len(), "graph")) } else { String::new() };
        output::text(&format!("\n{}{all}: {code}: {message}", graphs.join(", ")))?;
    }
    Ok(())
}

/// The next step for the author of the passes, by the first verdict that is not good.
fn advice(verdicts: &[Verdict]) -> Option<&'static str> {
    let bad = verdicts.iter().find(|verdict| verdict.status != Status::Correct);
    match bad.map(|verdict| verdict.status) {
        None => verdicts
            .iter()
            .filter_map(Verdict::scored_timing)
            .any(|timing| timing.speedup.low <= 1.0)
            .then_some("all graphs are correct; some are not faster than eager beyond the noise"),
        Some(Status::NoMatch) => Some("`passnet new TASK --out DIR` writes the pattern of a task"),
        Some(Status::Integrity) => Some("`passnet lint DIR` shows the line, `passnet lint --explain RULE` the rule"),
        Some(Status::Unstable) => Some("the machine is busy; close other programs, or raise --trials"),
        Some(_) => Some("fix the reason above, then evaluate again; --watch does so on every change"),
    }
}
