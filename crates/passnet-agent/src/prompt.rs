//! First messages of an attempt, from templates that a user may replace.

use std::{collections::BTreeMap, path::Path};

use fs_err as fs;
use passnet_graph::hash;
use passnet_graphnet::graph_module;
use passnet_record::{ContentId, Device, agent::Message};

use crate::{shorten::shortened, task::Task};

/// Maximum bytes of the graphs' text in a prompt.
const MAX_GRAPHS: usize = 32 << 10;
/// Maximum number of graphs of one structure whose inputs are listed.
const MAX_LISTED: usize = 40;

/// Prompt templates. `{{name}}` is replaced by a value: `task`, `device`, `ops`, `count`, `graphs`, `steps`, `machine` (facts
/// about the machine), `example` (an example pass for the device) or `to_beat` (a sentence with the speed-up of passes that exist already, or
/// nothing).
#[derive(Clone, Debug)]
pub struct Templates {
    system: String,
    task: String,
    /// Reply to a model that calls no tool before its first evaluation.
    pub nudge: String,
}

/// Example passes, in Markdown: C++ for a CPU, Triton for a GPU.
pub(crate) const EXAMPLE_CPU: &str = include_str!("../prompts/example-cpu.md");
pub(crate) const EXAMPLE_CUDA: &str = include_str!("../prompts/example-cuda.md");

/// Error of templates.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The directory or a file cannot be read.
    #[error("cannot read the prompts")]
    Io(#[from] std::io::Error),
    /// A template uses an unknown name.
    #[error("{file}: there is no value `{{{{{name}}}}}`; there are {}", NAMES.join(", "))]
    Unknown {
        /// File of the template.
        file: &'static str,
        /// Unknown name.
        name: String,
    },
}

const NAMES: [&str; 9] = ["task", "device", "ops", "count", "graphs", "steps", "machine", "example", "to_beat"];

impl Default for Templates {
    fn default() -> Self {
        Self {
            system: include_str!("../prompts/system.md").to_owned(),
            task: include_str!("../prompts/task.md").to_owned(),
            nudge: include_str!("../prompts/nudge.md").to_owned(),
        }
    }
}

impl Templates {
    /// Reads templates from a directory (`system.md`, `task.md`, `nudge.md`); missing files keep the built-in text.
    ///
    /// # Errors
    /// Fails if a file cannot be read or uses an unknown name.
    pub fn read(directory: &Path) -> Result<Self, TemplateError> {
        // A missing directory is an error; a missing file is not.
        fs::read_dir(directory)?;
        let mut templates = Self::default();
        for (file, template) in
            [("system.md", &mut templates.system), ("task.md", &mut templates.task), ("nudge.md", &mut templates.nudge)]
        {
            let path = directory.join(file);
            if path.exists() {
                *template = fs::read_to_string(path)?;
            }
            let mut names = template.split("{{").skip(1).filter_map(|rest| rest.split_once("}}").map(|(name, _)| name));
            if let Some(name) = names.find(|name| !NAMES.contains(name)) {
                return Err(TemplateError::Unknown { file, name: name.to_owned() });
            }
        }
        Ok(templates)
    }

    /// Returns the content id of the templates: the version of the prompt, which is part of a run's settings.
    pub fn id(&self) -> ContentId {
        let texts = [&self.system, &self.task, &self.nudge].map(String::as_bytes);
        ContentId::of_parts(texts.into_iter().chain([EXAMPLE_CPU, EXAMPLE_CUDA].map(str::as_bytes)))
    }

    /// Returns the first messages of an attempt on a device; `machine` describes the machine.
    pub fn begin(&self, task: &Task, device: Device, machine: &str, steps: u32) -> Vec<Message> {
        let example = if device.is_cpu() { EXAMPLE_CPU } else { EXAMPLE_CUDA };
        let values = BTreeMap::from([
            ("task", task.id.clone()),
            ("device", device.to_string()),
            ("ops", if task.ops.is_empty() { "below".to_owned() } else { task.ops.join(", ") }),
            ("count", task.visible.len().to_string()),
            ("graphs", graphs_text(task)),
            ("steps", steps.to_string()),
            ("machine", machine.trim_end().to_owned()),
            ("example", example.trim_end().to_owned()),
            ("to_beat", task.to_beat.map(to_beat_text).unwrap_or_default()),
        ]);
        vec![
            Message::System { content: filled(&self.system, &values) },
            Message::User { content: filled(&self.task, &values) },
        ]
    }
}

