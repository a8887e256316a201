//! Summary that `passnet extract` prints at the end: the models, and the failures by kind.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::ledger::Model;
use crate::output::{self, Rows};

/// Models are listed one by one up to this number.
const LISTED: usize = 40;
/// Failures of one kind that are named.
const EXAMPLES: usize = 5;

/// The models of this call, those of earlier calls included.
#[derive(Serialize)]
pub(super) struct Summary {
    schema_version: u32,
    captured: usize,
    failed: usize,
    /// Number of these models that earlier calls had recorded.
    reused: usize,
    graphs: usize,
    ops: usize,
    cpu_seconds: f64,
    failures: BTreeMap<String, usize>,
    models: Vec<Model>,
}

impl Summary {
    pub(super) fn new(mut models: Vec<Model>, reused: usize) -> Self {
        models.sort_by(|a, b| a.spec.cmp(&b.spec));
        let mut failures = BTreeMap::new();
        for model in models.iter().filter(|model| !model.is_ok()) {
            *failures.entry(model.status.clone()).or_default() += 1;
        }
        let failed = failures.values().sum();
        Self {
            schema_version: 1,
            captured: models.len() - failed,
            failed,
            reused,
            graphs: models.iter().map(|model| model.folders.len()).sum(),
            ops: models.iter().flat_map(|model| &model.ops).sum(),
            cpu_seconds: models.iter().map(|model| model.cpu_seconds).sum(),
            failures,
            models,
        }
    }

    /// Models that failed.
    pub(super) fn failed(&self) -> usize {
        self.failed
    }

    /// Returns whether there are models, and all of them failed in one of these ways.
    pub(super) fn all_are(&self, statuses: &[&str]) -> bool {
        !self.models.is_empty() && self.models.iter().all(|model| statuses.contains(&model.status.as_str()))
    }

    /// Writes tables for people.
    pub(super) fn print(&self) -> Result<()> {
        if self.models.len() <= LISTED {
            self.print_models()?;
        }
        if self.failed > 0 {
            self.print_failures()?;
        }
        let rate = 100.0 * self.captured as f64 / (self.models.len().max(1)) as f64;
        let Self { captured, failed, reused, graphs, ops, cpu_seconds, .. } = self;
        output::text(&format!(
            "{captured} captured ({rate:.1} %), {failed} failed, {reused} of them known before; {graphs} graphs, {ops} ops, \
             {cpu_seconds:.0} CPU s"
        ))
    }

    fn print_models(&self) -> Result<()> {
        let mut rows = Rows::new(&["model", "result", "graphs", "ops", "CPU s"], 2);
        for model in &self.models {
            rows.push([
                model.spec.clone(),
                if model.reduced.is_empty() { model.status.clone() } else { format!("{}, reduced", model.status) },
                model.folders.len().to_string(),
                model.ops.iter().sum::<usize>().to_string(),
                format!("{:.1}", model.cpu_seconds),
            ]);
        }
        rows.print()
    }

    fn print_failures(&self) -> Result<()> {
        let mut rows = Rows::new(&["failure", "models", "for example"], 3);
        for (status, count) in &self.failures {
            let of_kind = self.models.iter().filter(|model| &model.status == status).take(EXAMPLES);
            let examples: Vec<String> = of_kind.map(|model| format!("{}: {}", model.spec, model.reason)).collect();
            rows.push([status.clone(), count.to_string(), examples.join("\n")]);
        }
        rows.print()
    }
}
