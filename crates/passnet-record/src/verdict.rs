use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Baseline, CacheMode, ContentId, DType, ExecutionPath, Reason, Remark, Status};

/// Identifier of a graph inside a suite.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GraphId {
    /// Task that the graph belongs to.
    pub task: String,
    /// Sample folder inside the task.
    pub graph: String,
}

/// Worst agreement of one output over all counted rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputComparison {
    /// Position among the graph's outputs. Positions after the returned values are inputs that the graph mutates.
    pub index: usize,
    /// Element type of the reference's output.
    pub dtype: DType,
    /// Shape of the reference's output.
    pub shape: Vec<u64>,
    /// Smallest integer tolerance at which the output was close in every round; `None` if there is none.
    pub tolerance: Option<i32>,
    /// True if the output was equal in every round (`torch.equal`).
    pub equal: bool,
    /// Largest absolute difference; `None` where a NaN or infinity makes it meaningless.
    pub max_abs_diff: Option<f64>,
    /// Largest difference relative to the reference's magnitude.
    pub max_rel_diff: Option<f64>,
    /// Flat index of the worst element.
    pub worst_index: Option<u64>,
    /// Number of elements that are not close at the demanded tolerance, in the worst round.
    pub mismatched: u64,
    /// Distances of both sides from the graph computed in float64; `None` where there is no such result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub float64: Option<AgainstFloat64>,
}

/// Distances of both sides of an output from the graph computed in float64, in the worst round that has a float64 result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgainstFloat64 {
    /// Distance of eager mode from float64.
    pub eager: Deviation,
    /// Distance of the candidate from float64.
    pub candidate: Deviation,
    /// True if the candidate is at least as close as eager, up to the margin in `docs/reference/referee.md`.
    pub accepted: bool,
}

/// Distance of an output from float64.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deviation {
    /// Largest distance of an element; `None` if an element is NaN or infinite where float64 is not.
    pub max: Option<f64>,
    /// Root mean square of the distances; `None` in the same cases as `max`.
    pub rms: Option<f64>,
    /// Number of elements that are not close to float64 at the demanded tolerance.
    pub outside: u64,
}

/// Times of one side of a comparison, over all its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideTiming {
    /// Number of timed calls.
    pub trials: u64,
    /// Median end-to-end time (call and device synchronisation).
    pub median_ns: f64,
    /// Interquartile range of the end-to-end time.
    pub iqr_ns: f64,
    /// Smallest end-to-end time.
    pub min_ns: f64,
    /// Median time between device events around the call; `None` on a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_median_ns: Option<f64>,
    /// Overhead of a block: the share of its time, by the referee's clock between the signals for its beginning and its end, in which the
    /// worker's clock does not run. It is the median over the blocks. The times of this record do not contain it. It is absent in older
    /// logs. Logs of protocol 9 count the request, the reply and the worker's work for them as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<f64>,
}

/// A ratio of medians with its confidence interval (percentile bootstrap).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioInterval {
    /// Baseline median / candidate median.
    pub ratio: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Confidence level, e.g. 0.95.
    pub confidence: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A paired, interleaved measurement of the candidate against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Path on which the candidate was run.
    pub path: ExecutionPath,
    /// Side that the candidate is compared with.
    pub baseline: Baseline,
    /// Cache state before each trial.
    pub cache: CacheMode,
    /// The baseline's times.
    pub base: SideTiming,
    /// The candidate's times.
    pub candidate: SideTiming,
    /// End-to-end speed-up.
    pub speedup: RatioInterval,
    /// Speed-up by device events; `None` on a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_speedup: Option<RatioInterval>,
    /// Lower bound for the time of any candidate on this device: the bytes that must move, or the arithmetic that must be done, at the
    /// device's peak rate. A measured time below the bound is not credited. `None` where no peak rates are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<f64>,
    /// True if the fluctuation stayed within the bound ([`crate::RunSettings::max_fluctuation`]), and pairs of processes agree.
    pub stable: bool,
    /// Number of further measurements of the pair because of instability.
    pub remeasured: u32,
    /// Ratio of each pair of fresh processes, if there were several. `speedup` is the summary of these ratios.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<RatioInterval>,
    /// Nanoseconds per call that the referee's clock saw in the candidate's blocks, or when its outputs were fetched, and that its trial
    /// times do not explain. The candidate's times here include this charge; `raw` has the times as the worker reported them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub charged_ns: u64,
    /// Blob with every trial time in order (JSON); `None` if it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<ContentId>,
}

