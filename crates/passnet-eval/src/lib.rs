//! The referee: makes inputs, runs the reference and the candidate in workers, compares and times them, and decides the verdict.
//!
//! ```text
//! Suite ----> run_suite ----> RunStore                 tasks in, verdicts out
//!                |
//!            Referee::evaluate ----> Evaluation        one candidate, one graph
//!                |
//!            evaluation: inputs -> worker -> judge -> timing
//!                              |
//!            zygote (fork server, Python) -> workers (docs/reference/worker-protocol.md)
//! ```
//!
//! `docs/reference/referee.md` describes the steps and their reasons. `passnet-inputs` makes the values of inputs, and `passnet-compare`
//! compares those of outputs.
//!
//! ```no_run
//! use passnet_eval::{Candidate, Defences, Referee, RefereeOptions, ZygoteConfig, settings};
//! use passnet_record::{Device, GraphId};
//! use passnet_run::GraphSample;
//!
//! let options =
//!     RefereeOptions { zygote: ZygoteConfig::new("python3"), defences: Defences::ALL, cache: None, jobs: 1 };
//! let referee = Referee::new(settings::sound(Device::Cpu), options)?;
//! let id = GraphId { task: "task".to_owned(), graph: "000".to_owned() };
//! let sample = GraphSample::read("task/000".as_ref(), id)?;
//! println!("{}", referee.evaluate(&sample, &Candidate::Noop)?.verdict.status);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The referee never runs a pass in its own process, and it never prints. A failure of a candidate or of a graph is a verdict. An
//! error means that the machine or the installation has a fault.
//!
//! The crate is synchronous: it has a few threads, blocking sockets, and a deadline for each operation. An evaluation talks to
//! three processes at most, and the wake-ups of an async executor would disturb measurements.

mod accounting;
pub mod bisect;
mod block;
mod candidate;
mod channel;
mod core_list;
mod defences;
mod device;
mod environment;
mod error;
mod evaluation;
mod failing_part;
mod failure;
mod fingerprint;
mod gated;
mod integrity;
mod judge;
mod launcher;
mod machine;
mod measurement;
mod occupancy;
mod options;
mod pools;
pub mod probe;
mod referee;
mod resource_watch;
pub mod run;
mod samples;
mod sandbox_level;
mod schedule;
mod scratch;
mod seeds;
pub mod settings;
pub mod stats;
mod timing;
mod tree;
mod worker;
mod zygote;
mod zygote_config;

pub use candidate::Candidate;
pub use core_list::{core_siblings, parse_core_list};
pub use defences::{Defences, UnknownLayer};
pub use device::physical_name;
pub use error::EvalError;
pub use failing_part::{BisectError, smallest_part};
pub use launcher::Launcher;
pub use options::RefereeOptions;
pub use referee::{Evaluation, Referee};
pub use run::{Progress, RunError, RunOutcome, Submission, halting, run_suite};
pub use zygote::Zygote;
pub use zygote_config::{ZygoteConfig, ZygoteError};
