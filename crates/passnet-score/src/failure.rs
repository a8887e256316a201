use passnet_record::Status;
use serde::{Deserialize, Serialize};

use crate::ScoreError;

/// Why a graph earns nothing: the statuses that are neither correct nor the reference's own fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Right type and shape, wrong values.
    Accuracy,
    /// Another dtype, device, Python type or number of outputs.
    TypeMismatch,
    /// Another shape.
    ShapeMismatch,
    /// NaN or infinity where the reference is finite.
    NonFinite,
    /// The rewritten graph raised or its worker died.
    RuntimeError,
    /// A pass or kernel could not be built.
    CompileError,
    /// No pass matched.
    NoMatch,
    /// A rule of integrity was broken.
    Integrity,
    /// A limit on time was exceeded.
    Timeout,
    /// A limit on memory was exceeded.
    OutOfMemory,
    /// Upstream logs only: neither side printed its dtypes, so the log cannot tell whether eager, the compiler or
    /// the matcher failed.
    EagerFail,
}

impl Failure {
    /// Every failure.
    const ALL: [Self; 11] = [
        Self::Accuracy,
        Self::TypeMismatch,
        Self::ShapeMismatch,
        Self::NonFinite,
        Self::RuntimeError,
        Self::CompileError,
        Self::NoMatch,
        Self::Integrity,
        Self::Timeout,
        Self::OutOfMemory,
        Self::EagerFail,
    ];

    /// The status that it comes from; `None` for what only upstream logs know.
    pub const fn status(self) -> Option<Status> {
        Some(match self {
            Self::Accuracy => Status::Accuracy,
            Self::TypeMismatch => Status::TypeMismatch,
            Self::ShapeMismatch => Status::ShapeMismatch,
            Self::NonFinite => Status::NonFinite,
            Self::RuntimeError => Status::RuntimeError,
            Self::CompileError => Status::CompileError,
            Self::NoMatch => Status::NoMatch,
            Self::Integrity => Status::Integrity,
            Self::Timeout => Status::Timeout,
            Self::OutOfMemory => Status::OutOfMemory,
            Self::EagerFail => return None,
        })
    }

    /// The name used in records, e.g. `no_match`: that of the status.
    pub const fn name(self) -> &'static str {
        match self.status() {
            Some(status) => status.name(),
            None => "eager_fail",
        }
    }

    /// The failure that a status stands for; `None` for correct, unstable and the reference's errors.
    pub fn from_status(status: Status) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| failure.status() == Some(status))
    }
}

/// What positive tolerances mean: from which `t` on a failure counts as 1 instead of `b`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpretation {
    /// Accuracy from 1, everything else from 3; t up to 4.
    #[default]
    Default,
    /// As `Default`, but a log's `eager_fail` is never forgiven: the rule of the public pass benchmark, where it
    /// mostly means that no pass matched.
    #[serde(rename = "passnet")]
    PassNet,
    /// Accuracy from 1, mismatches from 2, runtime from 3, compile from 4; t up to 5.
    MismatchExtended,
}

/// A class of failures that positive tolerances treat alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorClass {
    /// Its number as written in reports, `never` for the class that no tolerance forgives.
    pub key: &'static str,
    /// The first `t` at which it counts 1; `None` if at none.
    pub tolerated_from: Option<i32>,
}

impl Interpretation {
    /// Every interpretation.
    pub const ALL: [Self; 3] = [Self::Default, Self::PassNet, Self::MismatchExtended];

    /// The interpretation of that name.
    ///
    /// # Errors
    /// None has that name.
    pub fn by_name(name: &str) -> Result<Self, ScoreError> {
        let known = Self::ALL.into_iter().find(|interpretation| interpretation.name() == name);
        known.ok_or_else(|| ScoreError::UnknownInterpretation(name.to_owned()))
    }

    /// The name used on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::PassNet => "passnet",
            Self::MismatchExtended => "mismatch_extended",
        }
    }

    /// The largest `t` that is scored.
    pub const fn last_tolerance(self) -> i32 {
        match self {
            Self::Default | Self::PassNet => 4,
            Self::MismatchExtended => 5,
        }
    }

    /// The class of a failure.
    pub const fn class(self, failure: Failure) -> ErrorClass {
        const NEVER: ErrorClass = ErrorClass { key: "never", tolerated_from: None };
        const fn class(key: &'static str, from: i32) -> ErrorClass {
            ErrorClass { key, tolerated_from: Some(from) }
        }
        match (self, failure) {
            (_, Failure::NoMatch | Failure::Integrity)
            | (Self::PassNet | Self::MismatchExtended, Failure::EagerFail) => NEVER,
            (_, Failure::Accuracy) => class("1", 1),
            (Self::Default | Self::PassNet, failure) => match failure {
                // A log cannot tell a NaN from any other wrong value, so upstream forgives it like one.
                Failure::NonFinite => class("1", 1),
                Failure::CompileError => class("3", 3),
                // The class is number 2 but the public code forgives it from 3.
                _ => class("2", 3),
            },
            (Self::MismatchExtended, failure) => match failure {
                Failure::TypeMismatch | Failure::ShapeMismatch | Failure::NonFinite => class("2", 2),
                Failure::CompileError => class("4", 4),
                _ => class("3", 3),
            },
        }
    }
}