/// Time and memory of one side, as its worker reports them. They do not affect verdicts or scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Time to rewrite the graph, or to wrap it by a compiler, before the first call.
    pub load_ns: u64,
    /// Time of the first call, in which most compilers compile.
    pub first_call_ns: u64,
    /// Largest resident memory of the process, PyTorch included.
    pub host_bytes: u64,
    /// Largest device memory of tensors while calls were timed; 0 on a CPU.
    pub device_bytes: u64,
}

/// [`Usage`] of both sides of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsagePair {
    /// The graph by eager PyTorch.
    pub eager: Usage,
    /// The candidate on the path that is scored.
    pub candidate: Usage,
}

/// Observations of the referee in addition to outputs and times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Number of nodes before rewriting.
    pub nodes_before: usize,
    /// Number of nodes after rewriting.
    pub nodes_after: usize,
    /// Matches per pass, in order of application.
    pub matches: Vec<(String, usize)>,
    /// The rewritten graph as Python text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<String>,
    /// Inputs whose content changed during a checked call, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutated_inputs: Vec<String>,
    /// Number of timed calls whose outputs were compared.
    pub timed_calls_checked: u64,
    /// Number of timed calls of which a few elements were compared. It is zero in older logs.
    #[serde(default)]
    pub timed_calls_sampled: u64,
    /// Seed that contents, checked calls and lengths of blocks derive from. It is recorded after the evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Remarks, e.g. `triton_interpreter`, `stride_differs:0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Remark>,
    /// Time and memory of both sides; `None` if nothing was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsagePair>,
    /// Confinement of the candidate, e.g. `{"landlock": "abi7", "network": "namespace"}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sandbox: BTreeMap<String, String>,
}

/// Time that one evaluation took, by step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Time from the start of the evaluation to its verdict.
    pub wall_ns: u64,
    /// Time from the fork to the first reply of both workers.
    pub start_ns: u64,
    /// Time to build and rewrite the graph.
    pub load_ns: u64,
    /// Time to make inputs, and to run and compare checked rounds.
    pub check_ns: u64,
    /// Time to measure, including the wait for the device.
    pub time_ns: u64,
    /// Time in which the evaluation had the device exclusively. It is zero in older logs.
    #[serde(default)]
    pub held_ns: u64,
    /// Sum of the times of all timed and warm-up calls of both sides, which no harness can avoid.
    pub trials_ns: u64,
}

/// Verdict of the referee on one (pass directory, graph) pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    pub id: GraphId,
    /// Content key: hash of the pass directory, typed graph, settings and machine. A verdict with an equal key may be reused.
    pub key: ContentId,
    /// Outcome.
    pub status: Status,
    /// Reason of the status; absent for a plain `correct`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Smallest integer tolerance at which every output of every round was close, -10..=5. `None` if there is none, or if nothing could
    /// be compared.
    pub tolerance: Option<i32>,
    /// One entry per output.
    pub outputs: Vec<OutputComparison>,
    /// Measurements. The first measurement against eager is scored. Empty if nothing was timed.
    pub timings: Vec<Timing>,
    /// Supporting observations.
    pub evidence: Evidence,
    /// Time by step.
    pub cost: Cost,
}

impl Verdict {
    /// Returns the time of compilation in nanoseconds: loading and the first call, minus the median time of a call. `None` if it is not
    /// known.
    pub fn compile_ns(&self) -> Option<f64> {
        let (usage, timing) = (self.evidence.usage?.candidate, self.scored_timing()?);
        let until_second_call = usage.load_ns as f64 + usage.first_call_ns as f64;
        // Noise can make the first call shorter than the median call, and the time must not be negative.
        Some((until_second_call - timing.candidate.median_ns).max(0.0))
    }

    /// Returns the measurement that is scored: the first one against eager.
    pub fn scored_timing(&self) -> Option<&Timing> {
        self.timings.iter().find(|timing| timing.baseline == Baseline::Eager)
    }

    /// Returns the measurement of the scored path against its control, the same path without rewriting.
    pub fn control_timing(&self) -> Option<&Timing> {
        // Both paths have a control. Only that of the scored path shows what its wrappers and guards cost.
        let scored = self.scored_timing()?.path;
        self.timings.iter().find(|timing| timing.baseline == Baseline::Control && timing.path == scored)
    }
}
