//! Messages between the referee and its workers. `docs/reference/worker-protocol.md` describes the exchange.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    CacheMode, Device, Layout, LoadReport, Pool, Profile, SampleRule, SampledOutput, TensorValue, TracedPattern, Usage,
    Windows, WorkerError, WorkerNote,
};

/// Version of the exchange. A worker with another version is refused.
pub const PROTOCOL_VERSION: u32 = 10;

/// Description of a fork server that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZygoteInfo {
    /// [`PROTOCOL_VERSION`] of the Python side.
    pub protocol: u32,
    /// Process id.
    pub pid: i32,
    /// Versions by name: `python`, `torch`, `triton` (if installed), `cuda` (if built with it), `passnet`.
    pub versions: std::collections::BTreeMap<String, String>,
}

/// Request of the referee to the fork server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ForkRequest {
    /// Fork one worker. The worker's end of its control socket is sent with this frame.
    Fork {
        /// Id of the worker, chosen by the referee, which replies repeat.
        id: u64,
        /// Private directory of the worker, for its TMPDIR and caches.
        scratch: String,
        /// Limit on address space growth in bytes (`RLIMIT_DATA`); 0 for none.
        memory_bytes: u64,
        /// Limit on CPU time in seconds; 0 for none.
        cpu_s: u64,
        /// Confine the worker (`SECURITY.md`).
        sandbox: bool,
        /// Paths that a confined worker may read in addition to the files of the system and of Python.
        readable: Vec<String>,
        /// Shared caches that the worker may read and write (compiled kernels of trusted authors).
        cache: String,
    },
    /// Fork and warm up some spare workers ahead of time. Each waits for a `Fork` that will use it.
    Prepare {
        /// Number of workers that have to be waiting.
        spares: u32,
        /// CPU cores that forking and warming up may use, so that they do not disturb a measurement; empty for all cores.
        cores: Vec<u32>,
    },
    /// Import Dynamo, and compile a small graph with TorchInductor, so that workers that are forked later have the compiler, already set up.
    /// If there is a GPU, nothing is compiled: this would initialise CUDA, and forked workers could not use it then.
    Compile {
        /// Shared caches, as in `Fork`; empty to import Dynamo only.
        cache: String,
    },
    /// Exit. All workers are killed.
    Exit,
}

/// Reply of the fork server to the referee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ForkReply {
    /// The fork server is ready. Sent once, without a request.
    Ready(ZygoteInfo),
    /// A worker was forked.
    Forked {
        /// Id from the request.
        id: u64,
        /// Process id of the worker.
        pid: i32,
    },
    /// Reply to `Prepare`.
    Prepared {
        /// Process ids of all spare workers that are waiting.
        pids: Vec<i32>,
    },
    /// Reply to `Compile`, successful or not.
    Compiled,
    /// A worker ended. Sent without a request.
    Exited {
        /// Id from the request.
        id: u64,
        /// Exit code, if it exited.
        code: Option<i32>,
        /// Signal number, if a signal ended it.
        signal: Option<i32>,
    },
}

/// Code that a worker runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CandidateSpec {
    /// The unchanged graph, called directly. Also the `noop` author on the direct path.
    Eager,
    /// The graph through `torch.compile` with PassNet's backend and no passes. This is the control of the compiled path.
    Control,
    /// TorchInductor.
    Inductor {
        /// The `mode` argument of `torch.compile`.
        mode: String,
        /// Path of the call, as in `Passes`.
        compiled: bool,
    },
    /// Result of another compiler.
    Compiler {
        /// Name or path of the file that calls it.
        name: String,
        /// Text of the file; empty for a file of `python/passnet/_compilers`.
        source: String,
    },
    /// The graph rewritten by a pass directory.
    Passes {
        /// Path of the pass directory as the worker sees it.
        dir: String,
        /// True to run through `torch.compile`, false to call the rewritten graph directly.
        compiled: bool,
    },
}

