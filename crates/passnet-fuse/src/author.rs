//! Task in, pass directory out.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::NodeId;

use crate::{
    config::{self, Choices, Config, Place},
    emit::pass_file,
    fragile::fragile,
    lower::Call,
    pattern::{Pattern, pattern},
    region::{Copies, Region, is_view_node, regions},
    rehearsal::rehearsed,
    stage::{Form, Program, schedule},
    typed::TypedGraph,
    views::{View, lone_view, view_regions},
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
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) region: Region,
    pub(crate) work: Work,
    pub(crate) pattern: Pattern,
    /// Position of the graph in the task.
    pub(crate) graph: usize,
    /// Where the region's tensors are: in host memory also where the graph runs on another device.
    pub(crate) target: Target,
    pub(crate) config: Config,
}

/// What stands for a region.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Kernels(Program),
    Views(Vec<View>),
    /// The one view itself: nothing is to be gained, but a graph that nothing matches counts as failed.
    Same,
}

impl Site {
    pub(crate) fn new(
        typed: &TypedGraph,
        graph: usize,
        region: Region,
        work: Work,
        target: Target,
        choices: &Choices,
    ) -> Self {
        let pattern = pattern(typed, &region);
        let chosen = match &work {
            Work::Kernels(program) if !choices.is_empty() => choices.get(&config::key(program, target)).copied(),
            _ => None,
        };
        let config = chosen.unwrap_or_else(|| Config::model(target));
        Self { region, work, pattern, graph, target, config }
    }

    /// What sites have in common that share a pass: the pattern, and which results are in place or views of which inputs.
    pub(crate) fn key(&self) -> Vec<String> {
        let mut key = self.pattern.pieces.clone();
        key.push(format!("{:?}", self.region.outputs.iter().map(|output| output.input).collect::<Vec<_>>()));
        if let Work::Views(views) = &self.work {
            key.push(format!("{:?}", views.iter().map(|view| view.input).collect::<Vec<_>>()));
        }
        if let Work::Same = self.work {
            // A replacement may call methods with numbers of its own only.
            key.extend(self.pattern.constants.iter().cloned());
        }
        key.push(format!("{:?}", self.target));
        key
    }

    /// What the kernels of the site compute. Only sites with kernels are printed as such.
    pub(crate) fn program(&self) -> &Program {
        match &self.work {
            Work::Kernels(program) => program,
            Work::Views(_) | Work::Same => unreachable!("views are printed without kernels"),
        }
    }

    pub(crate) fn views(&self) -> Option<&[View]> {
        match &self.work {
            Work::Kernels(_) | Work::Same => None,
            Work::Views(views) => Some(views),
        }
    }
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
    pub(crate) const fn form(self) -> Form {
        match self {
            Self::Cpu => Form::Nests,
            Self::Cuda => Form::Tiles,
        }
    }
}

/// Writes the passes of a task, given by its typed graphs, as the model has them.
pub fn author(task: &[TypedGraph], target: Target) -> PassDir {
    author_with(task, target, &Choices::new())
}

/// As [`author`], with other configurations for some kernels.
pub fn author_with(task: &[TypedGraph], target: Target, choices: &Choices) -> PassDir {
    let mut files = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for sites in groups(task, target, choices) {
        let name = format!("fuse_{}", names.len());
        files.insert(format!("{name}.py"), pass_file(&sites));
        names.push(name);
    }
    if !names.is_empty() {
        let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        files.insert(ORDER_FILE.to_owned(), format!("[{}]\n", list.join(", ")));
    }
    PassDir { files }
}

/// The kernels of a task, graph by graph.
pub fn places(task: &[TypedGraph], target: Target) -> Vec<Place> {
    let mut places: Vec<Place> = groups(task, target, &Choices::new())
        .iter()
        .flatten()
        .filter_map(|site| match &site.work {
            Work::Kernels(program) => Some(Place::new(site.graph, program, site.target)),
            Work::Views(_) | Work::Same => None,
        })
        .collect();
    places.sort_by_key(|place| place.graph);
    places
}

