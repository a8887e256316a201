//! Kernels, identified by their code, and the configurations that each kernel can have.

use std::collections::BTreeMap;

use passnet_graph::Target;
use passnet_record::{ContentId, KernelConfig, KernelKey};

use super::print::{cpp, merge::split, triton};
use crate::plan::{
    config::{default_config, other_configs},
    site::PassSite,
    stage::Program,
};

/// Configurations that differ from the default, by kernel.
pub type Choices = BTreeMap<KernelKey, KernelConfig>;

/// A kernel of a task, with the other configurations that it can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunableKernel {
    /// Position of the graph in the task.
    pub graph: usize,
    pub key: KernelKey,
    /// Configurations whose code differs from the default and from each other.
    pub candidates: Vec<KernelConfig>,
}

impl TunableKernel {
    pub(crate) fn new(graph: usize, program: &Program, target: Target) -> Self {
        let printed = |config| (printed(program, config), config);
        // Many configurations print the same code, for example all tiles that are larger than the tensor. Each text is measured
        // once.
        let mut seen = vec![printed(default_config(target))];
        for config in other_configs(target) {
            let other = printed(config);
            if seen.iter().all(|(text, _)| *text != other.0) {
                seen.push(other);
            }
        }
        let candidates = seen[1..].iter().map(|(_, config)| *config).collect();
        Self { graph, key: key(program, target), candidates }
    }
}

/// Returns the configuration of a site's kernels.
pub(crate) fn config_of(site: &PassSite, choices: &Choices) -> KernelConfig {
    let chosen = site.program().filter(|_| !choices.is_empty());
    let chosen = chosen.and_then(|program| choices.get(&key(program, site.target)).copied());
    chosen.unwrap_or_else(|| default_config(site.target))
}

/// Returns the key of a program's kernels on a target.
fn key(program: &Program, target: Target) -> KernelKey {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut sizes = Vec::new();
    for text in printed(program, default_config(target)) {
        let (skeleton, own) = split(&without_comments(&text));
        parts.extend(skeleton.pieces().iter().map(|piece| piece.as_bytes().to_vec()));
        sizes.extend(own);
    }
    KernelKey { code: ContentId::of_parts(parts.iter().map(Vec::as_slice)), sizes }
}

/// Returns code without its lines that are comments: they name operations, which make a kernel no other kernel.
fn without_comments(text: &str) -> String {
    let is_code = |line: &&str| !line.trim_start().starts_with("// ") && !line.trim_start().starts_with("# ");
    text.split_inclusive('\n').filter(is_code).collect()
}

/// Returns all code of a program, with marks around sizes.
fn printed(program: &Program, config: KernelConfig) -> Vec<String> {
    match config {
        KernelConfig::Nests(nests) => {
            let bodies = cpp::functions::functions(program, nests, true).into_iter().map(|function| function.body);
            bodies.chain(cpp::parameters(program)).collect()
        }
        KernelConfig::Tiles(tiles) => {
            let types = program.buffers.iter().map(|buffer| format!("{:?}", buffer.dtype));
            let kernels = triton::kernels(program, tiles);
            kernels
                .into_iter()
                .map(|kernel| format!("{} {}\n{}", kernel.programs, kernel.warps, kernel.body))
                .chain(types)
                .collect()
        }
    }
}
