//! What a model is told at the beginning, from templates that a user may replace.

use std::{collections::BTreeMap, path::Path};

use fs_err as fs;
use passnet_graph::hash;
use passnet_python::model;
use passnet_record::ContentId;

use crate::{
    message::{Message, shortened},
    task::Task,
};

/// Bytes of the graphs' text in a prompt.
const MAX_GRAPHS: usize = 32 << 10;
/// Graphs whose inputs are listed.
const MAX_LISTED: usize = 40;

/// The templates. `{{name}}` stands for a value: `task`, `device`, `ops`, `count`, `graphs`, `steps`.
#[derive(Clone, Debug)]
pub struct Templates {
    system: String,
    task: String,
    /// Said to a model that calls no tool before it has evaluated anything.
    pub nudge: String,
}

/// Why templates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A name that stands for nothing.
    #[error("{file}: `{{{{{name}}}}}` stands for nothing; there are task, device, ops, count, graphs, steps")]
    Unknown {
        /// The template.
        file: &'static str,
        /// The name.
        name: String,
    },
}

const NAMES: [&str; 6] = ["task", "device", "ops", "count", "graphs", "steps"];

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
    /// Those of a directory (`system.md`, `task.md`, `nudge.md`); what is missing there is the built-in one.
    ///
    /// # Errors
    /// Where a file cannot be read or uses a name that does not exist.
    pub fn read(directory: &Path) -> Result<Self, TemplateError> {
        // Fails where the directory as a whole is wrong.
        fs::read_dir(directory)?;
        let mut templates = Self::default();
        for (file, place) in
            [("system.md", &mut templates.system), ("task.md", &mut templates.task), ("nudge.md", &mut templates.nudge)]
        {
            let path = directory.join(file);
            if path.exists() {
                *place = fs::read_to_string(path)?;
            }
            let mut names = place.split("{{").skip(1).filter_map(|rest| rest.split_once("}}").map(|(name, _)| name));
            if let Some(name) = names.find(|name| !NAMES.contains(name)) {
                return Err(TemplateError::Unknown { file, name: name.to_owned() });
            }
        }
        Ok(templates)
    }

    /// Identity of the templates, for the settings of a run.
    pub fn id(&self) -> ContentId {
        ContentId::of_parts([self.system.as_bytes(), self.task.as_bytes(), self.nudge.as_bytes()])
    }

    /// The first messages of an attempt.
    pub fn begin(&self, task: &Task, device: &str, steps: u32) -> Vec<Message> {
        let values = BTreeMap::from([
            ("task", task.id.clone()),
            ("device", device.to_owned()),
            ("ops", if task.ops.is_empty() { "below".to_owned() } else { task.ops.join(", ") }),
            ("count", task.visible.len().to_string()),
            ("graphs", graphs_text(task)),
            ("steps", steps.to_string()),
        ]);
        vec![
            Message::System { content: filled(&self.system, &values) },
            Message::User { content: filled(&self.task, &values) },
        ]
    }
}

/// The template with its names replaced; what they stand for is not looked through again.
fn filled(template: &str, values: &BTreeMap<&str, String>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
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

/// Each structure once as Python, and the inputs of every graph that has it.
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
        text.push_str(&format!("```python\n{}\n```\n", model::print(first.graph()).trim_end()));
        for &index in members.iter().take(MAX_LISTED) {
            let graph = &task.visible[index];
            let inputs: Vec<String> =
                graph.metas().iter().map(|meta| format!("{} {}{:?}", meta.name, meta.dtype, meta.shape)).collect();
            text.push_str(&format!("- graph {}: {}\n", graph.id().graph, inputs.join(", ")));
        }
        if members.len() > MAX_LISTED {
            text.push_str(&format!("- and {} graphs more of this structure\n", members.len() - MAX_LISTED));
        }
        text.push('\n');
    }
    shortened(text.trim_end(), MAX_GRAPHS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_once() {
        let values = BTreeMap::from([("a", "{{b}}".to_owned()), ("b", "x".to_owned())]);
        assert_eq!(filled("{{a}} {{b}} {{c}} {{", &values), "{{b}} x {{c}} {{");
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
