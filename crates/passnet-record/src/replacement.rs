use serde::{Deserialize, Serialize};

/// The steps of a replacement of files of a table, by numbers of files. The file `.replacing.json` holds them while they are taken; it has
/// no version of its own, because it exists for the moment of the replacement only.
#[derive(Serialize, Deserialize)]
pub struct ReplacementSteps {
    /// Files that are kept as damaged ones.
    pub damaged: Vec<u32>,
    /// New files.
    pub written: Vec<u32>,
    /// Old files that no new one takes the place of.
    pub removed: Vec<u32>,
}
