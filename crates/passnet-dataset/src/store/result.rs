//! Results of runs as a table: one row per graph, for programs that analyse them. `docs/reference/report-schema.md` describes the
//! columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use passnet_record::{ExecutionPath, RunHeader, Timing, Verdict};

use super::{
    columns::{Columns, optional_strings, strings},
    row::{Row, View},
};

/// Declares the columns once: the struct, its schema, both directions, and the cells of a line of text.
macro_rules! result_row {
    (
        texts { $($(#[$text_doc:meta])* $text:ident,)+ }
        optional_texts { $($(#[$optional_doc:meta])* $optional:ident,)+ }
        integers { $($(#[$integer_doc:meta])* $integer:ident,)+ }
        numbers { $($(#[$number_doc:meta])* $number:ident,)+ }
    ) => {
        /// The verdict on one graph as a flat row.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct ResultRow {
            $($(#[$text_doc])* pub $text: String,)+
            $($(#[$optional_doc])* pub $optional: Option<String>,)+
            $($(#[$integer_doc])* pub $integer: Option<i64>,)+
            $($(#[$number_doc])* pub $number: Option<f64>,)+
        }

        impl ResultRow {
            /// Names of the columns, in order.
            pub const COLUMNS: &'static [&'static str] = &[
                $(stringify!($text),)+ $(stringify!($optional),)+ $(stringify!($integer),)+ $(stringify!($number),)+
            ];

            /// Returns the cells in the order of the columns. A cell without a value is empty.
            pub fn cells(&self) -> Vec<String> {
                let mut cells = vec![$(self.$text.clone(),)+];
                cells.extend([$(self.$optional.clone().unwrap_or_default(),)+]);
                cells.extend([$(self.$integer.map_or_else(String::new, |value| value.to_string()),)+]);
                cells.extend([$(self.$number.map_or_else(String::new, |value| value.to_string()),)+]);
                cells
            }
        }

        impl View for ResultRow {
            const TABLE: &'static str = "results";

            fn schema() -> Schema {
                Schema::new(vec![
                    $(Field::new(stringify!($text), DataType::Utf8, false),)+
                    $(Field::new(stringify!($optional), DataType::Utf8, true),)+
                    $(Field::new(stringify!($integer), DataType::Int64, true),)+
                    $(Field::new(stringify!($number), DataType::Float64, true),)+
                ])
            }

            fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String> {
                let columns = Columns::Batch(batch);
                let mut rows = vec![Self::default(); batch.num_rows()];
                $(for (row, value) in rows.iter_mut().zip(columns.strings(stringify!($text))?) { row.$text = value; })+
                $(for (row, value) in rows.iter_mut().zip(columns.optional_strings(stringify!($optional))?) { row.$optional = value; })+
                $(for (row, value) in rows.iter_mut().zip(columns.optional_int64s(stringify!($integer))?) { row.$integer = value; })+
                $(for (row, value) in rows.iter_mut().zip(columns.optional_float64s(stringify!($number))?) { row.$number = value; })+
                Ok(rows)
            }
        }

        impl Row for ResultRow {
            fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
                let columns: Vec<ArrayRef> = vec![
                    $(strings(rows.iter().map(|row| row.$text.as_str())),)+
                    $(optional_strings(rows.iter().map(|row| row.$optional.as_deref())),)+
                    $(Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.$integer))),)+
                    $(Arc::new(Float64Array::from_iter(rows.iter().map(|row| row.$number))),)+
                ];
                RecordBatch::try_new(Self::schema().into(), columns)
            }

            fn raw_bytes(&self) -> usize {
                let texts = 0 $(+ self.$text.len())+ $(+ self.$optional.as_ref().map_or(0, String::len))+;
                texts + 8 * Self::COLUMNS.len()
            }
        }
    };
}

result_row! {
    texts {
        /// Name of the run.
        run,
        /// Author of the passes.
        author,
        /// Name of the suite.
        suite,
        /// Version of the suite.
        suite_version,
        /// `sound` or `paper`.
        mode,
        /// Device as the user named it, e.g. `cuda:0`.
        device,
        /// Accelerator, or CPU model of a CPU run.
        machine,
        /// Id of the task.
        task,
        /// Name of the graph.
        graph,
        /// Content key of the verdict.
        key,
        /// Status of the verdict.
        status,
    }
    optional_texts {
        /// Code of the reason; none for a plain `correct`.
        reason,
        /// Path that was scored: `direct` or `compiled`.
        path,
        /// `yes` if the scored timing was stable, else `no`.
        stable,
    }
    integers {
        /// Smallest tolerance at which all outputs were close.
        tolerance,
        /// Number of calls in the graph.
        nodes_before,
        /// Number of calls in the rewritten graph.
        nodes_after,
        /// Wall time of the evaluation, in nanoseconds.
        wall_ns,
    }
    numbers {
        /// Speed-up over eager mode: eager / candidate.
        speedup,
        /// Lower end of the interval of `speedup`.
        speedup_low,
        /// Upper end of the interval of `speedup`.
        speedup_high,
        /// Speed-up over eager mode, measured with device events.
        device_speedup,
        /// Speed-up over the candidate's path without rewriting.
        control_speedup,
        /// Lower end of the interval of `control_speedup`.
        control_low,
        /// Upper end of the interval of `control_speedup`.
        control_high,
        /// Median time of eager mode, in nanoseconds.
        eager_median_ns,
        /// Median time of the candidate's path without rewriting, in nanoseconds.
        control_median_ns,
        /// Median time of the candidate, in nanoseconds.
        candidate_median_ns,
        /// Median time of eager mode between device events, in nanoseconds.
        eager_device_ns,
        /// The same for the candidate's path without rewriting.
        control_device_ns,
        /// The same for the candidate.
        candidate_device_ns,
        /// Shortest time that the device permits, in nanoseconds.
        bound_ns,
    }
}

impl ResultRow {
    /// Returns the row of one verdict of a run.
    pub fn new(header: &RunHeader, verdict: &Verdict) -> Self {
        let machine =
            if header.fingerprint.device.is_empty() { &header.fingerprint.cpu } else { &header.fingerprint.device };
        let scored = verdict.scored_timing();
        let control = verdict.control_timing();
        let of = |timing: Option<&Timing>, value: fn(&Timing) -> f64| timing.map(value);
        Self {
            run: header.run.clone(),
            author: header.author.to_string(),
            suite: header.suite.clone(),
            suite_version: header.suite_version.clone(),
            mode: header.settings.mode.to_string(),
            device: header.settings.device.to_string(),
            machine: machine.clone(),
            task: verdict.id.task.clone(),
            graph: verdict.id.graph.clone(),
            key: verdict.key.to_string(),
            status: verdict.status.name().to_owned(),
            reason: verdict.reason.as_ref().map(|reason| reason.code.clone()),
            path: scored.map(|timing| {
                match timing.path {
                    ExecutionPath::Direct => "direct",
                    ExecutionPath::Compiled => "compiled",
                }
                .to_owned()
            }),
            stable: scored.map(|timing| if timing.stable { "yes" } else { "no" }.to_owned()),
            tolerance: verdict.tolerance.map(i64::from),
            nodes_before: i64::try_from(verdict.evidence.nodes_before).ok(),
            nodes_after: i64::try_from(verdict.evidence.nodes_after).ok(),
            wall_ns: i64::try_from(verdict.cost.wall_ns).ok(),
            speedup: of(scored, |timing| timing.speedup.ratio),
            speedup_low: of(scored, |timing| timing.speedup.low),
            speedup_high: of(scored, |timing| timing.speedup.high),
            device_speedup: scored.and_then(|timing| timing.device_speedup).map(|speedup| speedup.ratio),
            control_speedup: of(control, |timing| timing.speedup.ratio),
            control_low: of(control, |timing| timing.speedup.low),
            control_high: of(control, |timing| timing.speedup.high),
            eager_median_ns: of(scored, |timing| timing.base.median_ns),
            control_median_ns: of(control, |timing| timing.base.median_ns),
            candidate_median_ns: of(scored, |timing| timing.candidate.median_ns),
            eager_device_ns: scored.and_then(|timing| timing.base.device_median_ns),
            control_device_ns: control.and_then(|timing| timing.base.device_median_ns),
            candidate_device_ns: scored.and_then(|timing| timing.candidate.device_median_ns),
            bound_ns: scored.and_then(|timing| timing.bound_ns),
        }
    }
}

/// Returns the rows as CSV (RFC 4180). The first line contains the titles.
pub fn csv(rows: &[ResultRow]) -> String {
    let mut text = ResultRow::COLUMNS.join(",") + "\r\n";
    for row in rows {
        let cells: Vec<String> = row.cells().iter().map(|cell| quoted(cell)).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_into_columns_and_back() {
        let row = ResultRow {
            run: "r".to_owned(),
            reason: Some("raised".to_owned()),
            tolerance: Some(-5),
            speedup: Some(1.5),
            ..ResultRow::default()
        };
        let rows = vec![row, ResultRow::default()];
        assert_eq!(ResultRow::decode(&ResultRow::encode(&rows).unwrap()).unwrap(), rows);
        assert_eq!(rows[0].cells().len(), ResultRow::COLUMNS.len());
        assert_eq!(ResultRow::schema().fields().len(), ResultRow::COLUMNS.len());
    }

    #[test]
    fn hostile_cells_stay_cells() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
