use serde::{Deserialize, Serialize};

use crate::{Baseline, ExecutionPath};

/// Every trial time of one measurement: the content of the blob that [`crate::Timing::raw`] names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialTimes {
    /// [`crate::SCHEMA_VERSION`] of the writer; 1 in blobs that do not have the field.
    #[serde(default = "first_version")]
    pub schema_version: u32,
    /// Path on which the candidate ran; absent in blobs from before 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<ExecutionPath>,
    /// Unit of all times.
    #[serde(default)]
    pub unit: TimeUnit,
    /// Number of calls per entry: each entry is the mean of this number of consecutive calls. It is 1 in blobs that do not have the
    /// field.
    #[serde(default = "one_call")]
    pub calls: u32,
    /// Number of rounds of each pair of processes, in order. Absent if there is one pair, or if all have the same number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<usize>,
    /// The graph by eager PyTorch.
    pub eager: SideTrials,
    /// The candidate's path without rewriting; equal to `eager` where that is eager PyTorch itself.
    pub control: SideTrials,
    pub candidate: SideTrials,
}

/// Times of one side of a measurement: one list per round, one entry per trial, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideTrials {
    /// End-to-end time of each trial, including device synchronisation.
    pub e2e_ns: Vec<Vec<u64>>,
    /// Time between device events of each trial; empty on a CPU.
    #[serde(default)]
    pub device_ns: Vec<Vec<u64>>,
}

/// Unit of the times in [`TrialTimes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    /// Nanoseconds.
    #[default]
    Ns,
}

const fn first_version() -> u32 {
    1
}

const fn one_call() -> u32 {
    1
}

impl TrialTimes {
    /// Returns the times of a baseline.
    pub const fn baseline(&self, baseline: Baseline) -> &SideTrials {
        match baseline {
            Baseline::Eager => &self.eager,
            Baseline::Control => &self.control,
        }
    }
}

impl SideTrials {
    /// Returns the end-to-end times of all rounds in one list.
    pub fn flat(&self) -> Vec<u64> {
        self.e2e_ns.iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_of_earlier_versions_are_readable() {
        let old = r#"{"candidate":{"device_ns":[],"e2e_ns":[[3],[4]]},"control":{"device_ns":[],"e2e_ns":[[2]]},
            "eager":{"device_ns":[],"e2e_ns":[[1]]},"path":"direct","unit":"ns"}"#;
        let times: TrialTimes = serde_json::from_str(old).unwrap();
        assert_eq!((times.schema_version, times.path), (1, Some(ExecutionPath::Direct)));
        assert_eq!(times.candidate.flat(), [3, 4]);
        assert_eq!(times.baseline(Baseline::Control).flat(), [2]);
        let oldest = r#"{"eager":{"e2e_ns":[[1]]},"control":{"e2e_ns":[]},"candidate":{"e2e_ns":[]}}"#;
        assert!(serde_json::from_str::<TrialTimes>(oldest).is_ok());
        assert!(serde_json::from_str::<TrialTimes>(&old.replace("\"ns\"", "\"us\"")).is_err());
    }
}
