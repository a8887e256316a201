use crate::named::named;

named! {
    /// Outcome of one (pass directory, graph) pair.
    Status, "status",
    /// Every output of every round agrees at the tolerance that the settings demand.
    Correct = "correct",
    /// Outputs of the right type and shape with wrong values.
    Accuracy = "accuracy",
    /// An output has another dtype, device or Python type, or there is another number of outputs.
    TypeMismatch = "type_mismatch",
    /// An output has another shape.
    ShapeMismatch = "shape_mismatch",
    /// An output has other strides than the reference's, in a dimension of more than one element.
    LayoutDiffers = "layout_differs",
    /// Two outputs share memory where the reference's do not.
    OutputsShareMemory = "outputs_share_memory",
    /// An output is NaN or infinite where the reference is finite.
    NonFinite = "non_finite",
    /// The rewritten graph raised an exception while running, or its worker died.
    RuntimeError = "runtime_error",
    /// A pass could not be imported, a kernel could not be built, or the compiler failed.
    CompileError = "compile_error",
    /// No pass of the directory matched the graph.
    NoMatch = "no_match",
    /// An integrity rule was broken. [`crate::Reason::code`] names the rule.
    Integrity = "integrity",
    /// A limit on time was exceeded.
    Timeout = "timeout",
    /// A limit on host or device memory was exceeded.
    OutOfMemory = "out_of_memory",
    /// The outputs are correct, but the timing did not settle within the allowed repetitions.
    Unstable = "unstable",
    /// The reference itself could not run: the graph, not the pass, is at fault.
    ReferenceError = "reference_error",
    /// Neither side printed its dtypes, so the log does not show whether eager, the compiler or the matcher failed. This status only
    /// occurs in logs of the public harness.
    EagerFail = "eager_fail",
}

impl Status {
    /// Returns whether the candidate has failed: true for every status except `correct`, `unstable` and `reference_error`.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Correct | Self::Unstable | Self::ReferenceError)
    }
}
