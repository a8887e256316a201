//! `passnet eval`: one task, for a person or a training loop.

use std::process::ExitCode;

use anyhow::Result;
use passnet_eval::{
    Candidate, SampleFolder,
    suite::{Selection, Suite},
};
use passnet_record::{AuthorSpec, SCHEMA_VERSION, Status, Verdict};
use serde::Serialize;

use super::{dataset::suite_folder, measure};
use crate::{
    args::EvalArgs,
    failure::{BAD, usage},
    output::{self, Rows, duration},
};

/// The JSON form of an evaluation.
#[derive(Serialize)]
struct JsonEvaluation<'a> {
    schema_version: u32,
    verdicts: &'a [Verdict],
}

/// Evaluates every graph of the task and prints what came of it. Leaves with 1 unless all are correct.
pub(crate) fn run(args: &EvalArgs) -> Result<ExitCode> {
    let author = match (&args.passes, &args.author) {
        (Some(path), None) => AuthorSpec::Dir { path: path.display().to_string() },
        (None, Some(author)) => author.clone(),
        _ => return Err(usage("give either --passes DIR or --author NAME")),
    };
    let suite =
        Suite::load(&suite_folder(&args.task)?, &Selection { patterns: args.filter.clone(), ..Selection::default() })?;
    let referee = measure::referee(&args.measure, None)?;
    let mut verdicts = Vec::new();
    for id in suite.graphs() {
        let candidate = Candidate::of(&author, &id.task)?;
        let folder = SampleFolder::read(&suite.sample_dir(&id), id);
        verdicts.push(referee.evaluate_folder(&folder, &candidate)?.verdict);
    }
    if args.json {
        output::json(&JsonEvaluation { schema_version: SCHEMA_VERSION, verdicts: &verdicts })?;
    } else {
        print_verdicts(&verdicts)?;
    }
    let good = verdicts.iter().all(|verdict| verdict.status == Status::Correct);
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

fn print_verdicts(verdicts: &[Verdict]) -> Result<()> {
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
    rows.print()?;
    for verdict in verdicts {
        if let Some(reason) = &verdict.reason {
            output::text(&format!("\n{}/{}: {}: {}", verdict.id.task, verdict.id.graph, reason.code, reason.message))?;
        }
    }
    Ok(())
}
