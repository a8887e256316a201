//! Counts of a capture.

use std::collections::BTreeMap;

use serde::Serialize;

use passnet_record::CapturedModel;

/// Counts of the models of this call, including models that earlier calls had captured.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub schema_version: u32,
    /// Number of models with samples.
    pub captured: usize,
    /// Number of models without samples.
    pub failed: usize,
    /// Number of these models that earlier calls had recorded.
    pub reused: usize,
    /// Number of graphs of all models.
    pub graphs: usize,
    /// Number of operations of all graphs.
    pub ops: usize,
    /// CPU time of all models, in seconds.
    pub cpu_seconds: f64,
    /// Number of models that run operators outside of their graphs.
    pub partial: usize,
    /// Number of models whose graphs need operators that PyTorch does not define.
    pub custom: usize,
    /// Number of failures by kind.
    pub failures: BTreeMap<String, usize>,
    /// The models, ordered by name.
    pub models: Vec<CapturedModel>,
}

impl Summary {
    /// Counts models. `reused` is the number of models that an earlier call had recorded.
    pub fn new(mut models: Vec<CapturedModel>, reused: usize) -> Self {
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
            partial: models.iter().filter(|model| !model.left_out.is_empty()).count(),
            custom: models.iter().filter(|model| !model.custom_operators.is_empty()).count(),
            failures,
            models,
        }
    }

    /// Returns whether there are models, and all of them have one of these statuses.
    pub fn all_are(&self, statuses: &[&str]) -> bool {
        !self.models.is_empty() && self.models.iter().all(|model| statuses.contains(&model.status.as_str()))
    }
}