/// The places that are rewritten, those of one pass together, in the order of the passes.
pub(crate) fn groups(task: &[TypedGraph], target: Target, choices: &Choices) -> Vec<Vec<Site>> {
    let mut groups: BTreeMap<Vec<String>, Vec<Site>> = BTreeMap::new();
    let mut order: Vec<Vec<String>> = Vec::new();
    let kept = fragile(task, target);
    for (graph, (typed, kept)) in task.iter().zip(&kept).enumerate() {
        for (region, work, target) in everywhere(typed, target, kept) {
            let site = Site::new(typed, graph, region, work, target, choices);
            let key = site.key();
            if !order.contains(&key) {
                order.push(key.clone());
            }
            groups.entry(key).or_default().push(site);
        }
    }
    let chosen: Vec<Vec<String>> = chosen(&groups, &order).into_iter().cloned().collect();
    rehearsed(task, chosen.iter().filter_map(|key| groups.remove(key)).collect(), target, &kept, choices)
}

/// What could be rewritten in a graph, and where it runs.
fn everywhere(typed: &TypedGraph, target: Target, kept: &BTreeSet<NodeId>) -> Vec<(Region, Work, Target)> {
    let on_host = (target == Target::Cuda).then(|| typed.on_host()).flatten();
    let on = |typed: &TypedGraph, target: Target| {
        found(typed, target, kept).into_iter().map(move |(region, work)| (region, work, target)).collect::<Vec<_>>()
    };
    let mut all = on(typed, target);
    if let Some(typed) = on_host {
        all.extend(on(&typed, Target::Cpu));
    }
    all
}

/// What could be rewritten in a graph, without the nodes that are kept.
fn found(typed: &TypedGraph, target: Target, kept: &BTreeSet<NodeId>) -> Vec<(Region, Work)> {
    let scheduled = |region: Region| {
        let program = schedule(&region, target.form())?;
        Some((region, Work::Kernels(program)))
    };
    let (slight, others): (Vec<Region>, Vec<Region>) =
        regions(typed, target, kept, Copies::Never).into_iter().partition(|region| is_slight(typed, region, target));
    let mut found: Vec<(Region, Work)> = others.into_iter().filter_map(scheduled).collect();
    let taken: BTreeSet<NodeId> = found.iter().flat_map(|(region, _)| region.nodes.iter().copied()).collect();
    // A call of the pass costs about as much as a view of PyTorch, and each of its results as well.
    let pays = |region: &Region| region.nodes.len() >= region.outputs.len() + 2;
    let views = view_regions(typed, target, kept, &taken).into_iter().filter(|(region, _)| pays(region));
    found.extend(views.map(|(region, views)| (region, Work::Views(views))));
    if found.is_empty() {
        found.extend(lone_view(typed, target, kept).map(|region| (region, Work::Same)));
    }
    if found.is_empty() {
        let views = view_regions(typed, target, kept, &taken).into_iter();
        found.extend(views.map(|(region, views)| (region, Work::Views(views))));
    }
    let bytes = |region: &Region| region.outputs.iter().map(|output| output.ty.nbytes()).sum::<i64>();
    if found.is_empty() {
        // One match is enough.
        found.extend(slight.into_iter().filter_map(scheduled).min_by_key(|(region, _)| bytes(region)));
    }
    if found.is_empty() {
        found.extend(regions(typed, target, kept, Copies::Unseen).into_iter().min_by_key(bytes).and_then(scheduled));
    }
    found
}

/// Operations for which eager mode launches several kernels, or one that reads memory badly.
const SLOW_ALONE: &[&str] = &[
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "bmm",
    "cumsum",
    "group_norm",
    "linear",
    "matmul",
    "max_pool2d",
    "mean",
    "pad",
    "sum",
    "unfold",
];

/// Whether a region is one computation of eager mode and few views, of which several are results: on a device memory for each
/// of them costs the host more than the views, and is written besides.
fn is_slight(typed: &TypedGraph, region: &Region, target: Target) -> bool {
    let computes = |node: &&NodeId| !is_view_node(typed, **node);
    let is_slow = |node: &NodeId| {
        let graph = typed.graph();
        Call::of(graph, graph.node(*node)).is_some_and(|call| SLOW_ALONE.contains(&call.name))
    };
    target == Target::Cuda
        && region.outputs.len() > 1
        && region.nodes.len() <= 1 + 2 * region.outputs.len()
        && region.nodes.iter().filter(computes).count() <= 1
        && !region.nodes.iter().any(is_slow)
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
