//! Queries of the tables of a dataset.

mod text;

use std::collections::BTreeMap;

use passnet_record::DType;
use serde::Serialize;

use crate::{
    Dataset, SkippedData, Table,
    hashes::Rung,
    store::{GraphKind, SampleRow, TableError},
};

/// Filter for samples. An empty field or `None` admits all samples.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Ops that must all occur.
    pub ops: Vec<String>,
    /// Some input has this dtype ...
    pub dtype: Option<DType>,
    /// ... and at least this many bytes. Both conditions are for the same input.
    pub min_input_bytes: Option<u64>,
    pub source: Option<String>,
    pub kind: Option<GraphKind>,
    /// Least number of ops.
    pub min_ops: Option<usize>,
    /// Largest number of ops.
    pub max_ops: Option<usize>,
}

impl Filter {
    /// Returns whether the filter admits a sample.
    pub fn admits(&self, row: &SampleRow) -> bool {
        let fits_input = self.dtype.is_none() && self.min_input_bytes.is_none()
            || row.inputs.iter().any(|input| {
                self.dtype.is_none_or(|dtype| input.dtype == dtype)
                    // A size that does not fit 64 bits is larger than any bound.
                    && self.min_input_bytes.is_none_or(|min| input.nbytes().is_none_or(|bytes| bytes >= min))
            });
        fits_input
            && self.ops.iter().all(|op| row.ops.contains(op))
            && self.source.as_ref().is_none_or(|source| row.source.as_ref() == Some(source))
            && self.kind.is_none_or(|kind| row.kind == kind)
            && self.min_ops.is_none_or(|min| row.ops.len() >= min)
            && self.max_ops.is_none_or(|max| row.ops.len() <= max)
    }
}

/// Returns the samples that a filter admits, in order. A damaged part is an error among them.
///
/// # Errors
/// If the table cannot be listed.
pub fn query(
    dataset: &Dataset,
    table: Table,
    filter: Filter,
) -> Result<impl Iterator<Item = Result<SampleRow, TableError>>, TableError> {
    let rows = dataset.read::<SampleRow>(table)?;
    Ok(rows.filter(move |row| row.as_ref().map_or(true, |row| filter.admits(row))))
}

/// Error of a search for one sample.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The table cannot be listed, or a damaged part may hold the sample.
    #[error(transparent)]
    Store(#[from] TableError),
    /// Two samples match.
    #[error("both {0} and {1} end in `{2}`; name a longer part of the path")]
    Ambiguous(String, String, String),
    /// No sample matches.
    #[error("no sample of {0} ends in `{1}`; `passnet dataset query` lists them")]
    Missing(Table, String),
}

/// Returns the sample with this path, or the only sample whose path ends with it. Damaged rows are skipped. They are reported
/// only if no sample is found.
///
/// # Errors
/// If there is no such sample, or more than one.
pub fn find(dataset: &Dataset, table: Table, name: &str) -> Result<SampleRow, FindError> {
    let mut found: Option<SampleRow> = None;
    let mut damage = None;
    for row in dataset.read::<SampleRow>(table)? {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                damage.get_or_insert(error);
                continue;
            }
        };
        // An exact path is never ambiguous, even if other paths end with it.
        if row.path == name {
            return Ok(row);
        }
        if row.path.ends_with(name) {
            if let Some(other) = found {
                return Err(FindError::Ambiguous(other.path, row.path, name.to_owned()));
            }
            found = Some(row);
        }
    }
    match (found, damage) {
        (Some(row), _) => Ok(row),
        (None, Some(error)) => Err(error.into()),
        (None, None) => Err(FindError::Missing(table, name.to_owned())),
    }
}

/// Returns the facts about a sample as lines for people.
pub fn describe(row: &SampleRow) -> String {
    let optional = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut lines = vec![
        row.path.clone(),
        format!("kind      {}", row.kind),
        format!("source    {}", optional(&row.source)),
        format!("domain    {}", optional(&row.domain)),
        format!("ops       {}", row.ops.len()),
        format!("inputs    {}", row.inputs.len()),
    ];
    for rung in Rung::ALL {
        lines.push(format!("{:<9} {}", rung.name(), rung.of(&row.hashes).unwrap_or("-")));
    }
    let origins =
        row.origins.iter().map(|origin| format!("{} [{}, {})", origin.path, origin.range.start, origin.range.end));
    lines.extend(origins.map(|origin| format!("from      {origin}")));
    lines.extend(row.duplicates.iter().map(|path| format!("equals    {path}")));
    lines.extend(row.files.iter().map(|(name, content)| format!("file      {name} ({} bytes)", content.len())));
    lines.join("\n")
}

