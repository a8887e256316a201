//! One graph under one compiler.

use passnet_record::{GraphId, Timing, Verdict};

use super::split::{TimeSplit, split};

/// One graph under one compiler, measured and settled.
#[derive(Clone, Debug, PartialEq)]
pub struct StudiedGraph {
    pub id: GraphId,
    /// Calls in it.
    pub nodes: usize,
    /// Eager's median time in nanoseconds.
    pub eager_ns: f64,
    /// End-to-end speed-up against eager, with its interval.
    pub speedup: (f64, f64, f64),
    /// Speed-up of the kernels as far as it is known: by device events; on a CPU against the control, which has the same
    /// guards, so that the code remains.
    pub kernel_speedup: Option<f64>,
    /// Split of the difference to eager; `None` without a control.
    pub split: Option<TimeSplit>,
}

/// Reads a settled measurement.
pub(super) fn subject(verdict: &Verdict, timing: &Timing) -> StudiedGraph {
    let speedup = timing.speedup;
    StudiedGraph {
        id: verdict.id.clone(),
        nodes: verdict.evidence.nodes_before,
        eager_ns: timing.base.median_ns,
        speedup: (speedup.ratio, speedup.low, speedup.high),
        kernel_speedup: timing
            .device_speedup
            // A CPU has no device events; the control has the same guards, so their ratio is that of the code
            // alone.
            .or(verdict.control_timing().map(|control| control.speedup))
            .map(|of| of.ratio),
        split: verdict.control_timing().and_then(|control| split(timing, control)),
    }
}
