use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::{
    columns::{Columns, float64s, int64s, list_type, lists, strings},
    row::{Row, View},
};

/// One attempt of an agent at a task: columns for training, and the whole record as JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrajectoryRow {
    /// Content hash of the record.
    pub id: String,
    /// Name of the suite.
    pub suite: String,
    /// Split of the suite.
    pub split: String,
    pub task: String,
    /// Op sequence of the task.
    pub ops: Vec<String>,
    /// Structural hashes of the task's graphs.
    pub graph_hashes: Vec<String>,
    /// Language model that answered.
    pub model: String,
    /// Number of the attempt at the task, from 0.
    pub attempt: i64,
    /// Reason why the attempt ended.
    pub exit: String,
    /// Final score. A score of 1 means no change.
    pub score: f64,
    /// Final reward.
    pub reward: f64,
    /// Number of graphs that are correct in the end.
    pub correct: i64,
    /// Number of graphs of the task.
    pub graphs: i64,
    pub steps: i64,
    /// Number of tokens that the model read.
    pub input_tokens: i64,
    /// Number of tokens that the model wrote.
    pub output_tokens: i64,
    /// Integrity rules that the attempt broke, even if only in intermediate steps.
    pub rules_broken: Vec<String>,
    /// Messages in the form of chat completions, as JSON.
    pub messages: String,
    /// Tools in the form of chat completions, as JSON.
    pub tools: String,
    /// The final passes as JSON: text by file name.
    pub passes: String,
    /// The whole record (`docs/reference/trajectories.md`), as JSON.
    pub record: String,
}

/// Names of the columns: of text, of numbers, and of lists of text. Each kind is in the order of the schema.
const TEXTS: [&str; 10] = ["id", "suite", "split", "task", "model", "exit", "messages", "tools", "passes", "record"];
const INTEGERS: [&str; 6] = ["attempt", "correct", "graphs", "steps", "input_tokens", "output_tokens"];
const FLOATS: [&str; 2] = ["score", "reward"];
const LISTS: [&str; 3] = ["ops", "graph_hashes", "rules_broken"];

impl TrajectoryRow {
    fn texts(&self) -> [&String; 10] {
        let Self { id, suite, split, task, model, exit, messages, tools, passes, record, .. } = self;
        [id, suite, split, task, model, exit, messages, tools, passes, record]
    }

    fn integers(&self) -> [i64; 6] {
        [self.attempt, self.correct, self.graphs, self.steps, self.input_tokens, self.output_tokens]
    }

    fn lists(&self) -> [&Vec<String>; 3] {
        [&self.ops, &self.graph_hashes, &self.rules_broken]
    }
}

impl View for TrajectoryRow {
    const TABLE: &'static str = "trajectories";

    fn schema() -> Schema {
        let field = |kind: DataType| move |name: &&str| Field::new(*name, kind.clone(), false);
        let texts = TEXTS.iter().map(field(DataType::Utf8));
        let integers = INTEGERS.iter().map(field(DataType::Int64));
        let floats = FLOATS.iter().map(field(DataType::Float64));
        let lists = LISTS.iter().map(field(list_type(DataType::Utf8)));
        Schema::new(texts.chain(integers).chain(floats).chain(lists).collect::<Vec<_>>())
    }

    fn decode(batch: &RecordBatch) -> Result<Vec<Self>, String> {
        let columns = Columns::Batch(batch);
        let mut rows = vec![Self::default(); batch.num_rows()];
        for name in TEXTS {
            for (row, text) in rows.iter_mut().zip(columns.strings(name)?) {
                let place = match name {
                    "id" => &mut row.id,
                    "suite" => &mut row.suite,
                    "split" => &mut row.split,
                    "task" => &mut row.task,
                    "model" => &mut row.model,
                    "exit" => &mut row.exit,
                    "messages" => &mut row.messages,
                    "tools" => &mut row.tools,
                    "passes" => &mut row.passes,
                    _ => &mut row.record,
                };
                *place = text;
            }
        }
        for name in INTEGERS {
            for (row, number) in rows.iter_mut().zip(columns.int64s(name)?) {
                let place = match name {
                    "attempt" => &mut row.attempt,
                    "correct" => &mut row.correct,
                    "graphs" => &mut row.graphs,
                    "steps" => &mut row.steps,
                    "input_tokens" => &mut row.input_tokens,
                    _ => &mut row.output_tokens,
                };
                *place = number;
            }
        }
        for (row, (score, reward)) in
            rows.iter_mut().zip(columns.float64s("score")?.into_iter().zip(columns.float64s("reward")?))
        {
            (row.score, row.reward) = (score, reward);
        }
        for name in LISTS {
            for (row, list) in rows.iter_mut().zip(columns.string_lists(name)?) {
                let place = match name {
                    "ops" => &mut row.ops,
                    "graph_hashes" => &mut row.graph_hashes,
                    _ => &mut row.rules_broken,
                };
                *place = list;
            }
        }
        Ok(rows)
    }
}

impl Row for TrajectoryRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
        let mut columns = Vec::new();
        for index in 0..TEXTS.len() {
            columns.push(strings(rows.iter().map(|row| row.texts()[index].as_str())));
        }
        for index in 0..INTEGERS.len() {
            columns.push(int64s(rows.iter().map(|row| row.integers()[index])));
        }
        columns.push(float64s(rows.iter().map(|row| row.score)));
        columns.push(float64s(rows.iter().map(|row| row.reward)));
        for index in 0..LISTS.len() {
            let items = strings(rows.iter().flat_map(|row| row.lists()[index]).map(String::as_str));
            columns.push(lists(rows.iter().map(|row| row.lists()[index].len()), items)?);
        }
        RecordBatch::try_new(Self::schema().into(), columns)
    }

    fn raw_bytes(&self) -> usize {
        // Eight numbers of eight bytes.
        const NUMBERS: usize = 64;
        let texts: usize = self.texts().iter().map(|text| text.len() + 4).sum();
        let lists: usize = self.lists().into_iter().flatten().map(|text| text.len() + 4).sum();
        texts + lists + NUMBERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_round_trip() {
        let row = TrajectoryRow {
            id: "i".to_owned(),
            ops: vec!["relu".to_owned(), "add".to_owned()],
            score: 1.5,
            reward: 0.25,
            attempt: 3,
            output_tokens: 7,
            record: "{}".to_owned(),
            ..TrajectoryRow::default()
        };
        let rows = vec![row, TrajectoryRow::default()];
        assert_eq!(TrajectoryRow::decode(&TrajectoryRow::encode(&rows).unwrap()).unwrap(), rows);
    }
}
