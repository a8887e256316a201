//! Difficulty of tasks: what bounds their time on a device, and how far measured times are from the bound.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    io,
    path::Path,
};

use fs_err as fs;
use passnet_record::{DIFFICULTY_VERSION, DifficultyBound, TaskDifficulty};

/// Difficulties of the tasks of some suites, by suite and task.
#[derive(Clone, Debug, Default)]
pub struct Difficulties(BTreeMap<String, BTreeMap<String, TaskDifficulty>>);

impl Difficulties {
    /// Reads a file that `benches/dataset/difficulty.py` wrote: one line of JSON for each task.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is malformed or of another version.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        for (number, line) in fs::read_to_string(path)?.lines().enumerate() {
            let invalid = |what: String| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{}:{}: {what}", path.display(), number + 1))
            };
            let task: TaskDifficulty = serde_json::from_str(line).map_err(|error| invalid(error.to_string()))?;
            if task.schema_version != DIFFICULTY_VERSION {
                return Err(invalid(format!("version {} is not {DIFFICULTY_VERSION}", task.schema_version)));
            }
            found.0.entry(task.suite.clone()).or_default().insert(task.task.clone(), task);
        }
        Ok(found)
    }

    /// Writes a row of the card for each class of bound that tasks of a suite have. `tasks` are the tasks of the suite.
    pub(super) fn section(&self, out: &mut String, suite: &str, tasks: &[String]) -> fmt::Result {
        let Some(known) = self.0.get(suite) else { return Ok(()) };
        let known: Vec<&TaskDifficulty> = tasks.iter().filter_map(|task| known.get(task)).collect();
        if known.is_empty() {
            return Ok(());
        }
        let mut cells = Vec::new();
        for bound in DifficultyBound::ALL {
            let part: Vec<&TaskDifficulty> = known.iter().copied().filter(|task| task.bound == bound).collect();
            if part.is_empty() {
                continue;
            }
            let mut cell = format!("`{}` {}", bound.name(), part.len());
            let eager: Vec<Option<f64>> = part.iter().map(|task| task.eager_us).collect();
            let inductor: Vec<Option<f64>> = part.iter().map(|task| task.inductor_us).collect();
            for (name, times) in [("eager", eager), ("Inductor", inductor)] {
                let ratios = part.iter().zip(times).filter_map(|(task, time)| Some(time? / task.bound_us)).collect();
                if let Some((median, count)) = median(ratios) {
                    write!(cell, ", {name} {median:.1} times the bound ({count} measured)")?;
                }
            }
            cells.push(cell);
        }
        writeln!(out, "- **bound by, on an H200**: {}", cells.join("; "))
    }
}

/// Returns the median and the number of some values.
fn median(mut values: Vec<f64>) -> Option<(f64, usize)> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let middle = values.get(count / 2)?;
    let median = if count.is_multiple_of(2) { f64::midpoint(values[count / 2 - 1], *middle) } else { *middle };
    Some((median, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Difficulties> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), text)?;
        Difficulties::read(file.path())
    }

    #[test]
    fn the_section_has_classes_and_distances() {
        let line = |task: &str, bound: &str, times: &str| {
            format!(
                r#"{{"schema_version": 1, "suite": "s", "task": "{task}", "bound": "{bound}", "bound_us": 4.0{times}}}"#
            )
        };
        let text = [
            line("a", "launch", r#", "eager_us": 8.0, "inductor_us": 6.0"#),
            line("b", "launch", r#", "eager_us": 16.0"#),
            line("c", "compute", ""),
            line("gone", "memory", ""),
        ];
        let found = read(&text.join("\n")).unwrap();
        let mut out = String::new();
        found.section(&mut out, "s", &["a", "b", "c"].map(str::to_owned)).unwrap();
        assert_eq!(
            out,
            "- **bound by, on an H200**: `launch` 2, eager 3.0 times the bound (2 measured), Inductor 1.5 times the bound (1 \
             measured); `compute` 1\n"
        );
        found.section(&mut out, "other", &["a".to_owned()]).unwrap();
        assert_eq!(out.lines().count(), 1);
    }

    #[test]
    fn malformed_lines_are_named() {
        let error = read("{}\n").unwrap_err().to_string();
        assert!(error.contains(":1: missing field"), "{error}");
        let error = read(r#"{"schema_version": 2, "suite": "s", "task": "a", "bound": "launch", "bound_us": 4.0}"#);
        assert!(error.unwrap_err().to_string().contains("version 2 is not 1"));
    }
}
