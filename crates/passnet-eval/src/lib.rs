//! The referee: makes inputs, runs reference and candidate in workers, compares, times, decides, writes down.
//!
//! ```text
//! Suite ----> run_suite ----> RunStore                 what there is, what was found
//!                |
//!            Referee::evaluate ----> Evaluation        one candidate, one graph
//!                |
//!            attempt: inputs -> worker -> judge -> timing
//!                              |
//!            zygote (fork server, Python) -> workers (docs/worker-protocol.md)
//! ```
//!
//! What is done and why is in `docs/referee.md`, how inputs are made in `docs/inputs.md`.
//!
//! The crate is synchronous: a handful of threads, blocking sockets, a deadline on every operation. A measurement must not
//! share its core with an executor's wake-ups, an evaluation talks to three processes at most, and a thread per
//! evaluation that stands in `poll` is exactly as concurrent as the device allows. Nothing here prints; all failures of
//! a candidate or of a graph are verdicts, and an error means that the machine or the installation is at fault.

mod attempt;
mod block;
mod builtin;
mod candidate;
mod channel;
pub mod compare;
mod defences;
mod device;
mod environment;
mod failure;
pub mod inputs;
mod integrity;
mod judge;
mod machine;
mod philox;
pub mod probe;
mod propagate;
pub mod python;
mod referee;
pub mod run;
mod sample;
mod scratch;
pub mod settings;
pub mod stats;
pub mod store;
pub mod suite;
mod timing;
mod tree;
pub mod tune;
mod watch;
mod worker;
mod zygote;

pub use builtin::{TypedSuite, known_choices, target_of, write_passes};
pub use candidate::{Candidate, PassDirError, PassDirectory};
pub use defences::{Defences, UnknownLayer};
pub use passnet_fuse::{Choices, Target, TypedGraph};
pub use propagate::{PropagateError, Propagator, propagate};
pub use referee::{EvalError, Evaluation, Referee, RefereeOptions};
pub use run::{Progress, RunError, RunOutcome, run_suite, run_written};
pub use sample::{GraphSample, SampleFolder};
pub use store::{RunLog, RunStore, StoreError};
pub use suite::{Selection, Suite, SuiteError};
pub use zygote::{Launcher, Zygote, ZygoteConfig, ZygoteError};
