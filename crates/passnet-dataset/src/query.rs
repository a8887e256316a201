//! Looking into a dataset.

use std::collections::BTreeMap;

use passnet_record::DType;

use crate::{
    Dataset, Failure, Table,
    hashes::Rung,
    store::{Kind, SampleRow, StoreError},
};

/// Filter for samples. An empty field or `None` takes all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Every one of these ops occurs.
    pub ops: Vec<String>,
    /// One input has this type ...
    pub dtype: Option<DType>,
    /// ... and at least this many bytes.
    pub min_input_bytes: Option<u64>,
    /// `source` is this.
    pub source: Option<String>,
    /// `kind` is this.
    pub kind: Option<Kind>,
    /// At least this many ops.
    pub min_ops: Option<usize>,
    /// At most this many ops.
    pub max_ops: Option<usize>,
}

impl Filter {
    /// Returns whether a sample is taken.
    pub fn admits(&self, row: &SampleRow) -> bool {
        let fits_input = self.dtype.is_none() && self.min_input_bytes.is_none()
            || row.inputs.iter().any(|input| {
                self.dtype.is_none_or(|dtype| input.dtype == dtype)
                    // A size beyond 64 bits is more than any bound.
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

/// The samples that a filter takes, in order; damaged parts are errors among them.
///
/// # Errors
/// If the table cannot be listed.
pub fn query(
    dataset: &Dataset,
    table: Table,
    filter: Filter,
) -> Result<impl Iterator<Item = Result<SampleRow, StoreError>>, StoreError> {
    let rows = dataset.read::<SampleRow>(table)?;
    Ok(rows.filter(move |row| row.as_ref().map_or(true, |row| filter.admits(row))))
}

/// Counts over a table of samples.
#[derive(Debug, Default)]
pub struct Stats {
    /// Number of samples.
    pub samples: usize,
    /// Number of ops in all of them.
    pub ops: usize,
    /// Samples by number of ops: the key is the exponent of the power of two at or below it.
    pub by_size: BTreeMap<u32, usize>,
    /// Samples by source (`-` where unknown).
    pub by_source: BTreeMap<String, usize>,
    /// Samples by field of use (`-` where unknown).
    pub by_domain: BTreeMap<String, usize>,
    /// Samples by kind.
    pub by_kind: BTreeMap<Kind, usize>,
    /// Inputs by type.
    pub by_dtype: BTreeMap<DType, usize>,
    /// Number of occurrences of each op.
    pub by_op: BTreeMap<String, usize>,
    /// Distinct samples on each rung.
    pub distinct: Vec<(Rung, usize)>,
    /// Files and rows that could not be read.
    pub failures: Vec<Failure>,
}

/// Counts over one table.
///
/// # Errors
/// If the table cannot be listed.
pub fn stats(dataset: &Dataset, table: Table) -> Result<Stats, StoreError> {
    let mut stats = Stats::default();
    let mut hashes = vec![std::collections::BTreeSet::new(); Rung::ALL.len()];
    for row in dataset.read::<SampleRow>(table)? {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                stats.failures.push(Failure::of_store(&error));
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
