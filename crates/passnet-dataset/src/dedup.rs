//! Dropping duplicates, with lineage.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::{
    Dataset, Failure, Table,
    hashes::Rung,
    store::{Origin, SampleRow, StoreError},
};

/// What was found, and what was kept.
#[derive(Debug, Default)]
pub struct Deduplicated {
    /// Rows read.
    pub rows: usize,
    /// Distinct samples on each rung.
    pub distinct: Vec<(Rung, usize)>,
    /// Rows written.
    pub kept: usize,
    /// What could not be read.
    pub failures: Vec<Failure>,
}

/// Counts the distinct samples of a table on each rung of the ladder.
///
/// # Errors
/// If the table cannot be listed.
pub fn ladder(dataset: &Dataset, table: Table) -> Result<Deduplicated, StoreError> {
    let mut result = Deduplicated::default();
    let mut seen: Vec<BTreeSet<String>> = vec![BTreeSet::new(); Rung::ALL.len()];
    for row in dataset.read::<SampleRow>(table)? {
        match row {
            Ok(row) => {
                result.rows += 1;
                for (seen, rung) in seen.iter_mut().zip(Rung::ALL) {
                    seen.extend(rung.of(&row.hashes).map(str::to_owned));
                }
            }
            Err(error) => result.failures.push(Failure::of_store(&error)),
        }
    }
    result.distinct = Rung::ALL.into_iter().zip(seen.iter().map(BTreeSet::len)).collect();
    Ok(result)
}

/// Writes the first sample of each class of equal ones to the same table of `out`. It gets the paths of the others in
/// `duplicates` and all their origins. Samples without the hash of the rung are kept.
///
/// The table is read twice, so that memory holds paths and origins only.
///
/// # Errors
/// If a table cannot be listed or written. Damaged rows are failures in the result.
pub fn dedup(dataset: &Dataset, table: Table, rung: Rung, out: &Dataset) -> Result<Deduplicated, StoreError> {
    let mut result = ladder(dataset, table)?;
    let mut classes: FxHashMap<String, Class> = FxHashMap::default();
    for row in dataset.read::<SampleRow>(table)?.flatten() {
        let Some(hash) = rung.of(&row.hashes) else { continue };
        let class = classes.entry(hash.to_owned()).or_default();
        class.paths.push(row.path);
        class.paths.extend(row.duplicates);
        class.origins.extend(row.origins);
    }
    let mut writer = out.replace(table)?;
    for mut row in dataset.read::<SampleRow>(table)?.flatten() {
        if let Some(hash) = rung.of(&row.hashes) {
            // The class goes with its first member; the others find nothing.
            let Some(class) = classes.remove(hash) else { continue };
            row.duplicates = class.paths.into_iter().skip(1).collect();
            row.origins = merge_origins(class.origins);
        }
        writer.push(row)?;
        result.kept += 1;
    }
    writer.finish()?;
    Ok(result)
}

/// Samples that equal one another, in the order of the table.
#[derive(Default)]
struct Class {
    paths: Vec<String>,
    origins: Vec<Origin>,
}

/// Every origin once, by path and range.
pub(crate) fn merge_origins(origins: Vec<Origin>) -> Vec<Origin> {
    let merged: BTreeMap<_, _> =
        origins.into_iter().map(|origin| ((origin.path.clone(), origin.range), origin)).collect();
    merged.into_values().collect()
}