/// Watch over the replacement functions in a call. Observations are returned as [`crate::WatchFinding`] notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watch {
    /// Record operators that compute.
    pub operators: bool,
    /// Fill fresh memory, and margins behind it and the inputs, with NaN, and look for writes past the end.
    pub poison: bool,
    /// Count the kernels that run.
    pub census: bool,
    /// Make the kernels of the pass do nothing. Nothing else is watched then.
    pub idle: bool,
    /// Overwrite the results of replacement functions after they return. Nothing else is watched then.
    pub spoil: bool,
}

/// Request of the referee to a worker. Each request has one reply, except [`WorkerRequest::Go`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkerRequest {
    /// Build the graph on a device and prepare the callable.
    Load {
        /// Wire form of the graph (`docs/reference/graph-wire.md`), with its devices already replaced.
        graph: Value,
        /// Device to run on.
        device: Device,
        /// Intra-op threads.
        threads: u32,
        /// Code to run.
        candidate: CandidateSpec,
        /// Load native kernels only from objects that were judged (`docs/reference/native-kernels.md`).
        judge_kernels: bool,
        /// Parameters of the graph that are state of the module, such as weights. All other parameters are arguments of each call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        weights: Vec<String>,
        /// Parameters that the graph certainly leaves unchanged. In guarded calls, kernels cannot write to them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unchanged: Vec<String>,
    },
    /// Make sets of inputs from a shared block. The block's descriptor is sent with this frame.
    Inputs {
        /// Number of the first set in later requests. Further sets have the following numbers. Existing sets with these numbers are
        /// replaced.
        set: u32,
        /// Number of sets.
        count: u32,
        /// Bytes from a tensor of one set to the same tensor of the next set.
        stride: u64,
        /// Layout of the first set: one entry per parameter of the graph, in order.
        tensors: Vec<Layout>,
    },
    /// Drop all sets of inputs.
    DropInputs,
    /// One checked call; the reply carries outputs.
    Call {
        /// Set of inputs.
        set: u32,
        /// Seed of PyTorch's generators for this call.
        seed: u64,
        /// Watch over replacement functions.
        #[serde(default)]
        watch: Watch,
    },
    /// One call in float64 of a graph that was loaded as [`CandidateSpec::Eager`]; the reply carries outputs.
    CallFloat64 {
        /// Set of inputs.
        set: u32,
        /// Seed of PyTorch's generators for this call.
        seed: u64,
    },
    /// Take the pools that contain the contents of timed calls. The block's descriptor is sent with this frame. The pools replace earlier
    /// pools.
    Pools {
        /// One per parameter of the graph, in order.
        pools: Vec<Pool>,
    },
    /// Timed calls, each with a separate content. The worker sends [`WorkerReply::Armed`] when all is ready, waits for
    /// [`WorkerRequest::Go`], makes the calls, sends [`WorkerReply::Ended`], and then its reply.
    Time {
        /// Windows of each pool. Call `i` of the block uses window number `(start + i * step) % windows`.
        windows: Vec<Windows>,
        /// Number of untimed calls before the timed calls. They also use windows.
        warmup: u32,
        /// Timed trials.
        trials: u32,
        /// Number of consecutive calls per trial. The time of a trial is the mean of its calls.
        calls: u32,
        /// Overwrite the results of a call before their memory is used again.
        overwrite: bool,
        /// Cache state before each trial.
        cache: CacheMode,
        /// Seed PyTorch's generators before each call, and not once before the block.
        restore: bool,
        /// Seed of PyTorch's generators.
        seed: u64,
        /// Rule for the elements of outputs to sample; `None` to sample nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sample: Option<SampleRule>,
    },
    /// Begin the calls of `Time`. There is no reply.
    Go,
    /// Return the outputs of the timed call that was kept: `kept_call` of the last `Timed`.
    Fetch,
    /// One call under PyTorch's profiler, for authors of passes. It does not affect a verdict.
    Profile {
        /// Set of inputs.
        set: u32,
        /// Seed of PyTorch's generators for this call.
        seed: u64,
    },
    /// Report the time and memory that the loaded code has used so far.
    Usage,
    /// Import a pass directory and describe the patterns of its passes in canonical form. No graph is run or rewritten.
    Patterns {
        /// Path of the pass directory as the worker sees it.
        dir: String,
        /// Device that the kernels of the passes are for.
        device: Device,
        /// Load native kernels only from objects that were judged.
        judge_kernels: bool,
    },
    /// Try to escape from the sandbox, or to use a facility that has to work inside (`passnet doctor`).
    Probe {
        /// Name of the attempt.
        attempt: String,
        /// Target of the attempt, e.g. a path or an address.
        argument: String,
    },
    /// Exit.
    Exit,
}

