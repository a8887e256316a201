//! Repair of a table: what can be read of damaged files is written again.

use std::path::PathBuf;

use crate::{
    Dataset, Table,
    store::{Row, TableError},
};

/// A file that was replaced because some of its rows cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The file, which is kept as `damaged-...`.
    pub path: PathBuf,
    /// The first error.
    pub error: String,
    /// Rows that were read and kept.
    pub kept: usize,
}

/// Replaces the files of a table that have rows that cannot be read, or other bytes than were written. Rows that can be read stay in their
/// order; a damaged file is kept next to the table. A table without damage is not written.
///
/// # Errors
/// If the table cannot be listed or written.
pub fn repair<R: Row + 'static>(dataset: &Dataset, table: Table) -> Result<Vec<Repaired>, TableError> {
    // Parquet detects damage of pages only where it has checksums; these cover the whole file.
    let altered = dataset.find_altered(table)?;
    let mut found = Vec::new();
    for part in dataset.parts(table)? {
        let mut rows = crate::dataset::rows_of::<R>(&part);
        let error = rows.find_map(Result::err).map(|error| error.to_string());
        let error = error.or_else(|| {
            let is_altered = altered.contains(&part);
            is_altered.then(|| format!("{}: its bytes are not those that were written", part.display()))
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
