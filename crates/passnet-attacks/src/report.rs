//! All outcomes of a run, and their JSON form.

use std::collections::BTreeMap;

use passnet_record::{Coverage, Device, SCHEMA_VERSION};
use serde::Serialize;

use crate::outcome::{EntryOutcome, JudgedEntry};

/// The outcomes of an attack suite.
#[derive(Clone, Debug, Serialize)]
pub struct AttackReport {
    schema_version: u32,
    /// The device that the attacks ran on.
    pub device: Device,
    /// Part of each attack that was run.
    depth: Coverage,
    totals: BTreeMap<EntryOutcome, usize>,
    /// Number of attacks that each layer stops alone; empty where layers were not run alone.
    layers: BTreeMap<&'static str, usize>,
    /// The entries, in order.
    pub entries: Vec<JudgedEntry>,
}

impl AttackReport {
    pub(crate) fn new(device: Device, depth: Coverage, entries: Vec<JudgedEntry>) -> Self {
        let mut totals = BTreeMap::new();
        let mut layers = BTreeMap::new();
        for entry in &entries {
            *totals.entry(entry.outcome).or_default() += 1;
            for layer in entry.layers.iter().filter(|_| depth == Coverage::Full) {
                *layers.entry(*layer).or_default() += 1;
            }
        }
        Self { schema_version: SCHEMA_VERSION, device, depth, totals, layers, entries }
    }

    /// Returns whether no attack escaped, was misjudged or is dead, and no honest pass was rejected.
    pub fn is_clean(&self) -> bool {
        self.entries.iter().all(|entry| entry.outcome.is_expected())
    }

    /// Returns the number of entries with an outcome.
    pub fn count(&self, outcome: EntryOutcome) -> usize {
        self.totals.get(&outcome).copied().unwrap_or(0)
    }
}
