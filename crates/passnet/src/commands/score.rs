//! `passnet score`: the scores of a run, or of an upstream evaluation log.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_record::Mode;
use passnet_run::archive::load_run;
use passnet_score::{EsSettings, Outcomes, ScoreReport, ScoreSettings, read_log, scored_path};

use crate::{
    args::{Format, ScoreArgs},
    failure::usage,
    output::{self, Rows},
};

/// Tolerance that a sample of an upstream log must reach to be counted as correct: the loosest one below the error
/// classes.
const LOG_CORRECT_AT: i32 = 0;

/// Prints S_t and ES_t by tolerance, AS, the sound score and their counts.
pub(crate) fn run(args: &ScoreArgs) -> Result<ExitCode> {
    let (outcomes, path) = read_outcomes(&args.input)?;
    let es =
        EsSettings { slowdown_penalty: args.penalty, error_base: args.error_base, interpretation: args.interpretation };
    let settings = ScoreSettings { es, weights: args.weights.clone(), ..ScoreSettings::default() };
    let report = ScoreReport::new(&outcomes, &settings).context(args.input.display().to_string())?;
    match args.format {
        Format::Json => output::json(&report)?,
        Format::Table => print_tables(&report, args.mode, path.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Outcomes, and the path on which they were measured; logs do not say it.
fn read_outcomes(input: &Path) -> Result<(Outcomes, Option<String>)> {
    if input.is_dir() {
        let run = load_run(input)?;
        let path = scored_path(&run.verdicts, &run.header.settings);
        return Ok((Outcomes::from_verdicts(&run.verdicts, run.header.settings.correct_at), Some(path)));
    }
    if !input.exists() {
        return Err(usage(format!("{}: there is no run and no evaluation log", input.display())));
    }
    let text = fs::read_to_string(input)?;
    let log = read_log(&text).with_context(|| format!("{} is not a readable evaluation log", input.display()))?;
    for quirk in &log.quirks {
        tracing::info!("{}:{}: {}", input.display(), quirk.line, quirk.kind);
    }
    Ok((log.outcomes(LOG_CORRECT_AT), None))
}

fn print_tables(report: &ScoreReport, mode: Mode, path: Option<&str>) -> Result<()> {
    let mut curve = Rows::new(&["t", "S_t", "ES_t", "alpha", "beta", "lambda", "eta", "gamma"], 0);
    for row in &report.by_tolerance {
        let p = &row.parameters;
        let numbers = [row.s, row.es, p.alpha, p.beta, p.lambda, p.eta, p.gamma];
        curve.push(std::iter::once(row.t.to_string()).chain(numbers.map(|number| format!("{number:.4}"))));
    }
    curve.print()?;
    let mut lines = vec![format!("AS           {:.4} (weights {})", report.aggregated, report.settings.weights)];
    if let Some(sound) = &report.sound {
        let interval = sound.interval.map(|i| format!(" [{:.4}, {:.4}]", i.low, i.high)).unwrap_or_default();
        lines.push(format!("sound score  {:.4}{interval}", sound.score));
    }
    if mode == Mode::Sound {
        lines.reverse();
    }
    let tally = &report.tally;
    let mean = tally.geomean_speedup.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.4}"));
    lines.push(format!("G-mean       {mean} over {} correct graphs", tally.correct - tally.untimed));
    lines.push(format!("correct      {:.1}% of {} graphs", tally.correct_percent(), tally.graphs));
    lines.push(format!("fast_1       {:.1}%", tally.fast_1_percent()));
    lines.extend(path.map(|path| format!("path         {path}")));
    for (failure, count) in &tally.failures {
        lines.push(format!("{:<12} {count}", failure.name()));
    }
    if report.reference_errors > 0 {
        lines.push(format!("left out     {} graphs whose reference did not run", report.reference_errors));
    }
    output::text(&format!("\n{}", lines.join("\n")))
}
