//! Enumerations that occur in settings, suites and verdicts.

use crate::named::named;

named! {
    /// Rules of a run.
    Mode, "mode",
    /// All checks of the referee.
    Sound = "sound",
    /// Order and constants of the public harness, for comparison with published numbers.
    Paper = "paper",
}

named! {
    /// Purpose of a suite.
    Split, "split",
    /// For the evaluation of authors.
    Eval = "eval",
    /// For the training of models.
    Train = "train",
}

named! {
    /// Side that a candidate's time is compared with.
    Baseline, "baseline",
    /// The graph by PyTorch, called directly.
    Eager = "eager",
    /// The path of the candidate, without rewriting.
    Control = "control",
}

named! {
    /// State of the last-level cache before each timed call.
    CacheMode, "cache mode",
    /// State after the previous call.
    Warm = "warm",
    /// Overwritten before each call.
    Cold = "cold",
}

named! {
    /// Place of the weights of a graph.
    Weights, "place of weights",
    /// Arguments of each call, as in the public harness.
    Inputs = "inputs",
    /// State of the module, as in real use. Compilers may assume that its place in memory is constant.
    Static = "static",
}

impl Default for Weights {
    /// Returns the value of runs that do not name one.
    fn default() -> Self {
        Self::Inputs
    }
}

impl Weights {
    /// Returns whether a record leaves out the value.
    // Runs from before this setting then have the same JSON as current runs, so their logs can be continued.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

named! {
    /// Path on which a graph is run.
    ExecutionPath, "path",
    /// The rewritten graph module is called directly, without guards.
    Direct = "direct",
    /// The graph goes through `torch.compile`, with guards on each call.
    Compiled = "compiled",
}

named! {
    /// Parts of an evaluation, in order of increasing cost. The first part that fails decides the verdict, with one
    /// exception: outputs that are close at some tolerance are timed, because AS counts them there.
    Depth, "depth",
    /// Checks of the integrity rules on the text of the files. No code runs.
    Lint = "lint",
    /// Importing and matching the passes; kernels are built here.
    Match = "match",
    /// Outputs on the CPU, for passes of another device.
    Cpu = "cpu",
    /// Outputs on several inputs, on the measured device.
    Check = "check",
    /// Interleaved timing against the baselines.
    Timing = "timing",
}

named! {
    /// Extent of the run of each attack of the attack suite.
    Coverage, "coverage",
    /// Runs the attack once with all layers of defence on, to test whether the attack is caught.
    Once = "once",
    /// Also runs the attack with all layers off, to test whether it works if nothing stops it.
    Quick = "quick",
    /// Also runs the attack with each layer alone, to find the layers that stop it.
    Full = "full",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_in_text_and_json() {
        for depth in Depth::ALL {
            assert_eq!(depth.name().parse(), Ok(depth));
            assert_eq!(serde_json::to_string(&depth).unwrap(), format!("\"{depth}\""));
        }
        assert!(Depth::Lint < Depth::Timing);
        let error = "fast".parse::<Mode>().unwrap_err().to_string();
        assert_eq!(error, "unknown mode `fast`; known are sound, paper");
    }
}
