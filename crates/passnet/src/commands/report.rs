//! `passnet report`: runs side by side, for people and for other programs.

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use fs_err as fs;
use passnet_dataset::store::{ResultRow, TableWriter, csv};
use passnet_record::{RunHeader, SCHEMA_VERSION};
use passnet_run::archive::load_runs;
use passnet_score::ScoreReport;
use passnet_web::{RunView, ranking, report_page};
use serde::Serialize;

use crate::{failure::usage, output};
use passnet_flags::{ReportArgs, ReportFormat};

/// One run in the JSON form of a report.
#[derive(Serialize)]
struct JsonRun<'a> {
    header: &'a RunHeader,
    score: &'a ScoreReport,
}

/// The JSON form of a report.
#[derive(Serialize)]
struct RunReportJson<'a> {
    schema_version: u32,
    runs: Vec<JsonRun<'a>>,
}

/// Writes runs in the requested form; by default prints the leaderboard.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let runs = load_runs(&args.runs)?;
    if let Some(path) = &args.html {
        write(path, &report_page(&runs))?;
    }
    let text = match args.format {
        ReportFormat::Table if args.out.is_none() => {
            print_leaderboard(&runs)?;
            return Ok(ExitCode::SUCCESS);
        }
        ReportFormat::Table => output::render(&ranking::leaderboard(&runs)),
        ReportFormat::Md => ranking::markdown(&runs),
        ReportFormat::Html => report_page(&runs),
        ReportFormat::Json => {
            let runs = runs.iter().map(|run| JsonRun { header: &run.header, score: &run.score }).collect();
            serde_json::to_string_pretty(&RunReportJson { schema_version: SCHEMA_VERSION, runs })?
        }
        ReportFormat::Csv => csv(&rows(&runs)),
        ReportFormat::Parquet => {
            let path = args.out.as_ref().ok_or_else(|| usage("Parquet is a binary format; name a file with --out"))?;
            let mut table = TableWriter::create(path)?;
            for row in rows(&runs) {
                table.push(row)?;
            }
            table.finish()?;
            eprintln!("wrote {}", path.display());
            return Ok(ExitCode::SUCCESS);
        }
    };
    match &args.out {
        Some(path) => write(path, &text)?,
        None => output::text(text.trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// Prints one row per run, best sound score first.
pub(crate) fn print_leaderboard(runs: &[RunView]) -> Result<()> {
    output::table(&ranking::leaderboard(runs))
}

/// One row per verdict of all runs.
fn rows(runs: &[RunView]) -> Vec<ResultRow> {
    runs.iter().flat_map(|run| run.verdicts.iter().map(|verdict| ResultRow::new(&run.header, verdict))).collect()
}
