//! Flags of `passnet dataset`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use passnet_dataset::{
    Table,
    hashes::Rung,
    store::GraphKind,
    suite::{CastRule, Shares},
};
use passnet_record::DType;

use super::shared::{Choice, OutputFormat, choice};

#[derive(Subcommand)]
pub(crate) enum DatasetCommand {
    /// Add sample or task folders to a dataset; the same command continues what was interrupted
    Import(ImportArgs),
    /// Drop duplicates and keep their paths
    Dedup(DedupArgs),
    /// Cut subgraphs out of all graphs
    Fold(FoldArgs),
    /// Group subgraphs into tasks and split them for evaluation and training
    Curate(CurateArgs),
    /// Remove graphs from a suite whose results cannot show whether a pass is right
    Prune(PruneArgs),
    /// Replace tasks of a suite that are beyond its shares by tasks of other suites
    Revise(ReviseArgs),
    /// Remove from a training split what suites evaluate
    Withhold(WithholdArgs),
    /// Count what a dataset holds
    Stats(StatsArgs),
    /// Show one sample
    Show(ShowArgs),
    /// List the samples that meet all conditions
    Query(QueryArgs),
    /// Write sample or task folders
    Export(ExportArgs),
    /// Run every graph once for shapes, statistics and variants of its values
    Annotate(AnnotateArgs),
    /// Count the kernels of prefixes of classical subgraphs; `fold --mode fusible` uses them
    Kernels(KernelsArgs),
    /// Describe suites in Markdown
    Card(CardArgs),
    /// Make the suites from sample folders: all stages at once; the same command continues what was interrupted
    BuildSuites(BuildSuitesArgs),
}

pub(super) const SAMPLE_TABLES: &[Choice<Table>] =
    &[("graphs", "", Table::Graphs), ("subgraphs", "", Table::Subgraphs)];
const TABLES: &[Choice<Table>] =
    &[("graphs", "", Table::Graphs), ("subgraphs", "", Table::Subgraphs), ("tasks", "", Table::Tasks)];
const LEVELS: &[Choice<Rung>] = &[
    ("text", "Text of `model.py`", Rung::Text),
    ("typed", "Structure, and shapes and dtypes of inputs", Rung::Typed),
    ("structure", "Structure: calls, constants, data flow", Rung::Structure),
    ("masked", "Structure without the values of integers", Rung::Masked),
    ("ops", "Op names in order", Rung::Ops),
];
/// Devices on which kernels are counted.
const COUNTING_DEVICES: &[Choice<&str>] = &[
    ("cpu", "Count the kernels that Inductor schedules for the CPU; nothing is compiled", "cpu"),
    ("cuda", "Count the kernels that the profiler sees on a GPU", "cuda"),
];
const CASTS: &[Choice<CastRule>] = &[
    (
        "provenance",
        "Inputs that change when all inputs of the full graph change; an explicit cast to float32 stays a cast to float32",
        CastRule::Provenance,
    ),
    ("published", "All inputs, as published", CastRule::Published),
];

#[derive(Args)]
pub(crate) struct ImportArgs {
    /// Folder with sample folders, at any depth; with `--tasks`, folder with task folders
    pub(crate) folder: PathBuf,
    /// The dataset
    #[arg(long)]
    pub(crate) out: PathBuf,
    /// Import task folders (`graph_list.txt`, `pass_dir/`, samples) instead of whole graphs
    #[arg(long)]
    pub(crate) tasks: bool,
    /// Kind of the samples of tasks: `single_op`, `fusible` or `classical`
    #[arg(long, default_value_t = GraphKind::Fusible, requires = "tasks")]
    pub(crate) kind: GraphKind,
}

