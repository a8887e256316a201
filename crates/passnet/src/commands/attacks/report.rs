//! The table, and its JSON form.

use std::collections::BTreeMap;

use anyhow::Result;
use passnet_record::SCHEMA_VERSION;
use serde::Serialize;

use super::{
    Depth,
    outcome::{Judged, Outcome},
};
use crate::output::{self, Rows};

/// Everything that was found.
#[derive(Serialize)]
pub(super) struct Report {
    schema_version: u32,
    device: String,
    /// What was asked: `once` leaves out whether attacks work where nothing stops them, `quick` which layers stop them alone.
    depth: Depth,
    totals: BTreeMap<Outcome, usize>,
    /// Attacks of which each layer alone stops how many; empty where layers were not run alone.
    layers: BTreeMap<&'static str, usize>,
    entries: Vec<Judged>,
}

impl Report {
    pub(super) fn new(device: &str, depth: Depth, entries: Vec<Judged>) -> Self {
        let mut totals = BTreeMap::new();
        let mut layers = BTreeMap::new();
        for entry in &entries {
            *totals.entry(entry.outcome).or_default() += 1;
            for layer in entry.layers.iter().filter(|_| depth == Depth::Full) {
                *layers.entry(*layer).or_default() += 1;
            }
        }
        Self { schema_version: SCHEMA_VERSION, device: device.to_owned(), depth, totals, layers, entries }
    }

    /// Whether nothing escaped, was misjudged, is dead, or was rejected though honest.
    pub(super) fn is_clean(&self) -> bool {
        let bad = [Outcome::Escaped, Outcome::Misjudged, Outcome::Dead, Outcome::FalseRejection];
        bad.iter().all(|outcome| self.count(*outcome) == 0)
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.totals.get(&outcome).copied().unwrap_or(0)
    }

    pub(super) fn print(&self) -> Result<()> {
        let mut rows = Rows::new(&["entry", "outcome", "verdict", "stopped alone by", "what it does"], 5);
        for entry in &self.entries {
            let verdict = entry.verdict.as_ref();
            let verdict = verdict.map(|verdict| format!("{} {}", verdict.status.name(), verdict.reason));
            let layers = if entry.by_construction { "by construction".to_owned() } else { entry.layers.join(" ") };
            let outcome = format!("{:?}", entry.outcome).to_lowercase();
            rows.push([entry.name.clone(), outcome, verdict.unwrap_or_default(), layers, entry.title.clone()]);
        }
        rows.print()?;
        for entry in self.entries.iter().filter(|entry| !entry.detail.is_empty() && entry.outcome != Outcome::Skipped) {
            output::text(&format!("\n{}: {:?}: {}", entry.name, entry.outcome, entry.detail))?;
        }
        let attacks = [Outcome::Caught, Outcome::Escaped, Outcome::Misjudged, Outcome::Dead];
        output::text(&format!(
            "\n{} attacks: {} caught, {} escaped, {} misjudged, {} dead; {} honest: {} passed, {} false rejections; \
             {} not run on {}",
            attacks.iter().map(|outcome| self.count(*outcome)).sum::<usize>(),
            self.count(Outcome::Caught),
            self.count(Outcome::Escaped),
            self.count(Outcome::Misjudged),
            self.count(Outcome::Dead),
            self.count(Outcome::Passed) + self.count(Outcome::FalseRejection),
            self.count(Outcome::Passed),
            self.count(Outcome::FalseRejection),
            self.count(Outcome::Skipped),
            self.device,
        ))
    }
}
