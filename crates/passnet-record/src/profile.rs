use serde::{Deserialize, Serialize};

/// Profile of one call: its wall time and the events that PyTorch's profiler recorded. The wall time is measured without the profiler,
/// which slows down the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Median time of a warm call without the profiler, from before the call until the device has finished.
    pub wall_ns: u64,
    /// Operators, launches, replacement functions and their C++ kernels, longest first.
    pub host: Vec<ProfileRow>,
    /// Kernels and copies on the device, longest first; empty on a CPU.
    pub device: Vec<ProfileRow>,
}

/// Events with the same name, per call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRow {
    /// Name of the operator or kernel.
    pub name: String,
    /// Number of events per call.
    pub count: u64,
    /// Time of the events themselves per call, without the events that they contain.
    pub total_ns: u64,
}
