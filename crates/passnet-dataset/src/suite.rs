//! Suites: evaluation tasks with graphs that are proven to run, and a training split that has no task or structure in common with
//! them.

mod candidates;
mod card;
mod class;
mod contained;
mod family;
mod leak;
mod plan;
mod prove;
mod revise;
mod soft_leak;
mod split;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::counted;
use rayon::prelude::*;

pub use crate::cut::CastRule;
pub use crate::phase::Phase;
pub use card::{card, front_page};
pub use class::{Shares, TaskClass};
pub use leak::{Leak, leaks};
pub use plan::{Built, EVALUATED, SuiteLimits, SuitePlan};
pub use prove::ProofResult;
pub use revise::{Revised, revise, withhold};
pub use soft_leak::{Containment, FamilyGraphs, LeakReport, SequencePair, SuiteLeaks, leak_report};
pub use split::Split;

use crate::{
    Dataset, Table,
    annotate::{Annotations, Runner},
    cut::{Parent, Variant},
    fold::OpRange,
    store::{SampleRow, TableError},
};
use candidates::{CandidateGroup, Groups, groups};
use class::Filling;
use contained::OpPlaces;
use write::write_suite;

/// Name of the training split.
pub const TRAIN: &str = "passbench-train";

/// Factor by which more tasks are tried at once than are wanted, because some tasks have no graph that runs.
const SPARE: usize = 2;

/// Number of training tasks whose graphs are proven at once.
const TOGETHER: usize = 64;

/// Builds the suites of `plans` and the training split below `out` from the annotated graphs and the subgraphs of `dataset`.
///
/// Tasks are chosen by rarity and coverage ([`crate::select`]), single ops by the number of graphs that contain them. Earlier
/// plans choose first, and no two suites have the same op sequence. Trivial tasks and fields of use stay within their shares
/// ([`Shares`]). A task gets distinct graphs from as many places as possible, then variants of them with other dtypes and
/// extents. All other op sequences, including those of the subgraphs of `finer`, are training tasks, without graphs whose
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
    runner: &dyn Runner,
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
        let tasks = evaluation_tasks(
            dataset,
            plan,
            &groups,
            &taken,
            bounds,
            &mut |rows| proofs.first_good(rows, plan.graphs, bounds.max_bytes, runner, &mut built),
            progress,
        )?;
        for (key, rows) in &tasks {
            taken.add(key, rows);
        }
        built.suites.push(write_suite(&out.below(&plan.name), "eval", tasks)?);
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
        for row in proofs.all_good(rows, bounds.max_bytes, runner, &mut built)? {
            let key = row.hashes.ops.clone().unwrap_or_default();
            train.entry(key).or_insert_with(Vec::new).push(row);
        }
    }
    proofs.finish()?;
    built.suites.push(write_suite(&out.below(TRAIN), "train", train.into_iter().collect())?);
    Ok(built)
}

