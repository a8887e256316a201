//! Revision of a suite to other shares: tasks beyond the shares are replaced by tasks of other suites.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    class::{Filling, Shares, TaskClass},
    contained::OpPlaces,
    split::{Split, SplitUnits},
    write::write_suite,
};
use crate::{
    Dataset, Table,
    store::{SampleRow, TableError, TaskRow},
};

/// Result of revising a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revised {
    /// Number of tasks that stayed.
    pub kept: usize,
    /// Number of trivial tasks that were removed.
    pub trivial: usize,
    /// Number of tasks that were removed to make room for language models.
    pub crowded: usize,
    /// Number of tasks that were added from the other suites.
    pub added: usize,
}

/// A task with its graphs.
struct Whole {
    task: TaskRow,
    rows: Vec<SampleRow>,
    class: TaskClass,
}

/// Writes a suite with `tasks` tasks within `shares` to `out`. It keeps the suite's own tasks in their order, as far as the
/// shares permit, and then adds tasks of `pool`, those of language models first. The share of tasks with several structures has no
/// effect. It does not add trivial tasks of `pool` or tasks
/// with op sequences of `without`.
///
/// # Errors
/// If a table cannot be read completely or cannot be written. `out` may be the suite itself.
pub fn revise(
    suite: &Dataset,
    pool: &[Dataset],
    without: &[Dataset],
    tasks: usize,
    shares: Shares,
    out: &Dataset,
) -> Result<Revised, TableError> {
    let own = whole_tasks(suite)?;
    let mut known: BTreeSet<Vec<String>> = own.iter().map(|whole| whole.task.ops.clone()).collect();
    for other in without {
        for task in other.read::<TaskRow>(Table::Tasks)? {
            known.insert(task?.ops);
        }
    }
    let mut fresh = Vec::new();
    for other in pool {
        fresh.extend(whole_tasks(other)?.into_iter().filter(|whole| !whole.class.is_trivial));
    }
    // `insert` also drops a sequence that two pools share: the first pool wins.
    fresh.retain(|whole| known.insert(whole.task.ops.clone()));
    let is_language = |whole: &&Whole| whole.class.is_language && !whole.class.is_trivial;
    let language = fresh.iter().chain(&own).filter(is_language).count();
    // If there are too few tasks of language models, all of them are used, and other tasks take the remaining places.
    let attainable = language as f64 / tasks.max(1) as f64;
    let mut filling = Filling::new(Shares { language: shares.language.min(attainable), ..shares }, tasks);
    let mut revised = Revised::default();
    let mut chosen: Vec<Whole> = Vec::new();
    let (mut others, mut left): (Vec<Whole>, usize) = (Vec::new(), tasks);
    for whole in own {
        if filling.admits(whole.class) && left > 0 {
            filling.add(whole.class);
            left -= 1;
            revised.kept += 1;
            chosen.push(whole);
        } else if whole.class.is_trivial {
            revised.trivial += 1;
        } else {
            revised.crowded += 1;
        }
    }
    let (language, rest): (Vec<Whole>, Vec<Whole>) = fresh.into_iter().partition(|whole| whole.class.is_language);
    others.extend(language.into_iter().chain(rest));
    for whole in others {
        if left > 0 && filling.admits(whole.class) {
            filling.add(whole.class);
            left -= 1;
            revised.added += 1;
            chosen.push(whole);
        }
    }
    // All tasks are in memory before the first one is written. So `out` may be the suite itself.
    let pairs = chosen.into_iter().map(|whole| (whole.key(), whole.rows)).collect();
    write_suite(out, "eval", pairs)?;
    Ok(revised)
}

/// Removes from a training split the op sequences of a suite, and graphs whose structure the suite has, and writes the rest to
/// `out`. Graphs that have an op in common with a graph of the suite are removed too, because both were cut from the same place
/// of a model. If `split` keeps models or families on one side, graphs of the suite's models or families are also removed.
/// Returns the numbers of removed tasks and graphs. `out` may be the split itself.
///
/// # Errors
/// If a table cannot be read completely or cannot be written.
pub fn withhold(
    train: &Dataset,
    suites: &[Dataset],
    split: Split,
    out: &Dataset,
) -> Result<(usize, usize), TableError> {
    let mut units = SplitUnits::new(split);
    let (mut sequences, mut structures, mut places) = (BTreeSet::new(), BTreeSet::new(), OpPlaces::default());
    for suite in suites {
        for row in suite.read::<SampleRow>(Table::Subgraphs)? {
            let row = row?;
            places.add_origins(&row);
            units.add_origins(&row);
            sequences.insert(row.ops);
            structures.extend(row.hashes.structure);
        }
    }
    let (mut tasks, mut graphs, mut kept) = (0, 0, Vec::new());
    for mut whole in whole_tasks(train)? {
        let before = whole.rows.len();
        let is_evaluated = sequences.contains(&whole.task.ops);
        let is_free = |row: &SampleRow| {
            let is_new = row.hashes.structure.as_ref().is_none_or(|hash| !structures.contains(hash));
            is_new && !places.has_origin_of(row) && !units.has_origin_of(row)
        };
        whole.rows.retain(|row| !is_evaluated && is_free(row));
        graphs += before - whole.rows.len();
        if whole.rows.is_empty() {
            tasks += 1;
        } else {
            kept.push((whole.key(), whole.rows));
        }
    }
    write_suite(out, "train", kept)?;
    Ok((tasks, graphs))
}

impl Whole {
    /// Returns the hash of the op sequence, which identifies the task.
    fn key(&self) -> String {
        self.rows.first().and_then(|row| row.hashes.ops.clone()).unwrap_or_default()
    }
}

/// Returns the tasks of a suite in order, with their graphs in the order of each task.
fn whole_tasks(suite: &Dataset) -> Result<Vec<Whole>, TableError> {
    let mut rows = BTreeMap::new();
    for row in suite.read::<SampleRow>(Table::Subgraphs)? {
        let row = row?;
        rows.insert(row.path.clone(), row);
    }
    let mut found = Vec::new();
    for task in suite.read::<TaskRow>(Table::Tasks)? {
        let task = task?;
        let rows: Vec<SampleRow> = task.graphs.iter().filter_map(|path| rows.remove(path)).collect();
        let class = TaskClass::of(&task.ops, rows.iter());
        found.push(Whole { task, rows, class });
    }
    Ok(found)
}
