use passnet_record::Status;

/// A place where the log, or the way in which the public scorer reads it, is odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quirk {
    /// 1-based line number; for a property of a whole record, the first line of the record.
    pub line: usize,
    /// Kind of the oddity.
    pub kind: QuirkKind,
}

/// Kinds of oddities. None of them stops the reader.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuirkKind {
    /// The text before the tag is not that of the record's first line.
    #[error("prompt `{prompt}` differs from the record's; the line still counts")]
    ForeignPrompt {
        /// Text before the tag.
        prompt: String,
    },
    /// A value was given again; the last one counts.
    #[error("`{tag}` repeats with another value (first on line {first}); the last one counts")]
    Repeated {
        /// The tag of the line.
        tag: String,
        /// Line of the value that is overridden.
        first: usize,
    },
    /// The sample occurred before; both records count.
    #[error("the same sample started on line {first} already; both records count")]
    RepeatedPath {
        /// Line of the earlier record.
        first: usize,
    },
    /// A complete record is a failure because of a word in it.
    #[error("complete record scored {} because this line contains `Error:` or `Exception:`", Status::RuntimeError.name())]
    ErrorText,
    /// The log says that compilation or the compiled run failed; upstream's status rule does not.
    #[error("failure of the compiled side scored {}: the harness prints dtypes only after both sides ran", Status::EagerFail.name())]
    CompiledFailureAsEagerFail,
    /// The log says that dtypes differ; upstream's status rule says shapes.
    #[error("dtype mismatch scored {}: the harness stops before it prints shapes", Status::ShapeMismatch.name())]
    DtypeMismatchAsShapeMismatch,
    /// The harness gave up on a noisy measurement; upstream counts that against the pass.
    #[error("measurement noise, scored as a failure of the pass")]
    Fluctuation,
    /// A failure that involves the pass manager: mostly, no pass matched.
    #[error("the pass manager reported here and the record is {}: probably no pass matched", Status::EagerFail.name())]
    PassMiss,
    /// A correct record without a usable end-to-end speed-up, on which the public scorer stops; it counts 1 here.
    #[error("correct but without a usable [Speedup][e2e]; counts as speed-up 1")]
    Untimed,
    /// The outputs are close at a tolerance, but not at a looser tolerance.
    #[error("close at some tolerance below t = {t} but not at it; only tolerances above count")]
    NotMonotone {
        /// The loosest tolerance that is not met.
        t: i32,
    },
    /// Results for a tolerance are absent; it counts as not met.
    #[error("no comparison result for t = {t}, which counts as not met")]
    MissingTolerance {
        /// The tolerance.
        t: i32,
    },
}
