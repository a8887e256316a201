//! The author's passes for the graphs of `cases/*.graph`.
//!
//! A file begins with a description. Then come the graphs of a task in [text form](common::typed_graph), separated by empty
//! lines; last, one expectation on a line:
//!
//! ```text
//! TARGETS [NAME=VALUE ...]: EXPECTATION
//! ```
//! `TARGETS` is `cpu`, `cuda` or `both`. Each `$NAME` in the graphs is replaced by its value. Expectations are
//! `contains TEXT`, `lacks TEXT`, `count N TEXT`, `order FIRST => SECOND`, `nothing` (no pass), `snapshot` of the passes, and
//! `explained`, a snapshot of the plan in words.

#![allow(clippy::unwrap_used, reason = "a test program")]

mod common;

use std::{fs, path::Path};

use passnet_fuse::{Choices, explain, write_passes};
use passnet_graph::{Target, TypedGraph};

use self::common::{text, typed_graph};

/// Largest number of characters of a line in a pass file.
const LONGEST_LINE: usize = 100;

/// A case file.
struct Case {
    name: String,
    graphs: Vec<String>,
    expectations: Vec<String>,
}

impl Case {
    fn read(path: &Path) -> Self {
        let content = fs::read_to_string(path).unwrap();
        let without_comments: Vec<&str> = content.lines().filter(|line| !line.starts_with('#')).collect();
        let joined = without_comments.join("\n");
        let mut blocks: Vec<&str> = joined.split("\n\n").map(str::trim).filter(|block| !block.is_empty()).collect();
        let expectations = blocks.pop().unwrap().lines().map(str::to_owned).collect();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        Self { name, graphs: blocks.into_iter().map(str::to_owned).collect(), expectations }
    }

    fn task(&self, substitutions: &[(&str, &str)]) -> Vec<TypedGraph> {
        let substituted = |graph: &String| {
            substitutions.iter().fold(graph.clone(), |text, (name, value)| text.replace(&format!("${name}"), value))
        };
        self.graphs.iter().map(|graph| typed_graph(&substituted(graph))).collect()
    }

    /// The differences from an expectation, as text.
    fn check(&self, line: &str) -> Vec<String> {
        let (head, expectation) = line.split_once(": ").unwrap_or_else(|| panic!("{}: {line}", self.name));
        let mut words = head.split(' ');
        let targets = match words.next() {
            Some("cpu") => vec![Target::Cpu],
            Some("cuda") => vec![Target::Cuda],
            Some("both") => vec![Target::Cpu, Target::Cuda],
            other => panic!("{}: {other:?} is no target", self.name),
        };
        let substitutions: Vec<(&str, &str)> = words.map(|word| word.split_once('=').unwrap()).collect();
        let task = self.task(&substitutions);
        let snapshot = format!("{}_{head}", self.name).replace([' ', '='], "_");
        let mut failures = Vec::new();
        for target in targets {
            let passes = text(&write_passes(&task, target, &Choices::new()));
            let holds = match expectation.split_once(' ').unwrap_or((expectation, "")) {
                ("contains", text) => passes.contains(text),
                ("lacks", text) => !passes.contains(text) && !passes.is_empty(),
                ("count", rest) => {
                    let (count, text) = rest.split_once(' ').unwrap();
                    passes.matches(text).count() == count.parse::<usize>().unwrap()
                }
                ("order", rest) => {
                    let (first, second) = rest.split_once(" => ").unwrap();
                    passes.find(first).zip(passes.find(second)).is_some_and(|(first, second)| first < second)
                }
                ("nothing", _) => passes.is_empty(),
                ("snapshot", _) => {
                    insta::assert_snapshot!(snapshot.as_str(), passes);
                    true
                }
                ("explained", _) => {
                    let plan = explain(&task, target, &Choices::new());
                    insta::assert_snapshot!(format!("{snapshot}_explained"), plan);
                    true
                }
                _ => panic!("{}: no such expectation: {line}", self.name),
            };
            failures.extend(too_long(&passes).map(|line| format!("{}.graph: {target:?}: {line}", self.name)));
            if !holds {
                failures.push(format!("{}.graph: {line}, for {target:?}\n{passes}", self.name));
            }
        }
        failures
    }
}

/// Returns the lines that people would have to scroll to read.
fn too_long(passes: &str) -> impl Iterator<Item = &str> {
    passes.lines().filter(|line| line.chars().count() > LONGEST_LINE)
}

#[test]
fn passes_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 40, "the cases are gone");
    let mut failures = Vec::new();
    for case in paths.iter().map(|path| Case::read(path)) {
        assert!(!case.graphs.is_empty(), "{}: no graph", case.name);
        failures.extend(case.expectations.iter().flat_map(|line| case.check(line)));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
