//! Dropping duplicates, with lineage.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Dataset, Failure, Table,
    hashes::Rung,
    store::{Hashes, Lineage, Origin, SampleRow, StoreError},
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

/// Writes the first sample of each class of equal ones to the same table of `out`. It gets the paths of the others in
/// `duplicates` and all their origins. Samples without the hash of the rung are kept. All rungs are counted.
///
/// The table is read twice, the first time without files, so that memory holds paths, origins and hashes only.
///
/// # Errors
/// If a table cannot be listed or written. Damaged rows are failures in the result.
pub fn dedup(dataset: &Dataset, table: Table, rung: Rung, out: &Dataset) -> Result<Deduplicated, StoreError> {
    let mut result = Deduplicated::default();
    let mut seen: Vec<FxHashSet<u128>> = vec![FxHashSet::default(); Rung::ALL.len()];
    let mut classes: FxHashMap<u128, Class> = FxHashMap::default();
    for row in dataset.read::<Lineage>(table)?.flatten() {
        result.rows += 1;
        for (seen, rung) in seen.iter_mut().zip(Rung::ALL) {
            seen.extend(key(rung, &row.hashes));
        }
        let Some(key) = key(rung, &row.hashes) else { continue };
        let class = classes.entry(key).or_default();
        class.paths.push(row.path);
        class.paths.extend(row.duplicates);
        class.origins.extend(row.origins);
    }
    result.distinct = Rung::ALL.into_iter().zip(seen.iter().map(FxHashSet::len)).collect();
    drop(seen);
    let mut writer = out.replace(table)?;
    for row in dataset.read::<SampleRow>(table)? {
        let mut row = match row {
            Ok(row) => row,
            Err(error) => {
                result.failures.push(Failure::of_store(&error));
                continue;
            }
        };
        if let Some(key) = key(rung, &row.hashes) {
            // The class goes with its first member that can be read; the others find nothing.
            let Some(class) = classes.remove(&key) else { continue };
            row.duplicates = class.paths.into_iter().filter(|path| *path != row.path).collect();
            row.origins = merge_origins(class.origins);
        }
        writer.push(row)?;
        result.kept += 1;
    }
    writer.finish()?;
    Ok(result)
}

/// The first half of a hash: enough to tell samples apart, and a quarter of the memory of its text.
fn key(rung: Rung, hashes: &Hashes) -> Option<u128> {
    u128::from_str_radix(rung.of(hashes)?.get(..32)?, 16).ok()
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
