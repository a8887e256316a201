//! Errors of reading a log.

/// A log that cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct LogError {
    /// 1-based line number.
    pub line: usize,
    /// Kind of the problem.
    pub kind: LogErrorKind,
}

/// Problem of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogErrorKind {
    /// The text has no record, so it is not an evaluation log.
    #[error("no `[Processing]` line in the whole text: this is not an evaluation log, or it was cut at the front")]
    NoRecords,
    /// A record without a name.
    #[error("`[Processing]` without a path after it; each record must name its sample")]
    NoPath,
    /// A value that should be a number.
    #[error("`{value}` in `{tag}` is not a number; was the log truncated or interleaved here?")]
    NotANumber {
        /// The tag of the line.
        tag: String,
        /// The text found.
        value: String,
    },
    /// Comparison results without the record that they belong to.
    #[error("the record that starts here has comparison results but no `{tag}` line to read them by")]
    Missing {
        /// The tag that is missing.
        tag: &'static str,
    },
    /// Lists that should be of one length.
    #[error("`{tag}` has {found} values where the graph has {expected} outputs")]
    Count {
        /// The tag of the line.
        tag: String,
        /// Number of values found.
        found: usize,
        /// Number of outputs according to the `[equal]` line.
        expected: usize,
    },
}