/// Chooses the tasks of a plan: op sequences in the order of preference, each with graphs for which `prove` succeeds.
fn evaluation_tasks(
    dataset: &Dataset,
    plan: &SuitePlan,
    groups: &Groups,
    taken: &Taken,
    bounds: &SuiteLimits,
    prove: &mut dyn FnMut(Vec<SampleRow>) -> Result<Vec<SampleRow>, TableError>,
    progress: &dyn Fn(&str),
) -> Result<Vec<(String, Vec<SampleRow>)>, TableError> {
    let order = candidates::preferred(groups, plan.phase, plan.kind, &taken.sequences);
    let group = |key: &String| &groups[&(plan.phase, plan.kind, key.clone())];
    let mut filling = Filling::new(bounds.shares, plan.tasks);
    let mut tasks = Vec::new();
    let mut tried = BTreeSet::new();
    // When no task of a language model is left, other tasks take the places that are reserved for them.
    for all_fields in [false, true] {
        filling.all_fields = all_fields;
        while tasks.len() < plan.tasks {
            let fits = |key: &&String| !tried.contains(*key) && filling.admits(group(key).class());
            let keys: Vec<String> =
                order.iter().filter(fits).take((plan.tasks - tasks.len()) * SPARE).cloned().collect();
            if keys.is_empty() {
                break;
            }
            progress(&format!("{}: cutting {}", plan.name, counted(keys.len(), "task")));
            let wanted: Vec<(&str, &CandidateGroup)> = keys.iter().map(|key| (key.as_str(), group(key))).collect();
            let mut rows = vary_all(dataset, plan, &wanted, bounds.casts)?;
            for key in keys {
                let class = group(&key).class();
                if tasks.len() == plan.tasks || !filling.admits(class) {
                    continue;
                }
                let proven = prove(rows.remove(&key).unwrap_or_default())?;
                if !proven.is_empty() {
                    filling.add(class);
                    tasks.push((key.clone(), proven));
                    progress(&format!("{}: {} of {}", plan.name, tasks.len(), counted(plan.tasks, "task")));
                }
                tried.insert(key);
            }
        }
    }
    Ok(tasks)
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

/// Returns candidate rows for each wanted task, in the order of preference: unchanged graphs first, then variants.
fn vary_all(
    dataset: &Dataset,
    plan: &SuitePlan,
    wanted: &[(&str, &CandidateGroup)],
    casts: CastRule,
) -> Result<BTreeMap<String, Vec<SampleRow>>, TableError> {
    // Ranges to cut, by full graph, each with its task.
    let mut cuts: BTreeMap<&str, Vec<Cut<'_>>> = BTreeMap::new();
    for (key, group) in wanted {
        let bases = group.spread(plan.graphs);
        // Twice as many as the task has room for, because some variants do not run.
        let variants = (2 * plan.graphs).div_ceil(bases.len());
        for (rank, base) in bases.into_iter().enumerate() {
            cuts.entry(&base.path).or_default().push(Cut { key, rank, range: base.range, variants });
        }
    }
    let mut found: BTreeMap<String, Vec<RankedRow>> = BTreeMap::new();
    let mut annotations = Annotations::open(dataset)?;
    for row in dataset.read::<SampleRow>(Table::Graphs)?.flatten() {
        let Some(cuts) = cuts.remove(row.path.as_str()) else { continue };
        let Some(annotation) = annotations.of(&row) else { continue };
        let Ok(parent) = Parent::new(&row, Some(annotation), casts) else { continue };
        let mut variants = parent.variants_in_order();
        variants.truncate(cuts.iter().map(|cut| cut.variants).max().unwrap_or(0));
        let rows: Vec<_> = variants
            .into_par_iter()
            .enumerate()
            .map(|(index, variant)| {
                let Ok(varied) = parent.vary(variant) else { return Vec::new() };
                let cuts = cuts.iter().filter(|cut| index < cut.variants);
                // Unchanged graphs come before all variants.
                let place = |cut: &Cut<'_>| (index, cut.rank);
                cuts.filter_map(|cut| Some((cut.key.to_owned(), (place(cut), varied.cut(cut.range, plan.kind).ok()?))))
                    .collect()
            })
            .collect();
        for (key, row) in rows.into_iter().flatten() {
            found.entry(key).or_default().push(row);
        }
    }
    let order = |mut rows: Vec<RankedRow>| -> Vec<SampleRow> {
        rows.sort_by_key(|(place, _)| *place);
        let mut seen = BTreeSet::new();
        rows.into_iter().map(|(_, row)| row).filter(|row| seen.insert(row.path.clone())).collect()
    };
    Ok(found.into_iter().map(|(key, rows)| (key, order(rows))).collect())
}

/// A row with the index of its variant and the rank of its base graph.
type RankedRow = ((usize, usize), SampleRow);

struct Cut<'a> {
    key: &'a str,
    /// Position of the base graph in its task.
    rank: usize,
    range: OpRange,
    /// Number of variants to make, including the unchanged graph.
    variants: usize,
}

impl Parent {
    /// Returns the variants, ordered so that the first few differ both in dtype and in extents.
    fn variants_in_order(&self) -> Vec<Variant> {
        let mut variants = self.variants();
        let casts = 1 + variants.iter().filter_map(|variant| variant.cast).max().map_or(0, |last| last + 1);
        let rank = |variant: &Variant| {
            let cast = variant.cast.map_or(0, |cast| cast + 1);
            let assignment = variant.assignment.map_or(0, |index| index + 1);
            // The unchanged graph, its casts, then one cast for each assignment in turn, then the others.
            let turn = (cast + casts - assignment % casts) % casts;
            (if assignment == 0 { 0 } else { 1 + turn }, assignment, cast)
        };
        variants.sort_by_key(rank);
        variants
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
