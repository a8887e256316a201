//! Choice of the tasks of one suite for evaluation.

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::counted;

use super::{
    candidates::{self, CandidateGroup, Groups},
    class::{FillStage, Filling, MANY_STRUCTURES, TaskClass},
    plan::{SuiteLimits, SuitePlan},
    vary::{VariedRows, base_graphs, vary_all},
};
use crate::{
    Dataset,
    annotate::Varier,
    store::{SampleRow, TableError},
};

/// Factor by which more tasks are tried at once than are wanted, because some tasks have no graph that runs.
const SPARE: usize = 2;

/// Function that returns the first rows that run, at most as many as the number given.
pub(super) type Prove<'a> =
    &'a mut dyn FnMut(&mut dyn Iterator<Item = SampleRow>, usize) -> Result<Vec<SampleRow>, TableError>;

/// Op sequences with their proven graphs.
pub(super) type Tasks = Vec<(String, Vec<SampleRow>)>;

/// Data and limits from which the tasks of a plan are chosen.
pub(super) struct Choice<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) plan: &'a SuitePlan,
    pub(super) groups: &'a Groups,
    /// Op sequences of other suites.
    pub(super) taken: &'a BTreeSet<String>,
    pub(super) bounds: &'a SuiteLimits,
}

/// Tasks that were chosen so far.
struct Chosen {
    filling: Filling,
    /// Position in the order of preference, op sequence, graphs.
    tasks: Vec<(usize, String, Vec<SampleRow>)>,
    /// Number of tasks with at least [`MANY_STRUCTURES`] structures.
    varied: usize,
    /// Op sequences that are tasks, or of which no graph runs.
    tried: BTreeSet<String>,
    /// Proven graphs of op sequences that no stage has admitted so far, with the class of these graphs.
    proven: BTreeMap<String, (TaskClass, Vec<SampleRow>)>,
}

impl Choice<'_> {
    /// Chooses op sequences in the order of preference, each with graphs for which `prove` succeeds. Returns them in this order,
    /// and a sentence if too few have several structures.
    pub(super) fn tasks(
        &self,
        varier: &Varier<'_>,
        prove: Prove<'_>,
        progress: &dyn Fn(&str),
    ) -> Result<(Tasks, Option<String>), TableError> {
        let plan = self.plan;
        let order = candidates::preferred(self.groups, plan.phase, plan.kind, self.taken);
        let filling = Filling::new(self.bounds.shares, plan.tasks);
        let mut chosen =
            Chosen { filling, tasks: Vec::new(), varied: 0, tried: BTreeSet::new(), proven: BTreeMap::new() };
        for stage in FillStage::ALL {
            chosen.filling.stage = stage;
            while self.round(&order, &mut chosen, varier, prove, progress)? {}
        }
        let note = self.note(&order, &chosen);
        chosen.tasks.sort_by_key(|(place, ..)| *place);
        Ok((chosen.tasks.into_iter().map(|(_, key, rows)| (key, rows)).collect(), note))
    }

    fn group(&self, key: &str) -> &CandidateGroup {
        &self.groups[&(self.plan.phase, self.plan.kind, key.to_owned())]
    }

    /// Tries the next tasks of a stage. Returns false if there are none.
    fn round(
        &self,
        order: &[String],
        chosen: &mut Chosen,
        varier: &Varier<'_>,
        prove: Prove<'_>,
        progress: &dyn Fn(&str),
    ) -> Result<bool, TableError> {
        let plan = self.plan;
        let left = plan.tasks - chosen.tasks.len();
        let class = |chosen: &Chosen, key: &String| {
            chosen.proven.get(key).map_or_else(|| self.group(key).class(), |(class, _)| *class)
        };
        let fits =
            |(_, key): &(usize, &String)| !chosen.tried.contains(*key) && chosen.filling.admits(class(chosen, key));
        let keys: Vec<(usize, &String)> = order.iter().enumerate().filter(fits).take(left * SPARE).collect();
        if keys.is_empty() {
            return Ok(false);
        }
        progress(&format!("{}: cutting {}", plan.name, counted(keys.len(), "task")));
        let fresh = keys.iter().filter(|(_, key)| !chosen.proven.contains_key(*key));
        let wanted: Vec<(&str, &CandidateGroup)> = fresh.map(|(_, key)| (key.as_str(), self.group(key))).collect();
        let mut rows = vary_all(self.dataset, plan, &wanted, self.bounds.casts, varier)?;
        for (place, key) in keys {
            if chosen.tasks.len() == plan.tasks || !chosen.filling.admits(class(chosen, key)) {
                continue;
            }
            let known = chosen.proven.remove(key);
            let (class, graphs) = match known {
                Some(known) => known,
                None => self.proven(key, rows.remove(key.as_str()).unwrap_or_default(), prove)?,
            };
            if graphs.is_empty() {
                chosen.tried.insert(key.clone());
            } else if chosen.filling.admits(class) {
                chosen.tried.insert(key.clone());
                chosen.filling.add(class);
                chosen.varied += usize::from(class.is_varied);
                chosen.tasks.push((place, key.clone(), graphs));
                progress(&format!("{}: {} of {}", plan.name, chosen.tasks.len(), counted(plan.tasks, "task")));
            } else {
                // The graphs that run are of another class than all graphs. A later stage may admit it.
                chosen.proven.insert(key.clone(), (class, graphs));
            }
        }
        Ok(true)
    }

    /// Returns the graphs of a task that run, and their class.
    fn proven(&self, key: &str, rows: VariedRows, prove: Prove<'_>) -> Result<(TaskClass, Vec<SampleRow>), TableError> {
        let (graphs, structures) = proven(rows, self.plan.graphs, prove)?;
        let class = TaskClass::of(&self.group(key).ops, graphs.iter());
        Ok((TaskClass { is_varied: structures >= MANY_STRUCTURES, ..class }, graphs))
    }

    /// Returns a sentence that says how many tasks have several structures, if they are fewer than their share.
    fn note(&self, order: &[String], chosen: &Chosen) -> Option<String> {
        let wanted = (self.bounds.shares.structures * self.plan.tasks as f64).ceil() as usize;
        let possible = order.iter().filter(|key| self.group(key).class().is_varied).count();
        (chosen.varied < wanted).then(|| {
            format!(
                "{}: tasks with {MANY_STRUCTURES} structures or more: {} of {}, wanted: {wanted}; the models of evaluation have \
                 as many for {possible} of {}, before proofs",
                self.plan.name,
                chosen.varied,
                chosen.tasks.len(),
                counted(order.len(), "op sequence"),
            )
        })
    }
}

/// Returns the graphs of a task that run, and the number of their structures without variants: first unchanged graphs, so many
/// that five structures have room, then variants, then further unchanged graphs.
fn proven(rows: VariedRows, graphs: usize, prove: Prove<'_>) -> Result<(Vec<SampleRow>, usize), TableError> {
    let mut unchanged = rows.unchanged.into_iter();
    let mut good = prove(&mut unchanged, base_graphs(graphs))?;
    good.extend(prove(&mut rows.variants.into_iter(), graphs - good.len())?);
    good.extend(prove(&mut unchanged, graphs - good.len())?);
    let captured = good.iter().filter(|row| rows.captured.contains(&row.path));
    let structures: BTreeSet<_> = captured.filter_map(|row| row.hashes.structure.as_deref()).collect();
    let structures = structures.len();
    Ok((good, structures))
}
