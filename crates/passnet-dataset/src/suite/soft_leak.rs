//! Soft leaks: evaluation data that resembles training data without being equal to it.

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::{SCHEMA_VERSION, TextReport, TextTable, counted};
use serde::Serialize;

use super::{
    contained::{OpNumbers, OpPlaces, contained},
    family::{family, model},
    leak::leaks,
};
use crate::{
    Dataset, Table,
    store::{SampleRow, TableError, TaskRow},
};

/// Resemblance of evaluation suites and a training split. Serializes to the JSON of `passnet dataset leaks`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeakReport {
    pub schema_version: u32,
    /// Name of the training split.
    pub train: String,
    /// Numbers of tasks and graphs of the training split.
    pub train_tasks: usize,
    pub train_graphs: usize,
    pub suites: Vec<SuiteLeaks>,
}

/// Resemblance of one suite and the training split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteLeaks {
    /// Name of the suite.
    pub suite: String,
    /// Numbers of tasks and graphs of the suite.
    pub tasks: usize,
    pub graphs: usize,
    /// Hard leaks: structural hashes and op sequences that are in both.
    pub structures: BTreeSet<String>,
    pub sequences: BTreeSet<String>,
    /// Tasks whose op sequence is contained in a longer one of training.
    pub inside: Containment,
    /// Tasks whose op sequence contains a shorter one of training.
    pub around: Containment,
    /// Pairs of a task of the suite and a task of training, those with the largest share first.
    pub pairs: Vec<SequencePair>,
    /// Numbers of tasks and graphs of models whose architecture family is in training.
    pub family_tasks: usize,
    pub family_graphs: usize,
    /// Families of the suite, each with its number of graphs in the suite and in training, even if the latter is 0.
    pub families: BTreeMap<String, FamilyGraphs>,
    /// Number of graphs of models from which training has graphs.
    pub model_graphs: usize,
    /// Number of graphs among these that share ops of the full graph with a training graph.
    pub overlapping_graphs: usize,
}

/// Tasks whose op sequence contains or is contained in one of training.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Containment {
    pub tasks: usize,
    /// Number of tasks with a pair whose shorter sequence is at least half as long as the longer one.
    pub half: usize,
    /// Number of tasks by the number of ops of the longest shared sequence.
    pub by_ops: BTreeMap<usize, usize>,
}

/// Two tasks, of which the op sequence of one contains that of the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SequencePair {
    /// Task of the suite.
    pub task: String,
    /// Task of training.
    pub train: String,
    /// `inside` if the sequence of training contains that of the task, `around` if it is the other way round.
    pub relation: &'static str,
    /// Number of ops of the shorter sequence.
    pub ops: usize,
    /// Number of ops of the shorter sequence, divided by that of the longer one.
    pub share: f64,
}

/// Numbers of graphs of a family in a suite and in training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FamilyGraphs {
    pub eval: usize,
    pub train: usize,
}

/// The training split in the form in which all suites are compared with it.
struct Training {
    tasks: Vec<(String, Vec<u32>)>,
    graphs: usize,
    families: BTreeMap<String, usize>,
    models: BTreeSet<String>,
    places: OpPlaces,
}

/// Number of pairs in the text report of each suite.
const SHOWN_PAIRS: usize = 5;

/// Compares each suite with a training split. Pairs whose shorter sequence has fewer than `min_ops` ops are counted but not
/// listed.
///
/// # Errors
/// If a table cannot be read completely: without all rows, the absence of an overlap is not proven.
pub fn leak_report(eval: &[Dataset], train: &Dataset, min_ops: usize) -> Result<LeakReport, TableError> {
    let mut numbers = OpNumbers::default();
    let training = read_training(train, &mut numbers)?;
    let suites = eval.iter().map(|suite| compare(suite, train, &training, &mut numbers, min_ops));
    Ok(LeakReport {
        schema_version: SCHEMA_VERSION,
        train: train.name(),
        suites: suites.collect::<Result<_, TableError>>()?,
        train_tasks: training.tasks.len(),
        train_graphs: training.graphs,
    })
}

