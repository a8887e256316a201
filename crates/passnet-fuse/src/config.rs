//! What may be chosen about a kernel without changing what it computes: by a model of the processor, or by measuring.

use std::{collections::BTreeMap, fmt};

use passnet_record::ContentId;
use serde::{Deserialize, Serialize};

use crate::{
    author::Target,
    print::{cpp, merge::split, triton},
    stage::Program,
};

/// How a kernel is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Config {
    /// As C++.
    Nests(Nests),
    /// As Triton.
    Tiles(Tiles),
}

/// How loops are printed; the default is what the model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Nests {
    /// Whether inner loops are written with vectors; else they are left to the compiler.
    pub vectors: bool,
    /// Whether what several levels of a row compute alike is kept in memory; else it is computed again.
    pub keeps_rows: bool,
}

impl Default for Nests {
    fn default() -> Self {
        Self { vectors: true, keeps_rows: true }
    }
}

/// By which powers of two tiles differ from what the model says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tiles {
    /// More elements in a program; fewer where negative.
    pub elements: i8,
    /// More warps; fewer where negative.
    pub warps: i8,
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nests(Nests { vectors, keeps_rows }) => {
                let loops = if *vectors { "vectors" } else { "loops for the compiler" };
                let rows = if *keeps_rows { "rows kept" } else { "rows computed again" };
                write!(f, "{loops}, {rows}")
            }
            Self::Tiles(Tiles { elements, warps }) => {
                write!(f, "2^{elements} times the elements and 2^{warps} times the warps")
            }
        }
    }
}

impl Config {
    /// What the model says.
    pub fn model(target: Target) -> Self {
        match target {
            Target::Cpu => Self::Nests(Nests::default()),
            Target::Cuda => Self::Tiles(Tiles::default()),
        }
    }

    /// How loops are printed: the model's way where the configuration is for tiles.
    pub(crate) fn nests(self) -> Nests {
        match self {
            Self::Nests(nests) => nests,
            Self::Tiles(_) => Nests::default(),
        }
    }

    /// How tiles are chosen: the model's way where the configuration is for loops.
    pub(crate) fn tiles(self) -> Tiles {
        match self {
            Self::Tiles(tiles) => tiles,
            Self::Nests(_) => Tiles::default(),
        }
    }

    fn all(target: Target) -> Vec<Self> {
        match target {
            Target::Cpu => {
                let others = [(true, false), (false, true), (false, false)];
                others.map(|(vectors, keeps_rows)| Self::Nests(Nests { vectors, keeps_rows })).to_vec()
            }
            Target::Cuda => {
                let others = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (2, 1), (-1, -1)];
                others.map(|(elements, warps)| Self::Tiles(Tiles { elements, warps })).to_vec()
            }
        }
    }
}

/// What a kernel is, wherever it occurs: equal keys stand for equal code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KernelKey {
    /// Name of the code as the model prints it, without its sizes and with the types of its tensors.
    pub code: ContentId,
    /// Its sizes, in the order in which they occur: the signature of its shapes.
    pub sizes: Vec<i64>,
}

/// Configurations of kernels, for those where it is not the model's.
pub type Choices = BTreeMap<KernelKey, Config>;

/// A kernel of a task, and how else it could be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Position of the graph in the task.
    pub graph: usize,
    /// The kernel.
    pub key: KernelKey,
    /// Configurations that print something else than the model's and than each other.
    pub candidates: Vec<Config>,
}

impl Place {
    pub(crate) fn new(graph: usize, program: &Program, target: Target) -> Self {
        let printed = |config| (printed(program, config), config);
        let mut seen = vec![printed(Config::model(target))];
        for config in Config::all(target) {
            let other = printed(config);
            if seen.iter().all(|(text, _)| *text != other.0) {
                seen.push(other);
            }
        }
        let candidates = seen[1..].iter().map(|(_, config)| *config).collect();
        Self { graph, key: key(program, target), candidates }
    }
}

/// The key of a program's kernels on a target.
pub(crate) fn key(program: &Program, target: Target) -> KernelKey {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut sizes = Vec::new();
    for text in printed(program, Config::model(target)) {
        let (skeleton, own) = split(&text);
        parts.extend(skeleton.pieces().iter().map(|piece| piece.as_bytes().to_vec()));
        sizes.extend(own);
    }
    KernelKey { code: ContentId::of_parts(parts.iter().map(Vec::as_slice)), sizes }
}

/// All that is printed of a program, with marks around sizes.
fn printed(program: &Program, config: Config) -> Vec<String> {
    match config {
        Config::Nests(nests) => [vec![cpp::body(program, nests)], cpp::parameters(program)].concat(),
        Config::Tiles(tiles) => {
            let types = program.buffers.iter().map(|buffer| format!("{:?}", buffer.dtype));
            let kernels = triton::kernels(program, tiles);
            kernels
                .into_iter()
                .map(|kernel| format!("{} {}\n{}", kernel.tile.programs(), kernel.tile.warps(), kernel.body))
                .chain(types)
                .collect()
        }
    }
}
