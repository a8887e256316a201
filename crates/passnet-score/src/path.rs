use std::collections::BTreeSet;

use passnet_record::{RunSettings, Verdict};

/// Returns the path on which the scored measurements of a run were made: `direct`, `compiled`, or `direct and compiled`. Scores on
/// different paths are not comparable: the compiled path pays for its guards in each call.
pub fn scored_path(verdicts: &[Verdict], settings: &RunSettings) -> String {
    let measured: BTreeSet<&str> =
        verdicts.iter().filter_map(Verdict::scored_timing).map(|timing| timing.path.name()).collect();
    if measured.is_empty() {
        // Nothing was timed. The first path of the settings would have counted.
        return settings.paths.first().map_or("none", |path| path.name()).to_owned();
    }
    // The set is in alphabetical order, `compiled` first; the direct path is named first everywhere else.
    measured.into_iter().rev().collect::<Vec<_>>().join(" and ")
}