/// Counts over a table of samples.
#[derive(Debug, Default)]
pub struct SampleCounts {
    /// Number of samples.
    pub samples: usize,
    /// Number of ops in all of them.
    pub ops: usize,
    /// Number of samples by number of ops: the key is the exponent of the largest power of two that is not above the number.
    pub by_size: BTreeMap<u32, usize>,
    /// Number of samples by source (`-` where unknown).
    pub by_source: BTreeMap<String, usize>,
    /// Number of samples by field of use (`-` where unknown).
    pub by_domain: BTreeMap<String, usize>,
    /// Number of samples by kind.
    pub by_kind: BTreeMap<GraphKind, usize>,
    /// Number of inputs by dtype.
    pub by_dtype: BTreeMap<DType, usize>,
    /// Number of occurrences by op.
    pub by_op: BTreeMap<String, usize>,
    /// Number of distinct samples on each rung.
    pub distinct: Vec<(Rung, usize)>,
    /// Files and rows that could not be read.
    pub failures: Vec<SkippedData>,
}

impl SampleCounts {
    /// Returns the counts in the form that `--json` prints.
    pub fn printed(&self) -> PrintedCounts {
        PrintedCounts {
            schema_version: passnet_record::SCHEMA_VERSION,
            samples: self.samples,
            ops: self.ops,
            by_size: self.by_size.iter().map(|(log, count)| ((1_u64 << log).to_string(), *count)).collect(),
            by_source: self.by_source.clone(),
            by_domain: self.by_domain.clone(),
            by_kind: self.by_kind.iter().map(|(kind, count)| (kind.to_string(), *count)).collect(),
            by_dtype: self.by_dtype.iter().map(|(dtype, count)| (dtype.to_string(), *count)).collect(),
            by_op: self.by_op.clone(),
            distinct: self.distinct.iter().map(|(rung, count)| (rung.name(), *count)).collect(),
        }
    }
}

/// [`SampleCounts`] with the field names of its JSON form.
#[derive(Clone, Debug, Serialize)]
pub struct PrintedCounts {
    schema_version: u32,
    samples: usize,
    ops: usize,
    by_size: BTreeMap<String, usize>,
    by_source: BTreeMap<String, usize>,
    by_domain: BTreeMap<String, usize>,
    by_kind: BTreeMap<String, usize>,
    by_dtype: BTreeMap<String, usize>,
    by_op: BTreeMap<String, usize>,
    distinct: BTreeMap<&'static str, usize>,
}

/// Returns the counts over one table.
///
/// # Errors
/// If the table cannot be listed.
pub fn stats(dataset: &Dataset, table: Table) -> Result<SampleCounts, TableError> {
    let mut stats = SampleCounts::default();
    let mut hashes = vec![std::collections::BTreeSet::new(); Rung::ALL.len()];
    for row in dataset.read::<SampleRow>(table)? {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                stats.failures.push(SkippedData::of_store(&error));
                continue;
            }
        };
        stats.samples += 1;
        stats.ops += row.ops.len();
        *stats.by_size.entry(row.ops.len().checked_ilog2().unwrap_or(0)).or_default() += 1;
        let name = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        *stats.by_source.entry(name(&row.source)).or_default() += 1;
        *stats.by_domain.entry(name(&row.domain)).or_default() += 1;
        *stats.by_kind.entry(row.kind).or_default() += 1;
        for input in &row.inputs {
            *stats.by_dtype.entry(input.dtype).or_default() += 1;
        }
        for (hashes, rung) in hashes.iter_mut().zip(Rung::ALL) {
            hashes.extend(rung.of(&row.hashes).map(str::to_owned));
        }
        for op in row.ops {
            *stats.by_op.entry(op).or_default() += 1;
        }
    }
    stats.distinct = Rung::ALL.into_iter().zip(hashes.iter().map(std::collections::BTreeSet::len)).collect();
    Ok(stats)
}
