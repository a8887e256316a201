use passnet_record::Status;
use serde::Serialize;

use crate::ScoreError;

/// Meaning of positive tolerances: the `t` from which a failure counts as 1 instead of `b`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpretation {
    /// Accuracy from 1, everything else from 3; t up to 4.
    #[default]
    Default,
    /// Like `Default`, but a log's `eager_fail` is never forgiven: the rule of the public pass benchmark. There, `eager_fail` mostly
    /// means that no pass matched.
    #[serde(rename = "passnet")]
    PassNet,
    /// Accuracy from 1, mismatches from 2, runtime from 3, compile from 4; t up to 5.
    MismatchExtended,
}

/// A class of failures that positive tolerances treat alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorClass {
    /// Name in reports: a number, or `never` for the class that no tolerance forgives.
    pub key: &'static str,
    /// The smallest `t` at which the class counts 1; `None` if there is none.
    pub tolerated_from: Option<i32>,
}

impl Interpretation {
    /// Every interpretation.
    pub const ALL: [Self; 3] = [Self::Default, Self::PassNet, Self::MismatchExtended];

    /// Returns the interpretation with the given name.
    ///
    /// # Errors
    /// If no interpretation has the name.
    pub fn by_name(name: &str) -> Result<Self, ScoreError> {
        let known = Self::ALL.into_iter().find(|interpretation| interpretation.name() == name);
        known.ok_or_else(|| ScoreError::UnknownInterpretation(name.to_owned()))
    }

    /// Returns the name used on the command line and in reports.
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

    /// Returns the class of a failure. A status that is not a failure has no class; for it, the class that is never tolerated is
    /// returned.
    pub const fn class(self, failure: Status) -> ErrorClass {
        const NEVER: ErrorClass = ErrorClass { key: "never", tolerated_from: None };
        const fn class(key: &'static str, from: i32) -> ErrorClass {
            ErrorClass { key, tolerated_from: Some(from) }
        }
        // Every status is named, so that a new one does not compile before its class is decided.
        match (self, failure) {
            (_, Status::NoMatch | Status::Integrity | Status::Correct | Status::Unstable | Status::ReferenceError)
            | (Self::PassNet | Self::MismatchExtended, Status::EagerFail) => NEVER,
            (_, Status::Accuracy) => class("1", 1),
            // A log cannot distinguish a NaN from any other wrong value, so upstream forgives both alike.
            (Self::Default | Self::PassNet, Status::NonFinite) => class("1", 1),
            (Self::Default | Self::PassNet, Status::CompileError) => class("3", 3),
            // The class is number 2, but the public code forgives it from t = 3.
            (
                Self::Default | Self::PassNet,
                Status::TypeMismatch
                | Status::ShapeMismatch
                | Status::LayoutDiffers
                | Status::OutputsShareMemory
                | Status::RuntimeError
                | Status::Timeout
                | Status::OutOfMemory,
            )
            | (Self::Default, Status::EagerFail) => class("2", 3),
            (
                Self::MismatchExtended,
                Status::TypeMismatch
                | Status::ShapeMismatch
                | Status::LayoutDiffers
                | Status::OutputsShareMemory
                | Status::NonFinite,
            ) => class("2", 2),
            (Self::MismatchExtended, Status::CompileError) => class("4", 4),
            (Self::MismatchExtended, Status::RuntimeError | Status::Timeout | Status::OutOfMemory) => class("3", 3),
        }
    }
}
