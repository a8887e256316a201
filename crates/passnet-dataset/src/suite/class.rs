//! Classes of tasks whose shares a suite limits: tasks that compute nothing, tasks of language models, and tasks with several
//! structures.

use std::collections::BTreeSet;

use passnet_graph::ops::{Memory, Op};

use crate::store::{Input, SampleRow};

/// Number of input elements below which the time of a graph is that of its launches.
const FEW_ELEMENTS: u64 = 1_024;

/// Number of structures from which a task shows whether a pass works for more than one graph.
pub(super) const MANY_STRUCTURES: usize = 5;

/// Field of use of language models, as `heuristic_tag` names it.
const LANGUAGE: &str = "nlp";

/// The properties of a task that [`Shares`] bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskClass {
    /// True if all ops are views, or no graph has at least 1,024 elements of inputs.
    pub is_trivial: bool,
    /// True if at least half of the graphs are of language models.
    pub is_language: bool,
    /// True if the graphs have at least five structures.
    pub is_varied: bool,
}

/// Bounds of the classes of tasks in a suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Largest share of trivial tasks ([`TaskClass::is_trivial`]).
    pub trivial: f64,
    /// Smallest share of tasks of language models, if there are enough of them.
    pub language: f64,
    /// Smallest share of tasks with at least five structures, if there are enough of them.
    pub structures: f64,
}

impl Default for Shares {
    /// Returns at most 3 % trivial tasks, at least 40 % tasks of language models, and at least 60 % tasks with five structures.
    fn default() -> Self {
        Self { trivial: 0.03, language: 0.40, structures: 0.60 }
    }
}

/// Tasks that a suite takes at a stage of its filling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FillStage {
    /// Tasks with several structures, until they have their share.
    Varied,
    /// Tasks of language models, until they have their share.
    Language,
    /// All tasks, as long as those of other fields leave the share of language models free.
    Any,
    /// All tasks: there are not enough of language models.
    AllFields,
}

impl FillStage {
    /// The stages in order. Scarce tasks come first, so that other tasks do not take their places.
    pub(super) const ALL: [Self; 4] = [Self::Varied, Self::Language, Self::Any, Self::AllFields];
}

/// State of a suite while tasks are added. Each number is that of tasks that may or should still be added.
pub(super) struct Filling {
    trivial: usize,
    other: usize,
    language: usize,
    varied: usize,
    pub(super) stage: FillStage,
}

impl Filling {
    pub(super) fn new(shares: Shares, tasks: usize) -> Self {
        let tasks = tasks as f64;
        let language = (shares.language * tasks).ceil();
        Self {
            // Rounded down, and the other shares up, because a suite must keep to all bounds.
            trivial: (shares.trivial * tasks).floor() as usize,
            other: (tasks - language).max(0.0) as usize,
            language: language as usize,
            varied: (shares.structures * tasks).ceil() as usize,
            stage: FillStage::Any,
        }
    }

    /// Returns whether a task of this class may be added.
    pub(super) fn admits(&self, class: TaskClass) -> bool {
        let fits = class.is_language || self.other > 0;
        (!class.is_trivial || self.trivial > 0)
            && match self.stage {
                FillStage::Varied => class.is_varied && self.varied > 0 && fits,
                FillStage::Language => class.is_language && self.language > 0,
                FillStage::Any => fits,
                FillStage::AllFields => true,
            }
    }

    /// Counts a task that was added.
    pub(super) fn add(&mut self, class: TaskClass) {
        self.trivial = self.trivial.saturating_sub(usize::from(class.is_trivial));
        self.other = self.other.saturating_sub(usize::from(!class.is_language));
        self.language = self.language.saturating_sub(usize::from(class.is_language));
        self.varied = self.varied.saturating_sub(usize::from(class.is_varied));
    }
}

impl TaskClass {
    /// Returns the class of a task with these ops and graphs.
    pub fn of<'a>(ops: &[String], rows: impl Iterator<Item = &'a SampleRow>) -> Self {
        let mut structures = BTreeSet::new();
        let graphs = rows.map(|row| {
            structures.extend(row.hashes.structure.as_deref());
            (elements(&row.inputs), is_language(row.domain.as_deref()))
        });
        let class = Self::of_graphs(ops, graphs);
        Self { is_varied: structures.len() >= MANY_STRUCTURES, ..class }
    }

    /// Returns the class of a task, given for each graph its number of input elements and whether it is of a language model. Its
    /// structures are not counted.
    pub(super) fn of_graphs(ops: &[String], graphs: impl Iterator<Item = (u64, bool)>) -> Self {
        let (mut count, mut language, mut largest) = (0, 0, 0);
        for (elements, is_language) in graphs {
            count += 1;
            language += usize::from(is_language);
            largest = largest.max(elements);
        }
        let is_trivial = ops.iter().all(|op| is_view(op)) || largest < FEW_ELEMENTS;
        // Without graphs, 0 of 0 would count as half.
        Self { is_trivial, is_language: count > 0 && 2 * language >= count, is_varied: false }
    }
}

