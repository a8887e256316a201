//! Phases of models: inference, and the forward and backward of a training step.

/// The part of a training step that a graph is. A graph that does not train is of the forward in evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The model as it is evaluated.
    #[default]
    Inference,
    /// The forward of a training step, with the values that the backward needs.
    Forward,
    /// The backward of a training step.
    Backward,
}

impl Phase {
    /// Returns the phase of a full graph, by the last part of its path as `extract` names it.
    pub fn of(path: &str) -> Self {
        match path.rsplit('/').next() {
            Some("train_forward") => Self::Forward,
            Some("train_backward") => Self::Backward,
            _ => Self::Inference,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn the_last_part_of_a_path_names_the_phase() {
        for (path, phase) in [
            ("timm/resnet18", Phase::Inference),
            ("timm/resnet18-train/eval_forward", Phase::Inference),
            ("timm/resnet18-train/train_forward", Phase::Forward),
            ("timm/resnet18-train/train_backward", Phase::Backward),
            ("train_backward/resnet18", Phase::Inference),
        ] {
            assert_eq!(Phase::of(path), phase, "{path}");
        }
    }
}
