//! `passnet plot`: the published figures of runs and upstream logs, as files.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_web::{FigureSeries, category, figures};

use super::score::read_outcomes;
use crate::failure::check_folder;
use passnet_flags::PlotArgs;

/// Writes one file per figure.
pub(crate) fn run(args: &PlotArgs) -> Result<ExitCode> {
    let settings = args.es.settings();
    check_folder(&args.out)?;
    let series = args.inputs.iter().map(|input| {
        let (outcomes, _) = read_outcomes(input)?;
        let series = FigureSeries::new(name(input), &outcomes.graphs, &settings, category);
        series.with_context(|| input.display().to_string())
    });
    let series = series.collect::<Result<Vec<_>>>()?;
    fs::create_dir_all(&args.out)?;
    for (file, text) in figures(&series, &settings) {
        let path = args.out.join(file);
        fs::write(&path, text)?;
        eprintln!("wrote {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of a run or log without the ending of a log.
fn name(input: &Path) -> String {
    let name = input.file_name().unwrap_or(input.as_os_str()).to_string_lossy().into_owned();
    name.strip_suffix(".log").or_else(|| name.strip_suffix(".txt")).unwrap_or(&name).to_owned()
}
