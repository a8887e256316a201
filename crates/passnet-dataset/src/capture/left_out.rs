//! The models that a capture left out, and the reasons, as a file for people or for programs.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use passnet_record::counted;

use super::summary::Summary;

/// Cause of models that were captured without a part of their operations.
const PARTIAL: &str = "partial";

/// Format of the list of models that were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOutFormat {
    Markdown,
    Csv,
}

impl LeftOutFormat {
    /// Returns the format for a file name: Markdown for `.md`, CSV for `.csv`, and `None` for other names.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "md" => Some(Self::Markdown),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// A model that has no samples or only samples of some of its operations.
struct Row<'a> {
    cause: &'a str,
    spec: &'a str,
    reason: String,
}

impl Summary {
    /// Returns the models without samples and the partial ones, ordered by cause and name, each with the reason. In Markdown, a table
    /// of the causes with their numbers of models comes first.
    pub fn left_out(&self, format: LeftOutFormat) -> String {
        let rows = self.left_out_rows();
        match format {
            LeftOutFormat::Markdown => markdown(&rows, self.models.len()),
            LeftOutFormat::Csv => csv(&rows),
        }
    }

    fn left_out_rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        for model in &self.models {
            if !model.is_ok() {
                rows.push(Row { cause: &model.status, spec: &model.spec, reason: one_line(&model.reason) });
            } else if !model.left_out.is_empty() {
                let operators: Vec<&str> = model.left_out.keys().map(String::as_str).collect();
                let reason = format!("operators outside of the graphs: {}", operators.join(", "));
                rows.push(Row { cause: PARTIAL, spec: &model.spec, reason });
            }
        }
        // Stable, so the models of a cause stay ordered by name. Partial models have samples, so they come last.
        rows.sort_by_key(|row| (row.cause == PARTIAL, row.cause));
        rows
    }
}

fn markdown(rows: &[Row<'_>], models: usize) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(row.cause).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut text = format!("# Models that were left out\n\n{}.\n", heading(rows, models));
    if counts.is_empty() {
        return text;
    }
    text += "\n| cause | models |\n|---|---|\n";
    for (cause, count) in counts {
        // Writing to a string does not fail.
        let _ = writeln!(text, "| `{cause}` | {count} |");
    }
    text += "\n| model | cause | reason |\n|---|---|---|\n";
    for Row { cause, spec, reason } in rows {
        let _ = writeln!(text, "| `{spec}` | `{cause}` | {} |", reason.replace('\\', "\\\\").replace('|', "\\|"));
    }
    text
}

fn heading(rows: &[Row<'_>], models: usize) -> String {
    let partial = rows.iter().filter(|row| row.cause == PARTIAL).count();
    let failed = rows.len() - partial;
    format!("{} tried: {failed} without samples, {partial} partial", counted(models, "model"))
}

fn csv(rows: &[Row<'_>]) -> String {
    let mut text = String::from("model,cause,reason\n");
    for Row { cause, spec, reason } in rows {
        let _ = writeln!(text, "{},{},{}", quoted(spec), quoted(cause), quoted(reason));
    }
    text
}

fn quoted(field: &str) -> String {
    format!("\"{}\"", field.replace('"', "\"\""))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        let model = |fields| serde_json::from_value(fields).unwrap();
        let models = vec![
            model(serde_json::json!({"spec": "timm:b", "status": "timeout", "reason": "not done\nafter \"120\" s"})),
            model(serde_json::json!({"spec": "timm:a", "status": "timeout", "reason": "a | b"})),
            model(serde_json::json!({"spec": "timm:c", "status": "ok", "folders": ["timm/c"]})),
            model(serde_json::json!({"spec": "timm:d", "status": "ok", "left_out": {"aten::lstm": 1}})),
            model(serde_json::json!({"spec": "timm:e", "status": "no_recipe", "reason": "no inputs"})),
        ];
        Summary::new(models, 0)
    }

    #[test]
    fn causes_with_their_counts_come_first() {
        let text = summary().left_out(LeftOutFormat::Markdown);
        let expected = "# Models that were left out\n\n5 models tried: 3 without samples, 1 partial.\n\n\
            | cause | models |\n|---|---|\n| `timeout` | 2 |\n| `no_recipe` | 1 |\n| `partial` | 1 |\n\n\
            | model | cause | reason |\n|---|---|---|\n\
            | `timm:e` | `no_recipe` | no inputs |\n| `timm:a` | `timeout` | a \\| b |\n\
            | `timm:b` | `timeout` | not done after \"120\" s |\n\
            | `timm:d` | `partial` | operators outside of the graphs: aten::lstm |\n";
        assert_eq!(text, expected);
        let none = Summary::new(Vec::new(), 0).left_out(LeftOutFormat::Markdown);
        assert_eq!(none, "# Models that were left out\n\n0 models tried: 0 without samples, 0 partial.\n");
    }

    #[test]
    fn fields_of_csv_are_quoted() {
        let text = summary().left_out(LeftOutFormat::Csv);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "model,cause,reason");
        assert_eq!(lines[3], "\"timm:b\",\"timeout\",\"not done after \"\"120\"\" s\"");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn the_name_of_the_file_decides_the_format() {
        assert_eq!(LeftOutFormat::of(Path::new("a/left-out.md")), Some(LeftOutFormat::Markdown));
        assert_eq!(LeftOutFormat::of(Path::new("x.csv")), Some(LeftOutFormat::Csv));
        assert_eq!(LeftOutFormat::of(Path::new("md")), None);
    }
}
