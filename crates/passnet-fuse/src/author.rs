//! The whole way from the typed graphs of a task to the files of a pass directory.

use std::collections::BTreeMap;

use passnet_graph::{Target, TypedGraph};

use crate::{
    back::{
        emit::pass_file,
        tuning::{Choices, TunableKernel},
    },
    plan::select::plan_passes,
};

/// Name of the file that orders the passes of a directory.
const ORDER_FILE: &str = "sorted_output_pass_rule_names.json";

/// A pass directory: file names and their content. Empty where nothing is to be rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassDir {
    /// Name and text of each file, the order of the passes included.
    pub files: BTreeMap<String, String>,
}

impl PassDir {
    /// Returns whether there is no pass.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Writes the passes of a task, given by its typed graphs. Kernels for which `choices` has no configuration get that of the
/// cost model.
pub fn write_passes(task: &[TypedGraph], target: Target, choices: &Choices) -> PassDir {
    let mut files = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for sites in plan_passes(task, target) {
        let name = format!("fuse_{}", names.len());
        files.insert(format!("{name}.py"), pass_file(&sites, choices));
        names.push(name);
    }
    if !names.is_empty() {
        let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        files.insert(ORDER_FILE.to_owned(), format!("[{}]\n", list.join(", ")));
    }
    PassDir { files }
}

/// The kernels of a task with the configurations that each can have, in the order of the graphs.
pub fn tunable_kernels(task: &[TypedGraph], target: Target) -> Vec<TunableKernel> {
    let passes = plan_passes(task, target);
    let sites = passes.iter().flatten();
    let mut kernels: Vec<TunableKernel> =
        sites.filter_map(|site| Some(TunableKernel::new(site.graph, site.program()?, site.target))).collect();
    kernels.sort_by_key(|kernel| kernel.graph);
    kernels
}
