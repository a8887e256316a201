//! The dataset that a stage begins with, and the failures that it ends with.

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use anyhow::Result;
use passnet_dataset::{Dataset, SkippedData, Table};
use passnet_record::counted;

use crate::failure::{exit_code, usage};

/// Opens a dataset that has to exist.
pub(super) fn existing(path: &Path) -> Result<Dataset> {
    if path.is_dir() {
        return Ok(Dataset::at(path));
    }
    Err(usage(format!("{}: no such dataset; `passnet dataset import FOLDER --out DIR` makes one", path.display())))
}

/// Opens a dataset that has to have this table. The error names the command that makes it.
pub(crate) fn with_table(path: &Path, table: Table) -> Result<Dataset> {
    let dataset = existing(path)?;
    if !dataset.parts(table)?.is_empty() {
        return Ok(dataset);
    }
    let path = path.display();
    let earlier = match table {
        Table::Graphs => format!("passnet dataset import FOLDER --out {path}"),
        Table::Subgraphs | Table::Proofs => format!("passnet dataset fold {path}"),
        Table::Tasks => format!("passnet dataset curate {path}"),
        Table::Annotations => format!("passnet dataset annotate {path}"),
        Table::Kernels => format!("passnet dataset kernels {path}"),
    };
    Err(usage(format!("{path}: the dataset has no {table}; run `{earlier}` first")))
}

/// Name of the file in a dataset's folder with the samples whose failures are known: a path in each line, `#` for remarks.
const KNOWN_BAD: &str = "known-bad.txt";

/// Lists on stderr the data that a stage could not use. Returns exit code 1 if `known-bad.txt` does not name all of it.
pub(crate) fn report_failures(dataset: &Dataset, failures: &[SkippedData]) -> Result<ExitCode> {
    let text = fs_err::read_to_string(dataset.root().join(KNOWN_BAD)).unwrap_or_default();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let acknowledged: BTreeSet<&str> = lines.filter(|line| !line.is_empty()).collect();
    let (known, new): (Vec<_>, Vec<_>) =
        failures.iter().partition(|failure| acknowledged.contains(failure.what.as_str()));
    for failure in &new {
        // A message of the store begins with the file.
        if failure.message.starts_with(&failure.what) {
            tracing::error!("{}", failure.message);
        } else {
            tracing::error!("{}: {}", failure.what, failure.message);
        }
    }
    if !known.is_empty() {
        eprintln!("{} of {KNOWN_BAD} left out", counted(known.len(), "sample"));
    }
    exit_code(new.is_empty())
}
