//! Proofs that graphs run, made by running them.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use passnet_graph::wire;
use passnet_record::{
    ContentId,
    services::{GraphRequest, ProveReply, ProveRequest},
};
use rayon::prelude::*;

use super::plan::Built;
use crate::{
    Dataset, Table,
    annotate::{Runner, ask, is_over_memory, side_by_side},
    import::parse,
    store::{Columns, Row, SampleRow, TableError, View, strings},
};

/// Result of running one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofResult {
    /// Content id of the graph's files and of the bound for which the proof was made.
    pub graph: String,
    /// Reason why the graph is refused; empty if it runs.
    pub refused: String,
}

impl View for ProofResult {
    const TABLE: &'static str = "proofs";

    fn schema() -> Schema {
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        Schema::new(vec![text("graph"), text("refused")])
    }

    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String> {
        let columns = Columns::Batch(batch);
        let pairs = columns.strings("graph")?.into_iter().zip(columns.strings("refused")?);
        Ok(pairs.map(|(graph, refused)| Self { graph, refused }).collect())
    }
}

impl Row for ProofResult {
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
        let columns = vec![
            strings(rows.iter().map(|row| row.graph.as_str())),
            strings(rows.iter().map(|row| row.refused.as_str())),
        ];
        RecordBatch::try_new(Self::schema().into(), columns)
    }

    fn raw_bytes(&self) -> usize {
        self.graph.len() + self.refused.len()
    }
}

/// All proofs of a dataset.
pub(super) struct Proofs {
    dataset: Dataset,
    known: BTreeMap<String, String>,
    fresh: Vec<ProofResult>,
}

/// Part of the key of a proof. It changes with the rules, so that proofs by earlier rules are made again.
const RULES: &[u8] = b"unseen, constant";

/// Graphs that one child of the runner proves, and proofs between two files of the table.
const BATCH: usize = 4;
const FLUSH: usize = 32;
/// Time limit of one batch, in seconds.
const SECONDS: f64 = 120.0;

impl Proofs {
    pub(super) fn open(dataset: &Dataset) -> Result<Self, TableError> {
        let rows = dataset.read::<ProofResult>(Table::Proofs)?.flatten();
        let known = rows.map(|proof| (proof.graph, proof.refused)).collect();
        Ok(Self { dataset: dataset.clone(), known, fresh: Vec::new() })
    }

    /// Returns the first `count` candidates that run, in order. Candidates after them stay in the iterator.
    pub(super) fn first_good(
        &mut self,
        mut candidates: &mut dyn Iterator<Item = SampleRow>,
        count: usize,
        max_bytes: u64,
        runner: &dyn Runner,
        built: &mut Built,
    ) -> Result<Vec<SampleRow>, TableError> {
        let mut good = Vec::new();
        while good.len() < count {
            // Only as many as are still missing, because a proof runs the graph.
            let batch: Vec<SampleRow> = (&mut candidates).take(count - good.len()).collect();
            if batch.is_empty() {
                break;
            }
            good.extend(self.all_good(batch, max_bytes, runner, built)?);
        }
        Ok(good)
    }

    /// Returns the candidates that run, in order. Graphs that were proven before are not run again.
    pub(super) fn all_good(
        &mut self,
        candidates: Vec<SampleRow>,
        max_bytes: u64,
        runner: &dyn Runner,
        built: &mut Built,
    ) -> Result<Vec<SampleRow>, TableError> {
        let keys: Vec<String> = candidates.iter().map(|row| key(row, max_bytes)).collect();
        let todo: Vec<(&String, &SampleRow)> =
            keys.iter().zip(&candidates).filter(|(key, _)| !self.known.contains_key(*key)).collect();
        // If there are few graphs, batches are smaller, so that no worker waits for another.
        let size = todo.len().div_ceil(runner.width().max(1)).clamp(1, BATCH);
        let proven: Vec<ProofResult> = side_by_side(runner.width(), || {
            todo.par_chunks(size).flat_map_iter(|graphs| prove(graphs, max_bytes, runner)).collect()
        });
        for proof in proven {
            self.known.insert(proof.graph.clone(), proof.refused.clone());
            // Not stored after a failure from the memory limit, so that a call with another limit proves the graph again.
            if !is_over_memory(&proof.refused) {
                self.fresh.push(proof);
            }
        }
        if self.fresh.len() >= FLUSH {
            self.flush()?;
        }
        let mut good = Vec::new();
        for (key, row) in keys.iter().zip(candidates) {
            match self.known.get(key).map(String::as_str) {
                Some("") => good.push(row),
                reason => *built.refused.entry(short(reason.unwrap_or("not proven"))).or_default() += 1,
            }
        }
        Ok(good)
    }

    fn flush(&mut self) -> Result<(), TableError> {
        let mut writer = self.dataset.append(Table::Proofs)?;
        self.fresh.drain(..).try_for_each(|proof| writer.push(proof))?;
        writer.finish()
    }

    /// Writes the rows that are not written yet.
    pub(super) fn finish(mut self) -> Result<(), TableError> {
        self.flush()
    }
}

fn key(row: &SampleRow, max_bytes: u64) -> String {
    // The bound and the rules are part of the key, because a graph that passes one bound may fail another.
    let files = row.files.content_id();
    ContentId::of_parts([files.as_str().as_bytes(), &max_bytes.to_le_bytes(), RULES]).to_string()
}

/// Returns a reason without its numbers, so that reasons which differ only in numbers are counted together.
fn short(reason: &str) -> String {
    let letters: String = reason.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(60).collect();
    letters.split('#').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("N")
}

fn prove(graphs: &[(&String, &SampleRow)], max_bytes: u64, runner: &dyn Runner) -> Vec<ProofResult> {
    let requests: Result<Vec<GraphRequest>, String> = graphs.iter().map(|(_, row)| describe(row)).collect();
    let results = requests.and_then(|graphs| {
        let reply: ProveReply = ask(runner, &ProveRequest { graphs, max_bytes, seconds: SECONDS })?;
        Ok(reply.results)
    });
    match results {
        Ok(results) if results.len() == graphs.len() => graphs
            .iter()
            .zip(results)
            .map(|((key, _), result)| ProofResult {
                graph: (*key).clone(),
                refused: result.into_result().err().unwrap_or_default(),
            })
            .collect(),
        // One graph ended the process. Each graph is run alone, so that the others are proven.
        _ if graphs.len() > 1 => graphs.iter().flat_map(|graph| prove(&[*graph], max_bytes, runner)).collect(),
        Ok(_) => vec![ProofResult { graph: graphs[0].0.clone(), refused: "malformed reply".to_owned() }],
        // A graph that kills its process stays refused, so that the next call does not run it again.
        Err(message) => vec![ProofResult { graph: graphs[0].0.clone(), refused: message }],
    }
}

fn describe(row: &SampleRow) -> Result<GraphRequest, String> {
    let sample = parse(&row.path, &row.files).map_err(|error| error.to_string())?;
    if let Some(unseen) = sample.graph.unseen() {
        return Err(unseen.to_string());
    }
    Ok(GraphRequest { graph: wire::to_value(&sample.graph), inputs: sample.tensors })
}
