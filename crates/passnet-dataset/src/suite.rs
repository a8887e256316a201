//! Suites: evaluation tasks with graphs that are proven to run, and a training split that has no task or structure in common with
//! them.

mod candidates;
mod card;
mod class;
mod contained;
mod difficulty;
mod evaluation;
mod family;
mod leak;
mod plan;
mod prove;
mod revise;
mod soft_leak;
mod split;
mod vary;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::counted;

pub use crate::cut::CastRule;
pub use crate::phase::Phase;
pub use card::{card, front_page};
pub use class::{Shares, TaskClass};
pub use difficulty::Difficulties;
pub use leak::{Leak, leaks};
pub use plan::{Built, EVALUATED, SuiteLimits, SuitePlan};
pub use prove::ProofResult;
pub use revise::{Revised, revise, withhold};
pub use soft_leak::{Containment, FamilyGraphs, LeakReport, SequencePair, SuiteLeaks, leak_report};
pub use split::Split;

use crate::{
    Dataset, Table,
    annotate::{Runners, Varier},
    store::{SampleRow, TableError},
};
use candidates::{Groups, groups};
use contained::OpPlaces;
use evaluation::Choice;
use write::write_suite;

/// Name of the training split.
pub const TRAIN: &str = "passbench-train";

/// Number of training tasks whose graphs are proven at once.
const TOGETHER: usize = 64;

/// Time limit of the variants of one graph, in seconds.
const VARY_SECONDS: f64 = 300.0;

/// Builds the suites of `plans` and the training split below `out` from the annotated graphs and the subgraphs of `dataset`.
///
/// Tasks are chosen by rarity and coverage ([`crate::select`]), single ops by the number of graphs that contain them. Earlier
/// plans choose first, and no two suites have the same op sequence. Trivial tasks, fields of use and numbers of structures stay
/// within their shares ([`Shares`]). A task gets graphs of as many structures as possible, then variants of them with other
/// dtypes and extents. All other op sequences, including those of the subgraphs of `finer`, are training tasks, without graphs whose
/// structure a suite has. Every graph is proven to run within bounds: its shapes are propagated, then it is called twice and has
/// to return equal values, without NaN.
///
/// Proofs are stored in the dataset, so that the same call continues an interrupted one.
///
/// # Errors
/// If a table cannot be listed or written.
pub fn build(
    dataset: &Dataset,
    finer: &[Dataset],
    runners: Runners<'_>,
    plans: &[SuitePlan],
    bounds: &SuiteLimits,
    out: &Dataset,
    progress: &dyn Fn(&str),
) -> Result<Built, TableError> {
    let mut built = Built::default();
    let groups = groups(dataset, bounds, &mut built)?;
    let mut proofs = prove::Proofs::open(dataset)?;
    let mut taken = Taken::default();
    for plan in plans {
        let choice = Choice { dataset, plan, groups: &groups, taken: &taken.sequences, bounds };
        let varier = Varier { runner: runners.annotate, seconds: VARY_SECONDS };
        let mut prove = |rows: &mut dyn Iterator<Item = SampleRow>, count| {
            proofs.first_good(rows, count, bounds.max_bytes, runners.prove, &mut built)
        };
        let (tasks, note) = choice.tasks(&varier, &mut prove, progress)?;
        if let Some(note) = note {
            progress(&note);
            built.notes.push(note);
        }
        for (key, rows) in &tasks {
            taken.add(key, rows);
        }
        built.suites.push(write_suite(&out.below(&plan.name), "eval", tasks)?);
    }
    if !bounds.training_split {
        proofs.finish()?;
        return Ok(built);
    }
    progress("training split");
    let mut pools = vec![(dataset, groups)];
    for dataset in finer {
        pools.push((dataset, candidates::groups(dataset, bounds, &mut built)?));
    }
    let mut train = BTreeMap::new();
    let candidates = training(pools, &taken, bounds)?;
    for (chunk, done) in candidates.chunks(TOGETHER).zip((0..).step_by(TOGETHER)) {
        progress(&format!("{TRAIN}: {done} of {}", counted(candidates.len(), "task")));
        let rows = chunk.iter().flat_map(|(_, rows)| rows).cloned().collect();
        for row in proofs.all_good(rows, bounds.max_bytes, runners.prove, &mut built)? {
            let key = row.hashes.ops.clone().unwrap_or_default();
            train.entry(key).or_insert_with(Vec::new).push(row);
        }
    }
    proofs.finish()?;
    built.suites.push(write_suite(&out.below(TRAIN), "train", train.into_iter().collect())?);
    Ok(built)
}

/// Graphs and sequences of evaluation, which training must not contain.
#[derive(Default)]
struct Taken {
    sequences: BTreeSet<String>,
    structures: BTreeSet<String>,
    /// Ops of full graphs from which evaluation graphs were cut.
    places: OpPlaces,
}

impl Taken {
    fn add(&mut self, sequence: &str, rows: &[SampleRow]) {
        self.sequences.insert(sequence.to_owned());
        self.structures.extend(rows.iter().filter_map(|row| row.hashes.structure.clone()));
        rows.iter().for_each(|row| self.places.add_origins(row));
    }
}

/// Returns all op sequences of the datasets that evaluation does not have, each with a few graphs that evaluation does not have.
/// If several datasets have a sequence, the first one provides the graphs.
fn training(
    pools: Vec<(&Dataset, Groups)>,
    taken: &Taken,
    bounds: &SuiteLimits,
) -> Result<Vec<(String, Vec<SampleRow>)>, TableError> {
    let mut tasks: BTreeMap<String, Vec<SampleRow>> = BTreeMap::new();
    for (dataset, groups) in pools {
        let mut wanted: BTreeMap<String, String> = BTreeMap::new();
        let mut sequences = BTreeSet::new();
        for ((.., key), group) in groups {
            if taken.sequences.contains(&key) || tasks.contains_key(&key) || !sequences.insert(key.clone()) {
                continue;
            }
            // Equal structure with any shapes excludes a graph: a model could learn the kernel from it.
            let free =
                group.candidates.into_iter().filter(|candidate| !taken.structures.contains(&candidate.structure));
            wanted.extend(free.take(bounds.train_graphs).map(|candidate| (candidate.path, key.clone())));
        }
        // Unreadable rows were reported when the groups were formed.
        for row in dataset.read::<SampleRow>(Table::Subgraphs)?.flatten() {
            // Models of the evaluation split are not used for training, because both graphs would be parts of the same model.
            let is_evaluated = || row.origins.iter().any(|origin| bounds.only_evaluates(&origin.path));
            let key = wanted.remove(&row.path).filter(|_| !taken.places.has_origin_of(&row) && !is_evaluated());
            if let Some(key) = key {
                tasks.entry(key).or_default().push(row);
            }
        }
    }
    Ok(tasks.into_iter().collect())
}
