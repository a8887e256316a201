//! Deduplication: drops equal samples and records which ones were dropped.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Dataset, SkippedData, Table,
    dataset::{FileReplacement, part_number, rows_of},
    hashes::{Rung, half},
    store::{Hashes, Lineage, SampleRow, SubgraphOrigin, TableError, TableWriter},
};

/// Result of a deduplication.
#[derive(Debug, Default)]
pub struct Deduplicated {
    /// Number of rows that were read.
    pub rows: usize,
    /// Number of distinct samples on each rung.
    pub distinct: Vec<(Rung, usize)>,
    /// Number of rows that were written.
    pub kept: usize,
    /// Files and rows that could not be read.
    pub failures: Vec<SkippedData>,
}

/// Writes the first sample of each class of equal samples to the same table of `out`. The sample gets the paths of the others in
/// `duplicates`, and all of their origins. Samples without the hash of the rung are kept. Distinct samples are counted on all
/// rungs.
///
/// The table is read twice, the first time without the files of samples, so that memory holds only paths, origins and hashes.
/// Parts are read and written in parallel: each new part holds the rows of an old part that are kept.
///
/// # Errors
/// If a table cannot be listed or written. Damaged rows are failures in the result.
pub fn dedup(dataset: &Dataset, table: Table, rung: Rung, out: &Dataset) -> Result<Deduplicated, TableError> {
    let mut result = Deduplicated::default();
    // Each new file has the number of the old one, so that the files that an interruption leaves also form a table.
    let parts: Vec<(u32, PathBuf)> =
        dataset.parts(table)?.into_iter().filter_map(|part| Some((part_number(&part)?, part))).collect();
    // The first pass reads the columns of hashes and origins only. Files make up most of a row and are needed only for rows that
    // are kept.
    let mut classes = classes(&parts, rung, &mut result);
    let mut replacement = out.replacement(table)?;
    let first = |part: u32, key: Option<u128>, path: &str| match key {
        None => RowDecision::Keep,
        Some(key) => match classes.get(&key) {
            Some(class) if class.part == part && class.paths[0] == path => RowDecision::Merge(class.clone()),
            _ => RowDecision::Drop,
        },
    };
    let files: Vec<Result<Kept, TableError>> = parts
        .par_iter()
        .map(|(number, part)| {
            let mut file = KeptWriter::new(&replacement, *number);
            file.take(part, rung, |key, path| first(*number, key, path))?;
            file.finish()
        })
        .collect();
    let mut written = Vec::new();
    for kept in files {
        let kept = kept?;
        written.extend(kept.number);
        result.add(kept, &mut classes);
    }
    if !classes.is_empty() {
        // The first members of these classes are in damaged row groups. The next members that can be read replace them.
        let mut file = KeptWriter::new(&replacement, parts.last().map_or(0, |(last, _)| last + 1));
        let mut left = std::mem::take(&mut classes);
        for (_, part) in &parts {
            let mut next = |key: Option<u128>| left.remove(&key?);
            file.take(part, rung, |key, _| next(key).map_or(RowDecision::Drop, RowDecision::Merge))?;
        }
        // The first pass has already reported the damage.
        let kept = Kept { failures: Vec::new(), ..file.finish()? };
        written.extend(kept.number);
        result.add(kept, &mut classes);
    }
    for failure in &result.failures {
        // A damaged file may be repaired later, so it must survive when the table is written again.
        replacement.keep_damaged(Path::new(&failure.what));
    }
    replacement.finish(written)?;
    Ok(result)
}

/// Number of files whose hashes are in memory before they are counted.
const FILES: usize = 16;

/// Returns all classes of the files of a table. Counts rows and distinct samples.
fn classes(parts: &[(u32, PathBuf)], rung: Rung, result: &mut Deduplicated) -> FxHashMap<u128, DuplicateClass> {
    let mut seen: Vec<FxHashSet<u128>> = vec![FxHashSet::default(); Rung::ALL.len()];
    let mut classes: FxHashMap<u128, DuplicateClass> = FxHashMap::default();
    for parts in parts.chunks(FILES) {
        let files: Vec<Vec<RowSummary>> = parts
            .par_iter()
            .map(|(_, part)| rows_of::<Lineage>(part).flatten().map(|row| RowSummary::new(rung, row)).collect())
            .collect();
        let members =
            parts.iter().zip(files).flat_map(|((part, _), file)| file.into_iter().map(move |row| (*part, row)));
        for (part, member) in members {
            result.rows += 1;
            for (seen, key) in seen.iter_mut().zip(member.keys) {
                seen.extend(key);
            }
            let Some(key) = member.key else { continue };
            let class =
                classes.entry(key).or_insert_with(|| DuplicateClass { part, paths: Vec::new(), origins: Vec::new() });
            class.paths.push(member.path);
            class.paths.extend(member.duplicates);
            class.origins.extend(member.origins);
        }
    }
    result.distinct = Rung::ALL.into_iter().zip(seen.iter().map(FxHashSet::len)).collect();
    classes
}

