//! The whole way from the typed graphs of a task to the files of a pass directory.

use passnet_graph::{Target, TypedGraph};
use passnet_record::{ORDER_FILE, PassDirectory};

use crate::{
    back::{
        emit::pass_file,
        tuning::{Choices, TunableKernel},
    },
    plan::{
        select::{plan_judged_passes, plan_passes},
        site::Site,
    },
};

/// Writes the passes of a task, given by its typed graphs; a directory without files where nothing is to be rewritten.
/// Kernels for which `choices` has no configuration get that of the cost model.
pub fn write_passes(task: &[TypedGraph], target: Target, choices: &Choices) -> PassDirectory {
    directory_of(&plan_passes(task, target), choices)
}

/// Like [`write_passes`], but also operations whose roundings later ones enlarge, such as a normalisation before a
/// convolution in TF32. For a caller who compares each region with exact results: a model's results are then as precise
/// as PyTorch's, but not within a narrow tolerance of them.
pub fn write_judged_passes(task: &[TypedGraph], target: Target, choices: &Choices) -> PassDirectory {
    directory_of(&plan_judged_passes(task, target), choices)
}

fn directory_of(passes: &[Vec<Site>], choices: &Choices) -> PassDirectory {
    let names: Vec<String> = (0..passes.len()).map(|number| format!("fuse_{number}")).collect();
    let mut files: Vec<(String, String)> =
        names.iter().zip(passes).map(|(name, sites)| (format!("{name}.py"), pass_file(sites, choices))).collect();
    if !names.is_empty() {
        let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        files.push((ORDER_FILE.to_owned(), format!("[{}]\n", list.join(", "))));
    }
    // Names of files are plain and different.
    PassDirectory::new(files).expect("numbered names are paths of a pass directory")
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
