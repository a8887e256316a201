//! Scores: from verdicts and upstream logs to S_t, ES_t, AS and the sound score.
//!
//! Verdicts ([`Outcomes::from_verdicts`]) and public evaluation logs ([`read_log`]) become [`Outcomes`]. [`ScoreReport::new`] computes
//! every score from them. `docs/reference/scoring.md` defines the scores and lists the points on which public descriptions disagree.
//!
//! The crate never reads files or a clock. The bootstrap draws from a generator whose seed is part of the result, so equal
//! outcomes give equal scores.
//!
//! ```
//! use passnet_record::GraphId;
//! use passnet_score::{GraphOutcome, Interval, Outcomes, ScoreReport, ScoreSettings, Speedup};
//!
//! let graph = GraphOutcome {
//!     id: GraphId { task: "gelu".to_owned(), graph: "000".to_owned() },
//!     failure: None,
//!     tolerance: Some(-10),
//!     eager: Some(Speedup { ratio: 2.0, interval: Some(Interval { low: 1.9, high: 2.1 }), bound: None }),
//!     control: None,
//!     unstable: false,
//! };
//! let outcomes = Outcomes { graphs: vec![graph], reference_errors: Vec::new() };
//! let report = ScoreReport::new(&outcomes, &ScoreSettings::default())?;
//! assert!(report.sound.is_some_and(|sound| (sound.score - 2.0).abs() < 1e-9));
//! # Ok::<(), passnet_score::ScoreError>(())
//! ```

mod compare;
mod error;
mod es;
mod failure;
mod gate;
mod log;
mod median;
mod outcome;
mod part;
mod path;
mod random;
mod report;
mod report_text;
mod sound;
mod tasks;
mod tolerance;
mod weights;

pub use compare::{Change, FALSE_DISCOVERIES, GraphChange, RunComparison, ScoreChange};
pub use error::ScoreError;
pub use es::{AggregateStatistics, EsSettings, ToleranceScore, geometric_mean, tolerance_scores};
pub use failure::{ErrorClass, Interpretation};
pub use gate::{ComparedRuns, ConditionError, GateCondition};
pub use log::{LogError, LogErrorKind, LogRecord, Quirk, QuirkKind, UpstreamLog, read_log};
pub use median::median;
pub use outcome::{GraphOutcome, Interval, Outcomes, Speedup};
pub use part::PartScore;
pub use path::scored_path;
pub use report::{ScoreReport, ScoreSettings, Tally, TaskScore};
pub use sound::{Bootstrap, SoundScore, sound_credit};
pub use tolerance::{MAX_TOLERANCE, MIN_TOLERANCE, tolerance};
pub use weights::{WeightTable, aggregated_score};