pub(super) fn is_language(domain: Option<&str>) -> bool {
    domain == Some(LANGUAGE)
}

pub(super) fn elements(inputs: &[Input]) -> u64 {
    let count = |input: &Input| input.shape.iter().fold(1_u64, |product, extent| product.saturating_mul(*extent));
    inputs.iter().map(count).fold(0, u64::saturating_add)
}

/// Returns whether an op only changes how memory is seen. Dropout does nothing in evaluation. A reshape copies only where it has
/// to.
fn is_view(op: &str) -> bool {
    let name = op.strip_prefix("Tensor.").unwrap_or(op);
    let name = name.split('.').next().unwrap_or(name);
    match Op::find(name).map(|op| op.memory) {
        Some(Memory::View | Memory::ViewAsMethod) => true,
        Some(Memory::ViewOrCopy) => matches!(name, "reshape" | "reshape_as" | "flatten") || name.contains("dropout"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Hashes;

    fn class(ops: &[&str], graphs: &[(u64, bool)]) -> TaskClass {
        let ops: Vec<String> = ops.iter().map(|&op| op.to_owned()).collect();
        TaskClass::of_graphs(&ops, graphs.iter().copied())
    }

    #[test]
    fn tasks_of_views_or_few_elements_are_trivial() {
        let large = [(4_096, false)];
        for (ops, graphs, expected) in [
            (["Tensor.view", "Tensor.transpose"], large, true),
            (["dropout", "getitem"], large, true),
            (["Tensor.reshape", "add"], large, false),
            // A cast and a copy compute.
            (["Tensor.to", "Tensor.view"], large, false),
            (["Tensor.transpose", "Tensor.contiguous"], large, false),
            (["add", "relu"], [(1_023, false)], true),
            (["add", "relu"], [(1_024, false)], false),
        ] {
            assert_eq!(class(&ops, &graphs).is_trivial, expected, "{ops:?} {graphs:?}");
        }
        assert!(!class(&["add"], &[(1, false), (2_000, false)]).is_trivial);
    }

    #[test]
    fn half_of_the_graphs_make_a_language_task() {
        assert!(class(&["add"], &[(1, true), (1, false)]).is_language);
        assert!(!class(&["add"], &[(1, true), (1, false), (1, false)]).is_language);
        assert!(!class(&["add"], &[]).is_language);
    }

    #[test]
    fn a_suite_fills_up_within_its_shares() {
        let mut filling = Filling::new(Shares::default(), 10);
        let (plain, language) = (TaskClass::default(), TaskClass { is_language: true, ..TaskClass::default() });
        assert!(!filling.admits(TaskClass { is_trivial: true, ..language }), "3 % of ten are none");
        for _ in 0..6 {
            assert!(filling.admits(plain));
            filling.add(plain);
        }
        assert!(!filling.admits(plain) && filling.admits(language));
        filling.stage = FillStage::AllFields;
        assert!(filling.admits(plain));
    }

    #[test]
    fn tasks_with_several_structures_come_first_then_those_of_language_models() {
        let plain = TaskClass::default();
        let varied = TaskClass { is_varied: true, ..plain };
        let language = TaskClass { is_language: true, ..plain };
        let mut filling = Filling::new(Shares::default(), 5);
        filling.stage = FillStage::Varied;
        assert!(!filling.admits(plain) && !filling.admits(language));
        for _ in 0..3 {
            assert!(filling.admits(varied));
            filling.add(varied);
        }
        // Three of five are 60 %, and the others are reserved for language models.
        assert!(!filling.admits(varied) && !filling.admits(TaskClass { is_language: true, ..varied }));
        filling.stage = FillStage::Language;
        assert!(filling.admits(language) && !filling.admits(varied));
        filling.add(language);
        filling.add(language);
        assert!(!filling.admits(language));
    }

    #[test]
    fn structures_are_counted_once() {
        let row = |structure: usize| SampleRow {
            hashes: Hashes { structure: Some(structure.to_string()), ..Hashes::default() },
            ..SampleRow::default()
        };
        let class = |structures: &[usize]| {
            let rows: Vec<SampleRow> = structures.iter().map(|&structure| row(structure)).collect();
            TaskClass::of(&[], rows.iter())
        };
        assert!(class(&[1, 2, 3, 4, 5, 1]).is_varied);
        assert!(!class(&[1, 2, 3, 4, 1, 2]).is_varied);
    }
}
