//! Selection of trajectories.

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::{
    ContentId,
    agent::{Conduct, Style, Trajectory},
};

use crate::{style::style_of, trajectory::conduct_of};

/// Criteria that a trajectory must meet.
#[derive(Clone, Debug, Default)]
pub struct Criteria {
    /// Minimum final score.
    pub min_score: Option<f64>,
    /// Minimum reward.
    pub min_reward: Option<f64>,
    /// Every graph correct at the end.
    pub correct: bool,
    /// No integrity rule broken, or every such mistake corrected before the end.
    pub honest: bool,
    /// No integrity rule broken at any step.
    pub clean: bool,
    /// Maximum steps.
    pub max_steps: Option<usize>,
    /// Maximum tokens, input and output.
    pub max_tokens: Option<u64>,
    /// No earlier trajectory has the same passes.
    pub novel: bool,
    /// Styles that are kept; empty keeps all.
    pub styles: BTreeSet<Style>,
    /// Text that the model's name contains.
    pub model: Option<String>,
}

/// Applies criteria in order, and counts what they left out.
#[derive(Debug, Default)]
pub struct Selector {
    criteria: Criteria,
    seen: BTreeSet<ContentId>,
    /// Number of rejected trajectories by criterion.
    pub left_out: BTreeMap<&'static str, usize>,
    /// Number of kept trajectories.
    pub kept: usize,
    /// Number of kept trajectories that corrected a broken rule.
    pub corrected: usize,
}

impl Selector {
    /// Creates a selector.
    pub fn new(criteria: Criteria) -> Self {
        Self { criteria, ..Self::default() }
    }

    /// Returns whether a trajectory meets the criteria, and counts it.
    pub fn keeps(&mut self, trajectory: &Trajectory) -> bool {
        match self.objection(trajectory) {
            Some(why) => {
                *self.left_out.entry(why).or_default() += 1;
                false
            }
            None => {
                self.kept += 1;
                self.corrected += usize::from(conduct_of(trajectory) == Conduct::Corrected);
                true
            }
        }
    }

    fn objection(&mut self, trajectory: &Trajectory) -> Option<&'static str> {
        let criteria = &self.criteria;
        let (correct, graphs) = trajectory.correct();
        let conduct = conduct_of(trajectory);
        if criteria.min_score.is_some_and(|least| trajectory.score < least) {
            Some("score")
        } else if criteria.min_reward.is_some_and(|least| trajectory.reward.value < least) {
            Some("reward")
        } else if criteria.correct && (graphs == 0 || correct < graphs) {
            Some("not correct")
        } else if criteria.clean && conduct != Conduct::Clean || criteria.honest && conduct == Conduct::Broken {
            Some("rule broken")
        } else if !criteria.styles.is_empty()
            && style_of(trajectory).is_none_or(|style| !criteria.styles.contains(&style))
        {
            Some("style")
        } else if criteria.max_steps.is_some_and(|most| trajectory.steps.len() > most) {
            Some("steps")
        } else if criteria.max_tokens.is_some_and(|most| trajectory.usage.tokens() > most) {
            Some("tokens")
        } else if criteria.model.as_ref().is_some_and(|model| !trajectory.setup.model.contains(model.as_str())) {
            Some("model")
        // Last, as it remembers what it sees: a trajectory that fails another criterion must not hide a later
        // equal one.
        } else if criteria.novel && !self.seen.insert(passes_id(trajectory)) {
            Some("not novel")
        } else {
            None
        }
    }
}

/// Property by which trajectories are duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The same final passes for the same graphs.
    Passes,
    /// The same replies of the model for the same graphs.
    Replies,
}

/// Keeps the best of duplicate trajectories.
#[derive(Debug)]
pub struct Dedup {
    by: By,
    best: BTreeMap<ContentId, (usize, f64)>,
    next: usize,
}

impl Dedup {
    /// Creates a filter that compares by a property.
    pub fn new(by: By) -> Self {
        Self { by, best: BTreeMap::new(), next: 0 }
    }

    /// Adds a trajectory, in the first of two iterations.
    pub fn add(&mut self, trajectory: &Trajectory) {
        let id = match self.by {
            By::Passes => passes_id(trajectory),
            By::Replies => replies_id(trajectory),
        };
        let index = self.next;
        self.next += 1;
        let place = self.best.entry(id).or_insert((index, trajectory.score));
        // Strictly better, so that of equal ones the first stays and the result does not depend on the number
        // of copies.
        if trajectory.score > place.1 {
            *place = (index, trajectory.score);
        }
    }

    /// Returns the positions to keep, for the second iteration.
    pub fn kept(self) -> BTreeSet<usize> {
        self.best.into_values().map(|(index, _)| index).collect()
    }
}

/// Returns an id of graphs and passes; of the replies if there are no passes.
fn passes_id(trajectory: &Trajectory) -> ContentId {
    if trajectory.passes.is_empty() {
        return replies_id(trajectory);
    }
    let hashes = trajectory.setup.task.graph_hashes.iter().map(|hash| hash.as_str().as_bytes());
    ContentId::of_parts(
        hashes.chain(trajectory.passes.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()])),
    )
}

fn replies_id(trajectory: &Trajectory) -> ContentId {
    let mut parts: Vec<String> = trajectory.setup.task.graph_hashes.iter().map(ToString::to_string).collect();
    for reply in crate::trajectory::replies(&trajectory.messages) {
        parts.push(reply.content.clone());
        parts.extend(reply.tool_calls.iter().flat_map(|call| [call.name.clone(), call.arguments.to_string()]));
    }
    ContentId::of_parts(parts.iter().map(String::as_bytes))
}
