//! Results of runs as a table: one row per graph, for programs that analyse them. `docs/reference/report-schema.md` describes the
//! columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};

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
        /// The verdict on one graph, flat.
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

            /// The cells in the order of the columns; empty where there is no value.
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
        /// Device as asked for, e.g. `cuda:0`.
        device,
        /// Accelerator, or CPU model of a CPU run.
        machine,
        /// Task.
        task,
        /// Graph.
        graph,
        /// Content key of the verdict.
        key,
        /// Outcome.
        status,
    }
    optional_texts {
        /// Code of the reason; none for a plain `correct`.
        reason,
        /// Path that was scored: `direct` or `compiled`.
        path,
        /// `yes` if the scored timing settled, else `no`.
        stable,
    }
    integers {
        /// Smallest tolerance at which everything was close.
        tolerance,
        /// Calls in the graph.
        nodes_before,
        /// Calls in the rewritten graph.
        nodes_after,
        /// Wall time of the evaluation.
        wall_ns,
    }
    numbers {
        /// Against eager.
        speedup,
        /// Lower end of its interval.
        speedup_low,
        /// Upper end of its interval.
        speedup_high,
        /// Against eager, by device events.
        device_speedup,
        /// Against the candidate's path without rewriting.
        control_speedup,
        /// Lower end of its interval.
        control_low,
        /// Upper end of its interval.
        control_high,
        /// Median of eager.
        eager_median_ns,
        /// Median of the candidate's path without rewriting.
        control_median_ns,
        /// Median of the candidate.
        candidate_median_ns,
        /// Median of eager between device events.
        eager_device_ns,
        /// The same of the candidate's path without rewriting.
        control_device_ns,
        /// The same of the candidate.
        candidate_device_ns,
        /// Least time that the device permits.
        bound_ns,
    }
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
}
