//! `passnet score`: the scores of a run, or of an upstream evaluation log.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use passnet_run::{archive::load_run, read_input_text};
use passnet_score::{Outcomes, ScoreReport, ScoreSettings, read_log, scored_path};

use crate::{failure::usage, output};
use passnet_flags::{OutputFormat, ScoreArgs};

/// Tolerance that a sample of an upstream log must reach to be counted as correct: the loosest one below the error
/// classes.
const LOG_CORRECT_AT: i32 = 0;

/// Prints S_t and ES_t by tolerance, AS, the sound score and their counts.
pub(crate) fn run(args: &ScoreArgs) -> Result<ExitCode> {
    let (outcomes, path) = read_outcomes(&args.input)?;
    let settings = ScoreSettings { es: args.es.settings(), weights: args.weights.clone(), ..ScoreSettings::default() };
    let report =
        ScoreReport::new(&outcomes, &settings).map_err(|error| usage(format!("{}: {error}", args.input.display())))?;
    match args.format {
        OutputFormat::Json => output::json(&report)?,
        OutputFormat::Table => output::report(&report.text_report(args.mode, path.as_deref()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Outcomes of a run or of an upstream log, and the path on which they were measured; logs do not say it.
pub(super) fn read_outcomes(input: &Path) -> Result<(Outcomes, Option<String>)> {
    if input.is_dir() {
        let run = load_run(input)?;
        let path = scored_path(&run.verdicts, &run.header.settings);
        return Ok((Outcomes::from_verdicts(&run.verdicts, run.header.settings.correct_at), Some(path)));
    }
    if !input.exists() {
        return Err(usage(format!(
            "{}: there is no such file or folder; name a run (`passnet bench run` writes runs) or an evaluation log",
            input.display()
        )));
    }
    let text = read_input_text(input)?;
    let log = read_log(&text).with_context(|| format!("{} is not a readable evaluation log", input.display()))?;
    for quirk in &log.quirks {
        tracing::info!("{}:{}: {}", input.display(), quirk.line, quirk.kind);
    }
    Ok((log.outcomes(LOG_CORRECT_AT), None))
}
