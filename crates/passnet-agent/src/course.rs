//! Courses: all lessons on the tasks of a suite, in the order in which they are given.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use passnet_author::TypedGraph;
use passnet_record::{ContentId, FilePathError, SuiteTask, agent::Style};
use passnet_run::Suite;

use crate::{
    attempt::AttemptLimits,
    evaluator::Evaluator,
    prompt::Templates,
    run::{AgentRunError, AgentRunOutcome, PlannedAttempt, RunOptions, RunPlan, Update, run_assigned},
    task::{Task, TaskError},
    teach::{Approach, Lesson, Teacher, lessons},
};

/// Limits of an attempt of the teacher. They are never reached, because a lesson always ends.
const LIMITS: AttemptLimits = AttemptLimits {
    steps: 50,
    tokens: None,
    cost_usd: None,
    time: Duration::from_secs(24 * 3600),
    patience: None,
    // The teacher reads nothing but the last observation, so nothing has to be dropped.
    context: u64::MAX >> 8,
    fixed_plan: true,
};

/// Time of eager mode at which half of the cost of an evaluation is the start of processes, the compiler and the checks: measured on one
/// core, an evaluation takes 0.6 s, and 0.5 s more for each millisecond.
const FIXED_NS: u64 = 1_000_000;

/// Reason why there are no lessons on a task.
#[derive(Debug, thiserror::Error)]
pub enum LessonError {
    /// A graph cannot be read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The types of the values of a graph are not known.
    #[error("{0}")]
    Types(String),
    /// A file of the built-in author has a path that no pass directory can have.
    #[error(transparent)]
    Path(#[from] FilePathError),
}

/// Graphs that are taught together, with the lessons on them.
struct Unit {
    task: Task,
    /// Index of this part of its task, from 0.
    part: usize,
    /// Number of the attempt that gives the first lesson.
    first: u32,
    lessons: Vec<Lesson>,
    /// Estimate of the time that its graphs take, in nanoseconds.
    time: u64,
}

/// All lessons on the tasks of a suite. `Display` counts them.
pub struct Course {
    units: Vec<Unit>,
    /// Styles, on which the lesson of an attempt number depends.
    numbering: String,
    /// Tasks without lessons because of an error, each with the error.
    pub left_out: Vec<(String, LessonError)>,
}

impl Course {
    /// Prepares the lessons of some styles, each lesson once, on all graphs of a task together, or on each graph separately.
    pub fn prepare(evaluator: &Evaluator, suite: &Suite, each_graph: bool, styles: &BTreeSet<Style>) -> Self {
        let parts = parts(suite, each_graph);
        let (units, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some((part, record)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let unit = unit(evaluator, suite, *part, record, styles);
                        units.lock().unwrap_or_else(PoisonError::into_inner).push((record.id.clone(), unit));
                    }
                });
            }
        });
        let names: Vec<&str> = styles.iter().map(|style| style.name()).collect();
        let numbering = format!("lessons in the styles {}", names.join(", "));
        let mut course = Self { units: Vec::new(), numbering, left_out: Vec::new() };
        for (task, unit) in units.into_inner().unwrap_or_else(PoisonError::into_inner) {
            match unit {
                Ok(unit) if unit.lessons.is_empty() => {}
                Ok(unit) => course.units.push(unit),
                // If one graph cannot be read, the others are still taught.
                Err(why) => course.left_out.push((task, why)),
            }
        }
        // By name first: the number of an attempt must not depend on which thread finished first.
        course.units.sort_by(|a, b| (&a.task.id, a.part).cmp(&(&b.task.id, b.part)));
        course.drop_duplicates();
        course.number();
        course
    }

    /// Drops lessons that have the states of an earlier one, on graphs of the same structure.
    fn drop_duplicates(&mut self) {
        let mut seen = BTreeSet::new();
        for unit in &mut self.units {
            let graphs = unit.task.facts().graph_hashes;
            unit.lessons.retain(|lesson| {
                let states = lesson.drafts.iter().map(|draft| draft.passes.id());
                seen.insert(ContentId::of_parts(graphs.iter().chain(states).map(|id| id.as_str().as_bytes())))
            });
        }
        self.units.retain(|unit| !unit.lessons.is_empty());
    }

    /// Numbers the lessons of each task. A number depends on the task alone, not on the tasks that are taught with it.
    fn number(&mut self) {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        for unit in &mut self.units {
            let next = numbers.entry(unit.task.id.clone()).or_default();
            unit.first = *next;
            *next += unit.lessons.len() as u32;
        }
    }

    /// Returns the lessons with their units and numbers. Short ones come first, so that a run that ends early has the most trajectories.
    fn in_order(&self) -> Vec<(&Unit, u32, &Lesson)> {
        let mut lessons = Vec::with_capacity(self.len());
        for unit in &self.units {
            lessons.extend((unit.first..).zip(&unit.lessons).map(|(number, lesson)| (unit, number, lesson)));
        }
        lessons.sort_by_key(|(unit, _, lesson)| rough_cost(unit.time, unit.part, lesson.approach));
        lessons
    }

    /// Returns the number of lessons.
    pub fn len(&self) -> usize {
        self.units.iter().map(|unit| unit.lessons.len()).sum()
    }

    /// Returns whether there is no lesson.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Returns the number of tasks that have lessons.
    pub fn tasks(&self) -> usize {
        self.units.iter().map(|unit| unit.task.id.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// Gives all lessons, or those that are left of an interrupted run in the same directory.
    ///
    /// # Errors
    /// Fails if the directory cannot be used.
    pub fn give(
        &self,
        evaluator: &Evaluator,
        suite: &Suite,
        jobs: usize,
        directory: &Path,
        stop: &AtomicBool,
        progress: &(dyn Fn(Update<'_>) + Sync),
    ) -> Result<AgentRunOutcome, AgentRunError> {
        let (mut assignments, mut taught) = (Vec::new(), Vec::new());
        for (unit, attempt, lesson) in self.in_order() {
            let styles = lesson.approach.kept_in();
            assignments.push(PlannedAttempt { task: &unit.task, attempt, styles });
            taught.push(((unit.task.id.clone(), attempt), lesson.clone()));
        }
        let options = RunOptions {
            attempts: 1,
            jobs,
            limits: LIMITS,
            seed: 0,
            tokens: None,
            cost_usd: None,
            templates: Templates::default(),
            to_beat: BTreeMap::new(),
        };
        let plan = RunPlan { suite, assignments: &assignments, numbering: Some(&self.numbering) };
        run_assigned(evaluator, plan, &Teacher::new(taught), &options, directory, stop, progress)
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lessons = || self.units.iter().flat_map(|unit| &unit.lessons);
        let begins = |approach| lessons().filter(|lesson| lesson.approach == approach).count();
        let meant = |style| lessons().filter(|lesson| lesson.approach.style() == style).count();
        write!(
            f,
            "{} lessons ({} begin with an operation each, {} with two halves, {} with one of several passes, {} with everything, \
             {} with other loops or tiles, {} with a mistake, {} with a mistake that a rule is about)",
            self.len(),
            begins(Approach::Operations),
            begins(Approach::Halves),
            begins(Approach::FirstPass),
            begins(Approach::Whole),
            meant(Style::Tuned),
            meant(Style::Repaired),
            meant(Style::Refused)
        )
    }
}

/// Estimates the cost of a lesson, for the order of lessons only. `time` is that of eager mode in nanoseconds.
fn rough_cost(time: u64, part: usize, approach: Approach) -> u64 {
    // Lessons with several right states measure each of them, and the final one a second time. All others share the measurement of one
    // state, and most mistakes are found in a tenth of the time of a measurement.
    let measured = if matches!(approach.style(), Style::Plain | Style::Tuned) { 4 } else { 1 };
    // Later graphs count as longer, so that a run that ends early has lessons on many tasks.
    time.saturating_add(FIXED_NS).saturating_mul(part as u64 + 1).saturating_mul(measured)
}

/// Returns the graphs of each unit as a task, with the index of the unit among those of its task.
fn parts(suite: &Suite, each_graph: bool) -> Vec<(usize, SuiteTask)> {
    let mut parts = Vec::new();
    for task in &suite.record.tasks {
        if each_graph {
            // A lesson on a held-out graph would show it to the model that is trained.
            let visible = task.graphs.iter().filter(|graph| !task.held_out.contains(graph)).enumerate();
            let alone =
                |graph: &String| SuiteTask { graphs: vec![graph.clone()], held_out: Vec::new(), ..task.clone() };
            parts.extend(visible.map(|(part, graph)| (part, alone(graph))));
        } else {
            parts.push((0, task.clone()));
        }
    }
    parts
}

fn unit(
    evaluator: &Evaluator,
    suite: &Suite,
    part: usize,
    record: &SuiteTask,
    styles: &BTreeSet<Style>,
) -> Result<Unit, LessonError> {
    let task = Task::read(suite, record)?;
    let propagator = evaluator.propagator();
    let typed: &[TypedGraph] = task.typed(propagator).map_err(|why| LessonError::Types(why.to_owned()))?;
    let (lessons, time) = (lessons(typed, propagator.target(), styles)?, Task::rough_time(typed));
    Ok(Unit { part, first: 0, lessons, time, task })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::teach::Slip;

    #[test]
    fn cheap_lessons_come_first() {
        let mistake = Approach::Slip(Slip::Constant);
        let in_order = [
            rough_cost(0, 0, mistake),
            rough_cost(900_000, 0, mistake),
            rough_cost(0, 1, mistake),
            rough_cost(0, 0, Approach::Halves),
            rough_cost(8_000_000, 0, mistake),
            rough_cost(8_000_000, 0, Approach::Configs),
        ];
        assert!(in_order.is_sorted_by(|one, next| one < next), "{in_order:?}");
        assert_eq!(rough_cost(u64::MAX / 2, 3, mistake), u64::MAX);
    }
}
