//! Task in, pass directory out.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    emit::pass_file,
    pattern::{Pattern, pattern},
    region::{Copies, Region, regions},
    stage::{Form, Program, schedule},
    typed::TypedGraph,
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
    /// Whether the author has nothing to offer.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// A place where a kernel stands for a part of a graph.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) region: Region,
    pub(crate) program: Program,
    pub(crate) pattern: Pattern,
    /// Position of the graph in the task.
    pub(crate) graph: usize,
}

/// What the passes are to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// C++ on the processor.
    Cpu,
    /// Triton on CUDA devices.
    Cuda,
}

impl Target {
    const fn form(self) -> Form {
        match self {
            Self::Cpu => Form::Nests,
            Self::Cuda => Form::Tiles,
        }
    }
}

/// Writes the passes of a task, given by its typed graphs.
pub fn author(task: &[TypedGraph], target: Target) -> PassDir {
    let mut groups: BTreeMap<Vec<String>, Vec<Site>> = BTreeMap::new();
    let mut order: Vec<Vec<String>> = Vec::new();
    for (number, typed) in task.iter().enumerate() {
        let mut found = regions(typed, target, Copies::Never);
        if found.is_empty() {
            let bytes = |region: &Region| region.outputs.iter().map(|output| output.ty.nbytes()).sum::<i64>();
            found = regions(typed, target, Copies::Unseen).into_iter().min_by_key(bytes).into_iter().collect();
        }
        for region in found {
            let Some(program) = schedule(&region, target.form()) else { continue };
            if region.inputs.is_empty() {
                continue;
            }
            let pattern = pattern(typed, &region);
            let mut key = pattern.pieces.clone();
            key.push(format!("{:?}", region.outputs.iter().map(|output| output.input).collect::<Vec<_>>()));
            if !order.contains(&key) {
                order.push(key.clone());
            }
            groups.entry(key).or_default().push(Site { region, program, pattern, graph: number });
        }
    }
    let mut files = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for key in chosen(&groups, &order) {
        let Some(sites) = groups.get(key) else { continue };
        let name = format!("fuse_{}", names.len());
        files.insert(format!("{name}.py"), pass_file(task, sites, target));
        names.push(name);
    }
    if !names.is_empty() {
        let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        files.insert(ORDER_FILE.to_owned(), format!("[{}]\n", list.join(", ")));
    }
    PassDir { files }
}

/// The patterns to rewrite: those of several operations, and for graphs without any of these one of a single operation,
/// because a graph that nothing matches counts as failed.
fn chosen<'k>(groups: &BTreeMap<Vec<String>, Vec<Site>>, order: &'k [Vec<String>]) -> Vec<&'k Vec<String>> {
    let mut covered: BTreeSet<usize> = BTreeSet::new();
    let mut chosen = Vec::new();
    for wants_several in [true, false] {
        for key in order {
            let Some(sites) = groups.get(key) else { continue };
            let graphs: BTreeSet<usize> = sites.iter().map(|site| site.graph).collect();
            let has_several = sites.iter().any(|site| site.region.nodes.len() > 1);
            if has_several == wants_several && (wants_several || !graphs.is_subset(&covered)) {
                covered.extend(graphs);
                chosen.push(key);
            }
        }
    }
    chosen
}
