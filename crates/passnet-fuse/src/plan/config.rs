//! Configurations of a kernel for its target: the one that the cost model chooses, and others that can be measured.

use passnet_graph::Target;
use passnet_record::{KernelConfig, Nests, Tiles};

/// Returns the configuration that the cost model chooses.
pub fn default_config(target: Target) -> KernelConfig {
    match target {
        Target::Cpu => KernelConfig::Nests(Nests::default()),
        Target::Cuda => KernelConfig::Tiles(Tiles::default()),
    }
}

/// Returns the options of loops, or the default if the configuration is for tiles.
pub(crate) fn nests_of(config: KernelConfig) -> Nests {
    match config {
        KernelConfig::Nests(nests) => nests,
        KernelConfig::Tiles(_) => Nests::default(),
    }
}

/// Returns the options of tiles, or the default if the configuration is for loops.
pub(crate) fn tiles_of(config: KernelConfig) -> Tiles {
    match config {
        KernelConfig::Tiles(tiles) => tiles,
        KernelConfig::Nests(_) => Tiles::default(),
    }
}

/// Returns all configurations except the default.
pub(crate) fn other_configs(target: Target) -> Vec<KernelConfig> {
    match target {
        Target::Cpu => {
            let others = [(true, false), (false, true), (false, false)];
            others.map(|(vectors, keeps_rows)| KernelConfig::Nests(Nests { vectors, keeps_rows })).to_vec()
        }
        Target::Cuda => {
            let others = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (2, 1), (-1, -1)];
            others.map(|(elements, warps)| KernelConfig::Tiles(Tiles { elements, warps })).to_vec()
        }
    }
}