#[derive(Args)]
pub(crate) struct DedupArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    #[arg(long, value_parser = choice(SAMPLE_TABLES), default_value = "graphs")]
    pub(crate) table: Table,
    /// Level at which graphs count as equal
    #[arg(long, value_parser = choice(LEVELS), default_value = "typed")]
    pub(crate) level: Rung,
    /// Write the table to this dataset instead of replacing it
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct FoldArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    /// Algorithm that finds ranges; docs/reference/folding.md describes both
    #[arg(long, value_enum, default_value_t = FoldMode::Canonical)]
    pub(crate) mode: FoldMode,
    /// Fewest ops of a subgraph
    #[arg(long, default_value_t = 4)]
    pub(crate) min_ops: u32,
    /// A subgraph has fewer ops than this
    #[arg(long, default_value_t = 64)]
    pub(crate) max_ops: u32,
    /// Canonical: distance between cuts outside loops, in ops
    #[arg(long, default_value_t = 16)]
    pub(crate) reach: u32,
    /// Compatible: longest sequence that is folded at once
    #[arg(long, default_value_t = 64)]
    pub(crate) window: usize,
    /// Compatible: folds after the first
    #[arg(long, default_value_t = 16)]
    pub(crate) folds: usize,
    /// Write the subgraphs to this dataset
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FoldMode {
    /// Each graph on its own
    Canonical,
    /// All graphs together, as published
    Compatible,
    /// Every op is a subgraph
    SingleOps,
    /// Subgraphs that a compiler fuses, by the counts of `kernels`
    Fusible,
}

#[derive(Args)]
pub(crate) struct CurateArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    /// Number of tasks for evaluation; all others are for training
    #[arg(long, default_value_t = 200)]
    pub(crate) eval: usize,
}