/// Says which speed-up passes need to be used.
fn to_beat_text(speedup: f64) -> String {
    if speedup > 1.0 {
        format!(
            " The passes of a built-in author make them {speedup:.2} times as fast as eager mode; yours are used only if they are faster than that."
        )
    } else {
        " A built-in author found no passes that make them faster than eager mode.".to_owned()
    }
}

/// Replaces the names of a template by their values; a value is inserted verbatim.
fn filled(template: &str, values: &BTreeMap<&str, String>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    // One scan, not a chain of `replace`: a value that contains `{{` must not be filled again.
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        match after.split_once("}}").and_then(|(name, behind)| Some((values.get(name)?, behind))) {
            Some((value, behind)) => {
                text.push_str(value);
                rest = behind;
            }
            None => {
                text.push_str("{{");
                rest = after;
            }
        }
    }
    text + rest
}

/// Prints each structure once as Python, followed by the inputs of every graph that has it.
fn graphs_text(task: &Task) -> String {
    let mut kinds: Vec<(ContentId, Vec<usize>)> = Vec::new();
    for (index, graph) in task.visible.iter().enumerate() {
        let id = hash::structural(graph.graph());
        match kinds.iter_mut().find(|(known, _)| *known == id) {
            Some((_, members)) => members.push(index),
            None => kinds.push((id, vec![index])),
        }
    }
    let mut text = String::new();
    for (_, members) in kinds {
        let first = &task.visible[members[0]];
        text.push_str(&format!("```python\n{}\n```\n", graph_module::print(first.graph()).trim_end()));
        for &index in members.iter().take(MAX_LISTED) {
            let graph = &task.visible[index];
            let inputs: Vec<String> =
                graph.metas().iter().map(|meta| format!("{} {}{:?}", meta.name, meta.dtype, meta.shape)).collect();
            text.push_str(&format!("- graph {}: {}\n", graph.id().graph, inputs.join(", ")));
        }
        if members.len() > MAX_LISTED {
            text.push_str(&format!("- and {} more of this structure\n", members.len() - MAX_LISTED));
        }
        text.push('\n');
    }
    shortened(text.trim_end(), MAX_GRAPHS)
}

#[cfg(test)]
mod tests {
    use passnet_record::{ORDER_FILE, PassDirectory};

    use super::*;
    use crate::evaluator::Evaluator;

    #[test]
    fn the_examples_break_no_rule() {
        for example in [EXAMPLE_CPU, EXAMPLE_CUDA] {
            let source = example.trim().strip_prefix("```python\n").and_then(|text| text.strip_suffix("```")).unwrap();
            let order = "[\"relu_add\"]".to_owned();
            let files = [("relu_add.py".to_owned(), source.to_owned()), (ORDER_FILE.to_owned(), order)];
            let findings = Evaluator::lint(&PassDirectory::new(files).unwrap());
            assert!(findings.is_empty(), "{findings:?}");
        }
    }

    #[test]
    fn names_are_replaced_once() {
        let values = BTreeMap::from([("a", "{{b}}".to_owned()), ("b", "x".to_owned())]);
        assert_eq!(filled("{{a}} {{b}} {{c}} {{", &values), "{{b}} x {{c}} {{");
    }

    #[test]
    fn the_speed_up_of_other_passes_is_a_sentence() {
        assert!(
            to_beat_text(1.416).contains(" 1.42 times as fast as eager mode; yours are used only if they are faster")
        );
        assert!(to_beat_text(1.0).contains("found no passes"));
    }

    #[test]
    fn a_users_templates_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("task.md"), "do {{task}}").unwrap();
        let templates = Templates::read(folder.path()).unwrap();
        assert_eq!((templates.task.as_str(), templates.system.is_empty()), ("do {{task}}", false));
        assert_ne!(templates.id(), Templates::default().id());
        fs::write(folder.path().join("task.md"), "do {{tusk}}").unwrap();
        assert!(Templates::read(folder.path()).unwrap_err().to_string().contains("`{{tusk}}`"));
        assert!(Templates::read(&folder.path().join("nowhere")).is_err());
    }
}
