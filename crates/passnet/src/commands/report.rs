//! `passnet report`: runs side by side.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_eval::store::RunLog;
use passnet_record::{RunHeader, SCHEMA_VERSION, Verdict};
use passnet_score::{Outcomes, ScoreReport, ScoreSettings};
use passnet_web::{RunView, report_page};
use serde::Serialize;

use crate::{
    args::{Format, ReportArgs},
    output::{self, Rows},
};

/// One run in the JSON form of a report.
#[derive(Serialize)]
struct JsonRun<'a> {
    header: &'a RunHeader,
    score: &'a ScoreReport,
}

/// The JSON form of a report.
#[derive(Serialize)]
struct JsonReport<'a> {
    schema_version: u32,
    runs: Vec<JsonRun<'a>>,
}

/// Prints the leaderboard; writes the HTML page where asked.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let runs = args.runs.iter().map(|path| load_run(path)).collect::<Result<Vec<_>>>()?;
    match args.format {
        Format::Table => print_leaderboard(&runs)?,
        Format::Json => {
            let runs = runs.iter().map(|run| JsonRun { header: &run.header, score: &run.score }).collect();
            output::json(&JsonReport { schema_version: SCHEMA_VERSION, runs })?;
        }
    }
    if let Some(path) = &args.html {
        fs::write(path, report_page(&runs))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a run directory and computes its scores with the default settings.
pub(crate) fn load_run(directory: &Path) -> Result<RunView> {
    let log = RunLog::read(directory)?;
    let verdicts = log.verdicts().into_iter().cloned().collect();
    score_run(log.header, verdicts).with_context(|| format!("{} cannot be scored", directory.display()))
}

/// Scores the verdicts of a run with the default settings.
pub(crate) fn score_run(header: RunHeader, verdicts: Vec<Verdict>) -> Result<RunView> {
    let outcomes = Outcomes::from_verdicts(&verdicts, header.settings.correct_at);
    let score = ScoreReport::new(&outcomes, &ScoreSettings::default())?;
    Ok(RunView { header, verdicts, score })
}

/// One row per run, best sound score first.
pub(crate) fn print_leaderboard(runs: &[RunView]) -> Result<()> {
    let mut order: Vec<&RunView> = runs.iter().collect();
    let rank = |run: &RunView| run.score.sound.as_ref().map_or(run.score.aggregated, |sound| sound.score);
    order.sort_by(|left, right| rank(right).total_cmp(&rank(left)));
    let mut rows =
        Rows::new(&["author", "device", "AS", "sound", "95% interval", "G-mean", "correct", "fast_1", "graphs"], 2);
    for run in order {
        let score = &run.score;
        let sound = score.sound.as_ref();
        let interval = sound.and_then(|sound| sound.interval);
        rows.push([
            run.header.author.to_string(),
            run.header.settings.device.clone(),
            format!("{:.3}", score.aggregated),
            sound.map_or_else(|| "-".to_owned(), |sound| format!("{:.3}", sound.score)),
            interval.map_or_else(|| "-".to_owned(), |interval| format!("{:.3}-{:.3}", interval.low, interval.high)),
            score.tally.geomean_speedup.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}")),
            format!("{:.1}%", score.tally.correct_percent()),
            format!("{:.1}%", score.tally.fast_1_percent()),
            progress_of(run),
        ]);
    }
    rows.print()
}

/// Graphs done, and of how many where the run is not complete.
fn progress_of(run: &RunView) -> String {
    match run.verdicts.len() {
        done if done < run.header.graphs => format!("{done}/{}", run.header.graphs),
        done => done.to_string(),
    }
}
