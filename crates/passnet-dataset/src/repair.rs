//! Repair of a table: rows of damaged files that can be read are written to new files.

use std::path::PathBuf;

use crate::{
    Dataset, Table,
    store::{Row, TableError},
};

/// A file that was replaced because some of its rows cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The damaged file, which is kept as `damaged-...`.
    pub path: PathBuf,
    /// The first error.
    pub error: String,
    /// Number of rows that were read and kept.
    pub kept: usize,
}

/// Replaces those files of a table in which some rows cannot be read or some bytes have changed. Rows that can be read stay in
/// their order. A damaged file is kept next to the table. A table without damage is not written.
///
/// # Errors
/// If the table cannot be listed or written.
pub fn repair<R: Row + 'static>(dataset: &Dataset, table: Table) -> Result<Vec<Repaired>, TableError> {
    // Parquet detects damage only in pages that have checksums. The checksums of the table cover whole files.
    let altered = dataset.find_altered(table)?;
    let mut found = Vec::new();
    for part in dataset.parts(table)? {
        let mut rows = crate::dataset::rows_of::<R>(&part);
        let error = rows.find_map(Result::err).map(|error| error.to_string());
        let error = error.or_else(|| {
            let is_altered = altered.contains(&part);
            is_altered.then(|| format!("{}: its content has changed since it was written", part.display()))
        });
        if let Some(error) = error {
            found.push(Repaired { path: part, error, kept: 0 });
        }
    }
    if found.is_empty() {
        return Ok(found);
    }
    let mut writer = dataset.replace::<R>(table)?;
    for part in dataset.parts(table)? {
        let mut kept = 0;
        for row in crate::dataset::rows_of::<R>(&part).flatten() {
            writer.push(row)?;
            kept += 1;
        }
        if let Some(repaired) = found.iter_mut().find(|repaired| repaired.path == part) {
            repaired.kept = kept;
            writer.keep_damaged(&part);
        }
    }
    writer.finish()?;
    Ok(found)
}
