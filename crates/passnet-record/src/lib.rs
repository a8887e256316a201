//! What PassNet writes down.
//!
//! Plain data that crosses a boundary: to disk (JSON, JSONL), to another process (worker messages), to another
//! crate. Nothing here computes more than a lookup; nothing reads or writes files. Every top-level record that
//! reaches a disk carries [`SCHEMA_VERSION`].
//!
//! Conventions: durations are nanoseconds in `u64` fields that end in `_ns`; ratios are baseline / candidate, so
//! more than 1 is faster; hashes are lower-case hexadecimal.

mod author;
mod dtype;
mod id;
mod message;
mod run;
mod suite;
mod tensor;
mod verdict;

pub use author::{AuthorParseError, AuthorSpec};
pub use dtype::{DType, UnknownDType};
pub use id::ContentId;
pub use message::{
    CacheMode, CandidateSpec, ForkReply, ForkRequest, Layout, LoadReport, NearestMiss, OutputValue, Outputs,
    PROTOCOL_VERSION, PassReport, Profile, ProfileRow, TimedBlock, Watch, WorkerError, WorkerReply, WorkerRequest,
    WorkerStage, ZygoteInfo,
};
pub use run::{Fingerprint, RunEvent, RunHeader, RunSettings, SourceFile};
pub use suite::{Suite, SuiteTask};
pub use tensor::{TensorMeta, TensorValue};
pub use verdict::{
    Cost, Evidence, ExecutionPath, GraphId, OutputComparison, RatioInterval, Reason, SideTiming, Status, Timing,
    Verdict,
};

/// Version of every persisted schema of this crate. Raised when a field changes its meaning or goes away; a new
/// optional field does not raise it.
pub const SCHEMA_VERSION: u32 = 1;
