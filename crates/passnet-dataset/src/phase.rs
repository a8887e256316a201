//! Phases of models: inference, and the forward and backward of a training step.

/// Part of a training step, or inference. Graphs that do not belong to a training step are inference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The forward pass of the model in evaluation mode.
    #[default]
    Inference,
    /// The forward pass of a training step, with the values that the backward pass needs.
    Forward,
    /// The backward pass of a training step.
    Backward,
}

impl Phase {
    /// Returns the phase of a full graph, given by the last part of its path, as `extract` names it.
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
