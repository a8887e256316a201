//! Dropping duplicates, with lineage.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Dataset, Failure, Table,
    dataset::{Replacement, rows_of},
    hashes::{Rung, half},
    store::{Hashes, Lineage, Origin, SampleRow, StoreError, TableWriter},
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
/// The table is read twice, the first time without files, so that memory holds paths, origins and hashes only. Files are
/// read and written side by side: each new one holds what is kept of an old one.
///
/// # Errors
/// If a table cannot be listed or written. Damaged rows are failures in the result.
pub fn dedup(dataset: &Dataset, table: Table, rung: Rung, out: &Dataset) -> Result<Deduplicated, StoreError> {
    let mut result = Deduplicated::default();
    let parts = dataset.parts(table)?;
    let mut classes = classes(&parts, rung, &mut result);
    let mut replacement = out.replacement(table)?;
    let first = |part: u32, key: Option<u128>, path: &str| match key {
        None => Choice::Keep,
        Some(key) => match classes.get(&key) {
            Some(class) if class.part == part && class.paths[0] == path => Choice::Merge(class.clone()),
            _ => Choice::Drop,
        },
    };
    let kept: Vec<Result<Kept, StoreError>> = parts
        .par_iter()
        .enumerate()
        .map(|(number, part)| {
            let number = number as u32;
            let mut kept = Kept::file(&replacement, number);
            kept.take(part, rung, |key, path| first(number, key, path))?;
            Ok(kept)
        })
        .collect();
    let mut written = Vec::new();
    for kept in kept {
        written.extend(kept?.finish(&mut classes, &mut result)?);
    }
    if !classes.is_empty() {
        // Their first members are in damaged row groups; the next ones that can be read take their place.
        let mut kept = Kept::file(&replacement, parts.len() as u32);
        let mut left = std::mem::take(&mut classes);
        for part in &parts {
            let mut next = |key: Option<u128>| left.remove(&key?);
            kept.take(part, rung, |key, _| next(key).map_or(Choice::Drop, Choice::Merge))?;
        }
        // Damage was told the first time.
        kept.failures.clear();
        written.extend(kept.finish(&mut classes, &mut result)?);
    }
    for failure in &result.failures {
        replacement.keep_damaged(Path::new(&failure.what));
    }
    replacement.finish(written)?;
    Ok(result)
}

/// Files whose hashes are in memory at a time, before they are counted.
const FILES: usize = 16;

/// All classes of the files of a table; counts rows and rungs.
fn classes(parts: &[PathBuf], rung: Rung, result: &mut Deduplicated) -> FxHashMap<u128, Class> {
    let mut seen: Vec<FxHashSet<u128>> = vec![FxHashSet::default(); Rung::ALL.len()];
    let mut classes: FxHashMap<u128, Class> = FxHashMap::default();
    for (parts, first) in parts.chunks(FILES).zip((0_u32..).step_by(FILES)) {
        let files: Vec<Vec<Member>> = parts
            .par_iter()
            .map(|part| rows_of::<Lineage>(part).flatten().map(|row| Member::new(rung, row)).collect())
            .collect();
        for (part, member) in
            files.into_iter().zip(first..).flat_map(|(file, part)| file.into_iter().map(move |m| (part, m)))
        {
            result.rows += 1;
            for (seen, key) in seen.iter_mut().zip(member.keys) {
                seen.extend(key);
            }
            let Some(key) = member.key else { continue };
            let class = classes.entry(key).or_insert_with(|| Class { part, paths: Vec::new(), origins: Vec::new() });
            class.paths.push(member.path);
            class.paths.extend(member.duplicates);
            class.origins.extend(member.origins);
        }
    }
    result.distinct = Rung::ALL.into_iter().zip(seen.iter().map(FxHashSet::len)).collect();
    classes
}

fn key(rung: Rung, hashes: &Hashes) -> Option<u128> {
    half(rung.of(hashes)?)
}

/// Samples that equal one another, in the order of the table.
#[derive(Clone)]
struct Class {
    /// Which file has the first.
    part: u32,
    /// Paths of all, and of their duplicates; at least one.
    paths: Vec<String>,
    origins: Vec<Origin>,
}

/// A row without its files.
struct Member {
    keys: [Option<u128>; Rung::ALL.len()],
    /// The key that decides.
    key: Option<u128>,
    path: String,
    duplicates: Vec<String>,
    origins: Vec<Origin>,
}

impl Member {
    fn new(rung: Rung, row: Lineage) -> Self {
        let Lineage { path, hashes, origins, duplicates } = row;
        Self { keys: Rung::ALL.map(|rung| key(rung, &hashes)), key: key(rung, &hashes), path, duplicates, origins }
    }
}

/// What becomes of a row.
enum Choice {
    Drop,
    Keep,
    /// It stands for its class.
    Merge(Class),
}

/// A new file with what is kept of old ones.
struct Kept<'a> {
    replacement: &'a Replacement,
    number: u32,
    writer: Option<TableWriter<SampleRow>>,
    rows: usize,
    /// Classes that stand in it.
    classes: Vec<u128>,
    failures: Vec<Failure>,
}

impl<'a> Kept<'a> {
    fn file(replacement: &'a Replacement, number: u32) -> Self {
        Self { replacement, number, writer: None, rows: 0, classes: Vec::new(), failures: Vec::new() }
    }

    /// Takes the rows of an old file that are to be kept.
    fn take(
        &mut self,
        part: &Path,
        rung: Rung,
        mut choose: impl FnMut(Option<u128>, &str) -> Choice,
    ) -> Result<(), StoreError> {
        for row in rows_of::<SampleRow>(part) {
            let mut row = match row {
                Ok(row) => row,
                Err(error) => {
                    self.failures.push(Failure::of_store(&error));
                    continue;
                }
            };
            let key = key(rung, &row.hashes);
            match choose(key, &row.path) {
                Choice::Drop => continue,
                Choice::Keep => {}
                Choice::Merge(class) => {
                    row.duplicates = class.paths.into_iter().filter(|path| *path != row.path).collect();
                    row.origins = merge_origins(class.origins);
                    self.classes.extend(key);
                }
            }
            let writer = match &mut self.writer {
                Some(writer) => writer,
                None => self.writer.insert(self.replacement.part(self.number)?),
            };
            writer.push(row)?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Completes the file, takes what stands in it out of `classes`, and gives its number if it has a row.
    fn finish(
        self,
        classes: &mut FxHashMap<u128, Class>,
        result: &mut Deduplicated,
    ) -> Result<Option<u32>, StoreError> {
        result.kept += self.rows;
        result.failures.extend(self.failures);
        for key in &self.classes {
            classes.remove(key);
        }
        let Some(writer) = self.writer else { return Ok(None) };
        writer.finish()?;
        Ok(Some(self.number))
    }
}

/// Every origin once, by path and range.
pub(crate) fn merge_origins(origins: Vec<Origin>) -> Vec<Origin> {
    let merged: BTreeMap<_, _> =
        origins.into_iter().map(|origin| ((origin.path.clone(), origin.range), origin)).collect();
    merged.into_values().collect()
}