#[derive(Args)]
pub(crate) struct PruneArgs {
    /// Folder of the suite
    pub(crate) suite: PathBuf,
    /// Write the suite to this folder instead of replacing it
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

/// Shares of classes of tasks in a suite.
#[derive(Args)]
pub(crate) struct SharesArgs {
    /// Largest share of tasks of views only, or of fewer than 1,024 elements of inputs
    #[arg(long, value_name = "SHARE", default_value_t = 0.03)]
    pub(crate) trivial: f64,
    /// Least share of tasks of language models, as far as there are any
    #[arg(long, value_name = "SHARE", default_value_t = 0.4)]
    pub(crate) language: f64,
}

impl SharesArgs {
    pub(crate) fn shares(&self) -> Shares {
        Shares { trivial: self.trivial, language: self.language }
    }
}

#[derive(Args)]
pub(crate) struct ReviseArgs {
    /// Folder of the suite
    pub(crate) suite: PathBuf,
    /// Suites whose tasks may come in
    #[arg(long, value_name = "SUITE")]
    pub(crate) from: Vec<PathBuf>,
    /// Suites whose op sequences may not
    #[arg(long, value_name = "SUITE")]
    pub(crate) without: Vec<PathBuf>,
    /// Number of tasks
    #[arg(long)]
    pub(crate) tasks: usize,
    #[command(flatten)]
    pub(crate) shares: SharesArgs,
    /// Write the suite to this folder instead of replacing it
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct WithholdArgs {
    /// Folder of the training split
    pub(crate) train: PathBuf,
    /// Suites for evaluation
    #[arg(required = true)]
    pub(crate) suites: Vec<PathBuf>,
    /// Write the split to this folder instead of replacing it
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct StatsArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    #[arg(long, value_parser = choice(SAMPLE_TABLES), default_value = "graphs")]
    pub(crate) table: Table,
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(crate) format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    /// Path of the sample, or its end
    pub(crate) sample: String,
    #[arg(long, value_parser = choice(SAMPLE_TABLES), default_value = "graphs")]
    pub(crate) table: Table,
    /// Print this file instead of a summary
    #[arg(long)]
    pub(crate) file: Option<String>,
}

#[derive(Args)]
pub(crate) struct QueryArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    #[arg(long, value_parser = choice(SAMPLE_TABLES), default_value = "graphs")]
    pub(crate) table: Table,
    /// An op that occurs, e.g. `softmax` or `Tensor.view`; repeat for more
    #[arg(long)]
    pub(crate) op: Vec<String>,
    /// One input has this type
    #[arg(long)]
    pub(crate) dtype: Option<DType>,
    /// One input (of that type, if one is given) has at least this many bytes
    #[arg(long)]
    pub(crate) min_input_bytes: Option<u64>,
    /// Library that the model is from, e.g. `timm`
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// full, single_op, fusible or classical
    #[arg(long)]
    pub(crate) kind: Option<GraphKind>,
    /// Fewest ops
    #[arg(long)]
    pub(crate) min_ops: Option<usize>,
    /// Most ops
    #[arg(long)]
    pub(crate) max_ops: Option<usize>,
    /// Stop after this many
    #[arg(long)]
    pub(crate) limit: Option<usize>,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    /// `tasks` writes task folders and the subgraphs in their places
    #[arg(long, value_parser = choice(TABLES), default_value = "graphs")]
    pub(crate) table: Table,
    /// Folder to write to
    #[arg(long)]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct AnnotateArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    /// Graphs with more bytes of inputs are not run, only propagated
    #[arg(long, default_value_t = 1 << 30)]
    pub(crate) max_bytes: u64,
    /// Seconds for one graph
    #[arg(long, default_value_t = 300.0)]
    pub(crate) seconds: f64,
}

#[derive(Args)]
pub(crate) struct KernelsArgs {
    /// Folder of the dataset
    pub(crate) dataset: PathBuf,
    #[arg(long, value_parser = choice(COUNTING_DEVICES), default_value = "cpu")]
    pub(crate) device: &'static str,
    /// Compile every prefix, each by itself: the reference
    #[arg(long)]
    pub(crate) exhaustive: bool,
    /// Count at most this many subgraphs: those that cover most transitions of ops
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    pub(crate) most: usize,
    /// Pass over subgraphs of more ops
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    pub(crate) longest: usize,
}

#[derive(Args)]
pub(crate) struct CardArgs {
    /// Datasets with tasks
    #[arg(required = true)]
    pub(crate) suites: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct BuildSuitesArgs {
    /// Folders with sample folders
    #[arg(required = true)]
    pub(crate) samples: Vec<PathBuf>,
    /// Graphs whose path in the samples begins with this are for training only, and get no variants; @FILE: of the models
    /// that a file lists as for `extract`
    #[arg(long, value_name = "PREFIX")]
    pub(crate) training: Vec<String>,
    /// Dataset for what comes between; it may be deleted when the suites are done
    #[arg(long)]
    pub(crate) work: PathBuf,
    /// Folder for the suites
    #[arg(long)]
    pub(crate) out: PathBuf,
    /// Write the dataset card to this file
    #[arg(long)]
    pub(crate) card: Option<PathBuf>,
    /// Tasks of passbench-f
    #[arg(long, default_value_t = 200)]
    pub(crate) fusible: usize,
    /// Tasks of passbench-c
    #[arg(long, default_value_t = 200)]
    pub(crate) classical: usize,
    /// Tasks of passbench-s
    #[arg(long, default_value_t = 100)]
    pub(crate) single_op: usize,
    /// Tasks of passbench-b, from the backward graphs of models that were captured with `@mode=train`; 0 makes no such suite
    #[arg(long, default_value_t = 0)]
    pub(crate) backward: usize,
    #[command(flatten)]
    pub(crate) shares: SharesArgs,
    /// Most graphs of a task of passbench-f, variants included
    #[arg(long, default_value_t = 10)]
    pub(crate) graphs: usize,
    /// Most graphs of a task of the other suites for evaluation
    #[arg(long, default_value_t = 5)]
    pub(crate) other_graphs: usize,
    /// Most bytes of the inputs and values of a graph
    #[arg(long, default_value_t = 16 << 20)]
    pub(crate) max_bytes: u64,
    /// Device on which kernels are counted
    #[arg(long, value_parser = choice(COUNTING_DEVICES), default_value = "cpu")]
    pub(crate) device: &'static str,
    /// Selection of the float32 inputs that become float16 and bfloat16
    #[arg(long, value_parser = choice(CASTS), default_value = "provenance")]
    pub(crate) casts: CastRule,
    /// Count the kernels of at most this many classical subgraphs: those that cover most transitions of ops
    #[arg(long, default_value_t = 1_000)]
    pub(crate) counted: usize,
    /// Of those with at most this many ops: what a count costs grows with the length
    #[arg(long, default_value_t = 20)]
    pub(crate) counted_ops: usize,
    /// Compile every prefix of them instead of few
    #[arg(long)]
    pub(crate) exhaustive: bool,
}