fn read_training(train: &Dataset, numbers: &mut OpNumbers) -> Result<Training, TableError> {
    let mut training = Training {
        tasks: sequences(train, numbers)?,
        graphs: 0,
        families: BTreeMap::new(),
        models: BTreeSet::new(),
        places: OpPlaces::default(),
    };
    for row in train.read::<SampleRow>(Table::Subgraphs)? {
        let row = row?;
        training.graphs += 1;
        for family in families(&row) {
            *training.families.entry(family).or_default() += 1;
        }
        for origin in &row.origins {
            training.models.insert(model(&origin.path).to_owned());
        }
        training.places.add_origins(&row);
    }
    Ok(training)
}

fn compare(
    suite: &Dataset,
    train: &Dataset,
    training: &Training,
    numbers: &mut OpNumbers,
    min_ops: usize,
) -> Result<SuiteLeaks, TableError> {
    let tasks = sequences(suite, numbers)?;
    let hard = leaks(std::slice::from_ref(suite), train)?;
    let ops = |tasks: &[(String, Vec<u32>)]| tasks.iter().map(|(_, ops)| ops.clone()).collect::<Vec<_>>();
    let (own, others) = (ops(&tasks), ops(&training.tasks));
    let inside = contained(&own, &others);
    // The same search with the roles exchanged. The pairs are turned, so that the task of the suite is always first.
    let around: Vec<_> = contained(&others, &own).into_iter().map(|(other, task)| (task, other)).collect();
    let mut found = SuiteLeaks {
        suite: suite.name(),
        tasks: tasks.len(),
        graphs: 0,
        structures: hard.structures,
        sequences: hard.sequences,
        inside: Containment::of(&inside, &own, &others),
        around: Containment::of(&around, &own, &others),
        pairs: Vec::new(),
        family_tasks: 0,
        family_graphs: 0,
        families: BTreeMap::new(),
        model_graphs: 0,
        overlapping_graphs: 0,
    };
    for (relation, pairs) in [("inside", inside), ("around", around)] {
        for (task, other) in pairs {
            let (ops, share) = shared_ops(&own[task], &others[other]);
            let (task, train) = (tasks[task].0.clone(), training.tasks[other].0.clone());
            found.pairs.extend((ops >= min_ops).then_some(SequencePair { task, train, relation, ops, share }));
        }
    }
    found.pairs.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.ops.cmp(&a.ops)).then(a.task.cmp(&b.task)));
    found.add_graphs(suite, training)?;
    Ok(found)
}

impl SuiteLeaks {
    fn add_graphs(&mut self, suite: &Dataset, training: &Training) -> Result<(), TableError> {
        let mut tasks = BTreeSet::new();
        for row in suite.read::<SampleRow>(Table::Subgraphs)? {
            let row = row?;
            self.graphs += 1;
            let families = families(&row);
            for family in &families {
                let train = training.families.get(family).copied().unwrap_or(0);
                self.families.entry(family.clone()).or_insert(FamilyGraphs { eval: 0, train }).eval += 1;
            }
            if families.iter().any(|family| training.families.contains_key(family)) {
                self.family_graphs += 1;
                tasks.insert(row.ops.clone());
            }
            self.model_graphs +=
                usize::from(row.origins.iter().any(|origin| training.models.contains(model(&origin.path))));
            self.overlapping_graphs += usize::from(training.places.has_origin_of(&row));
        }
        // Tasks are counted by op sequence, which identifies a task.
        self.family_tasks = tasks.len();
        Ok(())
    }

    /// Returns whether the suite and training have a structure or an op sequence in common.
    pub fn is_hard(&self) -> bool {
        !self.structures.is_empty() || !self.sequences.is_empty()
    }
}

