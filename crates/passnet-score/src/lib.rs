//! From verdicts and upstream logs to scores.
//!
//! Pure functions over records: no IO, no clock, no randomness but a seeded generator whose seed is part of the
//! result. Verdicts ([`Outcomes::from_verdicts`]) and public evaluation logs ([`read_log`]) both become [`Outcomes`];
//! [`ScoreReport::new`] turns those into every score. The definitions, and every place where public descriptions of
//! them disagree, are in `docs/scoring.md`.

mod compare;
mod error;
mod es;
mod failure;
mod log;
mod outcome;
mod random;
mod report;
mod sound;
mod tasks;
mod tolerance;
mod weights;

pub use compare::{Change, Comparison, FALSE_DISCOVERIES, GraphChange, ScoreChange};
pub use error::ScoreError;
pub use es::{EsSettings, Parameters, ToleranceScore, tolerance_scores};
pub use failure::{ErrorClass, Failure, Interpretation};
pub use log::{LogError, LogErrorKind, LogRecord, Quirk, QuirkKind, UpstreamLog, read_log};
pub use outcome::{GraphOutcome, Interval, Outcomes, Speedup};
pub use report::{ScoreReport, ScoreSettings, Tally, TaskScore};
pub use sound::{Bootstrap, SoundScore, sound_credit};
pub use tolerance::{MAX_TOLERANCE, MIN_TOLERANCE, tolerance};
pub use weights::{WeightTable, aggregated_score};
