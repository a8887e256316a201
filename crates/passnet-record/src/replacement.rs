use serde::{Deserialize, Serialize};

/// Steps of a replacement of files of a table, by the numbers of files. The file `.replacing.json` contains them during the replacement.
/// It has no version, because it exists only for this short time.
#[derive(Serialize, Deserialize)]
pub struct ReplacementSteps {
    /// Damaged files that are kept, so that people can repair them.
    pub damaged: Vec<u32>,
    /// New files.
    pub written: Vec<u32>,
    /// Old files that are removed without a replacement.
    pub removed: Vec<u32>,
}
