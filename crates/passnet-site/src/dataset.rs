//! Counts and samples of a dataset as a view.

use std::{collections::BTreeMap, path::Path};

use passnet_dataset::{
    Dataset, Table,
    query::{Filter, SampleCounts, query, stats},
    store::SampleRow,
};
use passnet_run::archive::short_type;
use passnet_web::{DatasetView, SampleLine, TableView};

use crate::{SiteError, similar::features};

/// Samples of a table that the pages of a dataset show.
const LISTED: usize = 2000;
/// Longest source that is shown, in bytes.
const MAX_SOURCE: usize = 400_000;
/// Ops named of each sample.
const OPS_NAMED: usize = 6;

/// Counts over a dataset folder.
///
/// # Errors
/// If there is none.
pub(crate) fn dataset_view(folder: &Path) -> Result<DatasetView, SiteError> {
    if !folder.is_dir() {
        return Err(SiteError::NoDataset(folder.to_owned()));
    }
    let dataset = Dataset::at(folder);
    let mut tables = Vec::new();
    for (table, name) in [(Table::Graphs, "graphs"), (Table::Subgraphs, "subgraphs")] {
        if !dataset.parts(table)?.is_empty() {
            tables.push(table_view(&dataset, table, name)?);
        }
    }
    let name = folder.file_name().map_or_else(|| "dataset".into(), |name| name.to_string_lossy().into_owned());
    Ok(DatasetView { name, tables })
}

fn table_view(dataset: &Dataset, table: Table, name: &str) -> Result<TableView, SiteError> {
    let counts = stats(dataset, table)?;
    let rows = query(dataset, table, Filter::default())?;
    let rows: Vec<SampleRow> = rows.filter_map(Result::ok).take(LISTED).collect();
    let features = features(&rows.iter().map(|row| row.ops.as_slice()).collect::<Vec<_>>());
    let samples = rows.into_iter().zip(features).map(|(row, features)| line(row, features));
    Ok(TableView {
        name: name.to_owned(),
        rows: counts.samples,
        samples: samples.collect(),
        failures: counts.failures.iter().map(|failure| format!("{failure:?}")).collect(),
        groups: groups(counts),
    })
}

fn line(row: SampleRow, features: Vec<(u32, f32)>) -> SampleLine {
    let text = row.files.text("model.py").filter(|text| text.len() <= MAX_SOURCE);
    let described: serde_json::Value =
        serde_json::from_str(row.files.text("graph_net.json").unwrap_or_default()).unwrap_or_default();
    SampleLine {
        source: row.source.unwrap_or_default(),
        ops: row.ops.len(),
        op_names: most_frequent(&row.ops),
        model: described["model_name"].as_str().unwrap_or_default().to_owned(),
        domain: row.domain.unwrap_or_default(),
        inputs: row.inputs.iter().map(|input| short_type(input.dtype, &input.shape)).collect(),
        text: text.unwrap_or_default().to_owned(),
        path: row.path,
        features,
    }
}

fn groups(counts: SampleCounts) -> Vec<(String, Vec<(String, usize)>)> {
    let size = |exponent: u32| match exponent {
        0 => "1 op".to_owned(),
        _ => format!("{} to {} ops", 1_u64 << exponent, (1_u64 << (exponent + 1)) - 1),
    };
    let named = |counts: BTreeMap<String, usize>| {
        let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    };
    let text = |counts: Vec<(String, usize)>, title: &str| (title.to_owned(), counts);
    vec![
        text(named(counts.by_domain), "By domain"),
        text(named(counts.by_source), "By source"),
        text(counts.by_size.into_iter().map(|(exponent, count)| (size(exponent), count)).collect(), "By size"),
        text(counts.by_kind.into_iter().map(|(kind, count)| (kind.name().to_owned(), count)).collect(), "By kind"),
        text(
            counts.by_dtype.into_iter().map(|(dtype, count)| (dtype.name().to_owned(), count)).collect(),
            "Inputs by type",
        ),
        text(named(counts.by_op), "Most frequent ops"),
        text(
            counts.distinct.into_iter().map(|(rung, count)| (format!("{rung:?}").to_lowercase(), count)).collect(),
            "Distinct by",
        ),
    ]
}

fn most_frequent(ops: &[String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for op in ops {
        *counts.entry(op).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let names: Vec<&str> = counts.into_iter().take(OPS_NAMED).map(|(op, _)| op).collect();
    names.join(", ")
}