impl Containment {
    /// Counts pairs of indices into the sequences of the suite and of training.
    fn of(pairs: &[(usize, usize)], own: &[Vec<u32>], others: &[Vec<u32>]) -> Self {
        let mut longest: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        for &(task, other) in pairs {
            let (ops, share) = shared_ops(&own[task], &others[other]);
            let most = longest.entry(task).or_insert((0, 0.0));
            *most = (most.0.max(ops), most.1.max(share));
        }
        let mut by_ops = BTreeMap::new();
        longest.values().for_each(|(ops, _)| *by_ops.entry(*ops).or_default() += 1);
        let half = longest.values().filter(|(_, share)| *share >= 0.5).count();
        Self { tasks: longest.len(), half, by_ops }
    }
}

/// Returns the number of ops of the shorter of two sequences, and its share of the longer one.
fn shared_ops(a: &[u32], b: &[u32]) -> (usize, f64) {
    let (ops, longer) = (a.len().min(b.len()), a.len().max(b.len()));
    (ops, ops as f64 / longer.max(1) as f64)
}

/// Returns ids and op sequences of the tasks of a dataset. Tasks with unknown ops are left out.
fn sequences(dataset: &Dataset, numbers: &mut OpNumbers) -> Result<Vec<(String, Vec<u32>)>, TableError> {
    let mut tasks = Vec::new();
    for task in dataset.read::<TaskRow>(Table::Tasks)? {
        let task = task?;
        tasks.extend((!task.ops.is_empty()).then(|| (task.id, numbers.of(&task.ops))));
    }
    Ok(tasks)
}

fn families(row: &SampleRow) -> BTreeSet<String> {
    row.origins.iter().map(|origin| family(&origin.path)).collect()
}

impl LeakReport {
    /// Returns counts of all suites as one table, and the closest pairs of each.
    pub fn text_report(&self) -> TextReport {
        let mut report = TextReport::default();
        report.table(self.counts());
        for suite in &self.suites {
            let mut table = TextTable::new(&["task", "training task", "lies", "ops", "share"], 3);
            for pair in suite.pairs.iter().take(SHOWN_PAIRS) {
                let lies = if pair.relation == "inside" { "inside it" } else { "around it" };
                let share = format!("{:.0}%", 100.0 * pair.share);
                table.push([pair.task.clone(), pair.train.clone(), lies.to_owned(), pair.ops.to_string(), share]);
            }
            if !suite.pairs.is_empty() {
                report.text(format!("\n{}: {}, the closest:", suite.suite, counted(suite.pairs.len(), "pair")));
                report.table(table);
            }
        }
        report
    }

    fn counts(&self) -> TextTable {
        let titles: Vec<&str> =
            ["measure"].into_iter().chain(self.suites.iter().map(|suite| suite.suite.as_str())).collect();
        let mut table = TextTable::new(&titles, 1);
        type Measure = fn(&SuiteLeaks) -> usize;
        let measures: [(&str, Measure); 13] = [
            ("tasks", |suite| suite.tasks),
            ("graphs", |suite| suite.graphs),
            ("structures in training", |suite| suite.structures.len()),
            ("op sequences in training", |suite| suite.sequences.len()),
            ("tasks inside a longer sequence of training", |suite| suite.inside.tasks),
            ("  at least half of it", |suite| suite.inside.half),
            ("tasks around a shorter sequence of training", |suite| suite.around.tasks),
            ("  at most twice as long as it", |suite| suite.around.half),
            ("tasks of families of training", |suite| suite.family_tasks),
            ("graphs of families of training", |suite| suite.family_graphs),
            ("families, all", |suite| suite.families.len()),
            ("graphs of models of training", |suite| suite.model_graphs),
            ("graphs with ops of a training graph", |suite| suite.overlapping_graphs),
        ];
        for (title, measure) in measures {
            let counts = self.suites.iter().map(|suite| measure(suite).to_string());
            table.push([title.to_owned()].into_iter().chain(counts));
        }
        table
    }
}
