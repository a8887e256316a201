//! Names of the pages of boards.

use super::slug::Slugs;
use crate::standings::Standings;

/// Names boards by their conditions alone, so that links stay valid as boards are added. `suite` returns the name of the page of a
/// suite.
pub(super) fn board_slugs<'a>(boards: &[Standings], suite: impl Fn(usize) -> &'a str) -> Vec<String> {
    let mut slugs = Slugs::default();
    let name = |board: &Standings| {
        let conditions = &board.conditions;
        // Short parts first, because long names are cut at the end.
        slugs.name(&format!(
            "t{}-{}-{}-{}-{}",
            conditions.correct_at,
            conditions.mode,
            conditions.path,
            suite(conditions.suite),
            conditions.device
        ))
    };
    boards.iter().map(name).collect()
}
