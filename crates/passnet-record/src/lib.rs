//! Records: plain data that is stored or crosses a process boundary.
//!
//! A record goes to disk (JSON, JSONL), to another process (worker messages, [`services`]), or to another crate. Every top-level
//! record that is stored has a field `schema_version` with [`SCHEMA_VERSION`]. Readers accept records of earlier versions.
//!
//! The crate never reads or writes files. Its functions only look up, parse, format or add values.
//!
//! Conventions: durations are nanoseconds in `u64` fields that end in `_ns`. Ratios are baseline / candidate, so a ratio above 1
//! means that the candidate is faster. Hashes are lower-case hexadecimal.
//!
//! ```
//! use passnet_record::{Device, PassDirectory, Remark, WorkerNote};
//!
//! assert_eq!("cuda".parse(), Ok(Device::Cuda { index: 0 }));
//! let note: WorkerNote = "aliases_input:0:x".parse()?;
//! assert_eq!(note, WorkerNote::AliasesInput { output: 0, input: "x".to_owned() });
//! assert_eq!(Remark::from("a remark of another version".to_owned()).to_string(), "a remark of another version");
//! assert!(PassDirectory::new([("/etc/passwd", "")]).is_err());
//! # Ok::<(), passnet_record::UnknownNote>(())
//! ```

mod addend;
pub mod agent;
pub mod attack;
mod author;
mod authored;
mod bisected;
mod board;
mod bundle;
mod capture;
mod choice;
mod costs;
mod device;
mod difficulty;
mod dtype;
pub mod env;
pub mod fleet;
mod id;
mod layout;
pub mod live;
mod load_report;
mod message;
mod named;
mod note;
mod pass_directory;
mod profile;
mod reason;
mod replacement;
mod retry;
mod run;
mod run_metadata;
mod sample;
pub mod services;
pub mod stages;
mod status;
mod suite;
mod tensor;
mod text;
mod text_report;
mod training;
mod trial_times;
mod tuning;
mod verdict;
mod watch_finding;
mod worker_error;

pub use addend::{Addend, add};
pub use author::{AuthorParseError, AuthorSpec};
pub use authored::{AuthoredModel, AuthoredTask, BuiltinScores, ModelTask, ModelTasks};
pub use bisected::{BISECTED_KEY, BisectedPart};
pub use board::{BoardReply, RESULT_VERSION, ResultStatement, SignedResult, SubmissionState};
pub use bundle::{BUNDLE_VERSION, BundleFile, BundleManifest};
pub use capture::{CaptureDefinition, CaptureLine, CaptureSettings, CapturedModel, LEDGER_VERSION, LedgerLine};
pub use choice::{Baseline, CacheMode, Coverage, Depth, ExecutionPath, Mode, Split, Weights};
pub use costs::{CallCosts, DeviceRates, PlannedCosts, PlannedInput, PlannedPart, PlannedTask, RegionCosts, SideRates};
pub use device::{Device, UnknownDevice};
pub use difficulty::{DIFFICULTY_VERSION, DifficultyBound, TaskDifficulty};
pub use dtype::{DType, UnknownDType};
pub use id::{ContentId, InvalidContentId};
pub use layout::{Layout, Pool, Windows};
pub use load_report::{LoadReport, NearestMiss, PassReport, TracedPattern};
pub use message::{
    CandidateSpec, ForkReply, ForkRequest, OutputValue, Outputs, PROTOCOL_VERSION, TimedBlock, Watch, WorkerReply,
    WorkerRequest, ZygoteInfo,
};
pub use named::UnknownChoice;
pub use note::{Remark, UnknownNote, WorkerNote};
pub use pass_directory::{
    FilePathError, LIBRARY_MANIFEST, ORDER_FILE, OrderError, PASS_DIRECTORY_VERSION, PassDirectory,
};
pub use profile::{Profile, ProfileRow};
pub use reason::{BrokenRule, FilePosition, Reason, ReasonDetail};
pub use replacement::ReplacementSteps;
pub use retry::retry_after_ns;
pub use run::{Fingerprint, RunEvent, RunHeader, RunSettings, SourceFile};
pub use run_metadata::{MetadataError, RunMetadata, WritingCost};
pub use sample::{SampleRule, SampledOutput};
pub use status::Status;
pub use suite::{SuiteManifest, SuiteTask};
pub use tensor::{TensorMeta, TensorValue};
pub use text::{counted, duration};
pub use text_report::{TextPart, TextReport, TextTable};
pub use training::{
    CurveEvent, CurvePoint, TRAINING_VERSION, TrainingInterval, TrainingResults, TrainingScores, TrainingSound,
};
pub use trial_times::{SideTrials, TimeUnit, TrialTimes};
pub use tuning::{KernelConfig, KernelKey, MeasuredConfig, Nests, Tiles, TuningKey, TuningRecord};
pub use verdict::{
    AgainstFloat64, Cost, Deviation, Evidence, GraphId, OutputComparison, RatioInterval, SideTiming, Timing, Usage,
    UsagePair, Verdict,
};
pub use watch_finding::{FarAccessKind, WatchFinding};
pub use worker_error::{WorkerError, WorkerStage};

/// Version of every persisted schema of this crate. It is raised when a field changes its meaning or is removed. A new optional field
/// does not raise it.
pub const SCHEMA_VERSION: u32 = 1;