/// Reply of a worker to the referee.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkerReply {
    /// The worker is ready. Sent once, without a request.
    Ready {
        /// Process id of the worker in its process namespace.
        pid: i32,
        /// Confinement that was reached, by layer.
        sandbox: std::collections::BTreeMap<String, String>,
    },
    /// Reply to `Load`.
    Loaded(LoadReport),
    /// Reply to `Inputs`, `Pools`, `DropInputs`.
    Done,
    /// Reply to `Call`, `Fetch`. The descriptor of the block with the values is sent with this frame, unless `nbytes` is 0.
    Outputs(Outputs),
    /// The calls of `Time` begin as soon as `Go` arrives.
    Armed,
    /// The calls of `Time` are over.
    Ended,
    /// Reply to `Time`.
    Timed(TimedBlock),
    /// Reply to `Profile`.
    Profiled(Profile),
    /// Reply to `Usage`.
    Usage(Usage),
    /// Reply to `Patterns`.
    Patterns {
        /// One entry per pass, in order of application.
        patterns: Vec<TracedPattern>,
    },
    /// Reply to `Probe`.
    Probed {
        /// True if the probe succeeded.
        done: bool,
        /// Result, or the error that stopped it.
        detail: String,
    },
    /// The request failed; the worker can continue unless the error is fatal.
    Failed(WorkerError),
}

/// Values that a call returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outputs {
    /// One entry per returned value, in order.
    pub values: Vec<OutputValue>,
    /// Inputs that changed during the call, named by parameter. They are further tensors in the block.
    pub mutated: Vec<Layout>,
    /// Size of the block in bytes.
    pub nbytes: u64,
    /// Facts that the watch over replacement functions and the comparison of addresses found.
    pub notes: Vec<WorkerNote>,
}

/// One returned value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OutputValue {
    /// A plain `torch.Tensor` (or `Parameter`).
    Tensor {
        /// Layout of the values in the block, which are contiguous for any stride.
        layout: Layout,
        /// Stride in elements.
        stride: Vec<i64>,
        /// Address of the first element on the tensor's device.
        address: u64,
        /// Device, e.g. `cuda:0`.
        device: String,
    },
    /// A Python number or bool.
    Scalar {
        value: TensorValue,
    },
    None,
    /// Any other value: a tensor subclass, a nested container, a string.
    Other {
        /// Qualified name of the value's type.
        type_name: String,
    },
}

/// Times of a block of calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedBlock {
    /// End-to-end nanoseconds of each trial (the mean of its calls, rounded down), in order.
    pub e2e_ns: Vec<u64>,
    /// Nanoseconds between device events around the calls of each trial (the mean of its calls), in order; empty on a CPU.
    pub device_ns: Vec<u64>,
    /// Timed call, counted from 0, whose outputs are kept for `Fetch`. The worker chooses it at random, and only after the call was made.
    pub kept_call: u32,
    /// Content ids of the values of the kept call, computed as soon as the call returned. There is one id per returned value; it is empty
    /// where the value is not a contiguous tensor in host memory.
    #[serde(default)]
    pub kept: Vec<String>,
    /// Nanoseconds from before the first warm-up call to after the last trial, by the same clock.
    pub total_ns: u64,
    /// Part of `total_ns` between the calls in which the worker overwrote unused results and released memory, or made guarded calls.
    #[serde(default)]
    pub overwriting_ns: u64,
    /// Elements that the rule of the request chose, of outputs that are strided tensors of real numbers in host memory.
    #[serde(default)]
    pub samples: Vec<SampledOutput>,
}
