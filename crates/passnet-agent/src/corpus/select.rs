//! Which trajectories to keep.

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::ContentId;

use crate::trajectory::Trajectory;

/// What a trajectory has to be like.
#[derive(Clone, Debug, Default)]
pub struct Criteria {
    /// Final score at least this.
    pub min_score: Option<f64>,
    /// Reward at least this.
    pub min_reward: Option<f64>,
    /// Every graph correct in the end.
    pub correct: bool,
    /// No rule of integrity broken on the way.
    pub honest: bool,
    /// At most so many steps.
    pub max_steps: Option<usize>,
    /// At most so many tokens, read and written.
    pub max_tokens: Option<u64>,
    /// Passes that no trajectory before had.
    pub novel: bool,
    /// Name of the model contains this.
    pub model: Option<String>,
}

/// Applies criteria in order, and counts what they left out.
#[derive(Debug, Default)]
pub struct Selector {
    criteria: Criteria,
    seen: BTreeSet<ContentId>,
    /// Left out, by the criterion that did it.
    pub left_out: BTreeMap<&'static str, usize>,
    /// Kept.
    pub kept: usize,
}

impl Selector {
    /// One for these criteria.
    pub fn new(criteria: Criteria) -> Self {
        Self { criteria, ..Self::default() }
    }

    /// Whether to keep a trajectory.
    pub fn keeps(&mut self, trajectory: &Trajectory) -> bool {
        match self.objection(trajectory) {
            Some(why) => {
                *self.left_out.entry(why).or_default() += 1;
                false
            }
            None => {
                self.kept += 1;
                true
            }
        }
    }

    fn objection(&mut self, trajectory: &Trajectory) -> Option<&'static str> {
        let criteria = &self.criteria;
        let (correct, graphs) = trajectory.correct();
        if criteria.min_score.is_some_and(|least| trajectory.score < least) {
            Some("score")
        } else if criteria.min_reward.is_some_and(|least| trajectory.reward.value < least) {
            Some("reward")
        } else if criteria.correct && (graphs == 0 || correct < graphs) {
            Some("not correct")
        } else if criteria.honest && !trajectory.findings.is_empty() {
            Some("rule broken")
        } else if criteria.max_steps.is_some_and(|most| trajectory.steps.len() > most) {
            Some("steps")
        } else if criteria.max_tokens.is_some_and(|most| trajectory.usage.tokens() > most) {
            Some("tokens")
        } else if criteria.model.as_ref().is_some_and(|model| !trajectory.model.contains(model.as_str())) {
            Some("model")
        } else if criteria.novel && !self.seen.insert(passes_id(trajectory)) {
            Some("not novel")
        } else {
            None
        }
    }
}

/// What makes two trajectories one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The same final passes for the same graphs.
    Passes,
    /// The same replies of the model for the same graphs.
    Replies,
}

/// Keeps the best of those that are one.
#[derive(Debug)]
pub struct Dedup {
    by: By,
    best: BTreeMap<ContentId, (usize, f64)>,
    next: usize,
}

impl Dedup {
    /// One that compares by this.
    pub fn new(by: By) -> Self {
        Self { by, best: BTreeMap::new(), next: 0 }
    }

    /// Looks at a trajectory, the first time over.
    pub fn add(&mut self, trajectory: &Trajectory) {
        let id = match self.by {
            By::Passes => passes_id(trajectory),
            By::Replies => replies_id(trajectory),
        };
        let index = self.next;
        self.next += 1;
        let place = self.best.entry(id).or_insert((index, trajectory.score));
        if trajectory.score > place.1 {
            *place = (index, trajectory.score);
        }
    }

    /// Positions to keep, the second time over.
    pub fn kept(self) -> BTreeSet<usize> {
        self.best.into_values().map(|(index, _)| index).collect()
    }
}

/// The passes for these graphs; of trajectories without passes, what was said.
fn passes_id(trajectory: &Trajectory) -> ContentId {
    if trajectory.passes.is_empty() {
        return replies_id(trajectory);
    }
    let hashes = trajectory.task.graph_hashes.iter().map(|hash| hash.as_str().as_bytes());
    ContentId::of_parts(
        hashes.chain(trajectory.passes.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()])),
    )
}

fn replies_id(trajectory: &Trajectory) -> ContentId {
    let mut parts: Vec<String> = trajectory.task.graph_hashes.iter().map(ToString::to_string).collect();
    for reply in crate::trajectory::replies(&trajectory.messages) {
        parts.push(reply.content.clone());
        parts.extend(reply.tool_calls.iter().flat_map(|call| [call.name.clone(), call.arguments.to_string()]));
    }
    ContentId::of_parts(parts.iter().map(String::as_bytes))
}