fn key(rung: Rung, hashes: &Hashes) -> Option<u128> {
    // 128 bits instead of a text of 64 characters, because there are millions of rows. The probability that two of a billion
    // hashes have the same 128 bits is below 1e-20.
    half(rung.of(hashes)?)
}

/// Samples that are equal, in the order of the table.
#[derive(Clone)]
struct DuplicateClass {
    /// Number of the file that contains the first sample.
    part: u32,
    /// Paths of all samples and of their duplicates. There is at least one.
    paths: Vec<String>,
    origins: Vec<SubgraphOrigin>,
}

/// A row without its files.
struct RowSummary {
    keys: [Option<u128>; Rung::ALL.len()],
    /// Half of the hash that decides whether samples are equal.
    key: Option<u128>,
    path: String,
    duplicates: Vec<String>,
    origins: Vec<SubgraphOrigin>,
}

impl RowSummary {
    fn new(rung: Rung, row: Lineage) -> Self {
        let Lineage { path, hashes, origins, duplicates } = row;
        Self { keys: Rung::ALL.map(|rung| key(rung, &hashes)), key: key(rung, &hashes), path, duplicates, origins }
    }
}

/// Decision about a row.
enum RowDecision {
    Drop,
    Keep,
    /// The row is kept and represents its class.
    Merge(DuplicateClass),
}

/// Rows of a file that are kept.
#[derive(Default)]
struct Kept {
    /// Number of the new file, if it has any rows.
    number: Option<u32>,
    rows: usize,
    /// Classes whose representatives are in the new file.
    classes: Vec<u128>,
    failures: Vec<SkippedData>,
}

impl Deduplicated {
    /// Counts a file, and removes the classes that it represents from `classes`.
    fn add(&mut self, file: Kept, classes: &mut FxHashMap<u128, DuplicateClass>) {
        self.kept += file.rows;
        self.failures.extend(file.failures);
        for key in &file.classes {
            classes.remove(key);
        }
    }
}

/// Writes a new file with the rows of old files that are kept.
struct KeptWriter<'a> {
    replacement: &'a FileReplacement,
    number: u32,
    writer: Option<TableWriter<SampleRow>>,
    kept: Kept,
}

impl<'a> KeptWriter<'a> {
    fn new(replacement: &'a FileReplacement, number: u32) -> Self {
        Self { replacement, number, writer: None, kept: Kept::default() }
    }

    /// Adds the rows of an old file that are kept.
    fn take(
        &mut self,
        part: &Path,
        rung: Rung,
        mut choose: impl FnMut(Option<u128>, &str) -> RowDecision,
    ) -> Result<(), TableError> {
        for row in rows_of::<SampleRow>(part) {
            let mut row = match row {
                Ok(row) => row,
                Err(error) => {
                    self.kept.failures.push(SkippedData::of_store(&error));
                    continue;
                }
            };
            let key = key(rung, &row.hashes);
            match choose(key, &row.path) {
                RowDecision::Drop => continue,
                RowDecision::Keep => {}
                RowDecision::Merge(class) => {
                    let mut seen = FxHashSet::from_iter([row.path.clone()]);
                    row.duplicates = class.paths.into_iter().filter(|path| seen.insert(path.clone())).collect();
                    row.origins = merge_origins(class.origins);
                    self.kept.classes.extend(key);
                }
            }
            let writer = match &mut self.writer {
                Some(writer) => writer,
                None => self.writer.insert(self.replacement.part(self.number)?),
            };
            writer.push(row)?;
            self.kept.rows += 1;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Kept, TableError> {
        if let Some(writer) = self.writer {
            writer.finish()?;
            self.kept.number = Some(self.number);
        }
        Ok(self.kept)
    }
}

/// Returns each origin once, ordered by path and range.
pub(crate) fn merge_origins(origins: Vec<SubgraphOrigin>) -> Vec<SubgraphOrigin> {
    let merged: BTreeMap<_, _> =
        origins.into_iter().map(|origin| ((origin.path.clone(), origin.range), origin)).collect();
    merged.into_values().collect()
}
