//! Flags of `passnet dataset`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use passnet_dataset::{
    Table,
    hashes::Rung,
    store::GraphKind,
    suite::{CastRule, EVALUATED},
};
use passnet_record::DType;

use super::{
    hub::UploadArgs,
    shared::{Choice, OutputFormat, above_zero, choice, share},
    suites::{CardArgs, LeaksArgs, PruneArgs, ReviseArgs, SharesArgs, SplitArgs, WithholdArgs},
    workers::WorkerArgs,
};

#[derive(Subcommand)]
pub enum DatasetCommand {
    /// Add sample or task folders to a dataset; run the same command again to resume
    Import(ImportArgs),
    /// Drop duplicate graphs, and keep their paths
    Dedup(DedupArgs),
    /// Cut subgraphs out of graphs
    Fold(FoldArgs),
    /// Group subgraphs into tasks, and split them into evaluation and training
    Curate(CurateArgs),
    /// Remove graphs whose results cannot show whether a pass is correct
    Prune(PruneArgs),
    /// Replace trivial tasks of a suite, and raise its share of language models
    Revise(ReviseArgs),
    /// Remove the op sequences of evaluation suites from a training split
    Withhold(WithholdArgs),
    /// Compare evaluation suites with a training split
    Leaks(LeaksArgs),
    /// Count graphs, ops, types and sizes
    Stats(StatsArgs),
    /// Show one sample
    Show(ShowArgs),
    /// List the samples that meet all conditions
    Query(QueryArgs),
    /// Write the samples or tasks of a dataset as folders
    Export(ExportArgs),
    /// Run every graph once, to record shapes, statistics and variants
    Annotate(AnnotateArgs),
    /// Count the kernels of prefixes of subgraphs; `fold --mode fusible` needs the counts
    Kernels(KernelsArgs),
    /// Print the dataset card of suites, as Markdown
    Card(CardArgs),
    /// Upload a dataset or suite to a hub; run the same command again to resume
    Upload(UploadArgs),
    /// Build suites from samples, all stages at once; run the same command again to resume
    BuildSuites(BuildSuitesArgs),
}

// Two lists, because only `export` can handle tasks: the other commands read samples.
pub(crate) const SAMPLE_TABLES: &[Choice<Table>] =
    &[("graphs", "", Table::Graphs), ("subgraphs", "", Table::Subgraphs)];
const TABLES: &[Choice<Table>] =
    &[("graphs", "", Table::Graphs), ("subgraphs", "", Table::Subgraphs), ("tasks", "", Table::Tasks)];
const LEVELS: &[Choice<Rung>] = &[
    ("text", "Equal text of `model.py`", Rung::Text),
    ("typed", "Equal structure, and equal shapes and dtypes of inputs", Rung::Typed),
    ("structure", "Equal calls, constants and data flow", Rung::Structure),
    ("masked", "Equal structure, with any values of integers", Rung::Masked),
    ("ops", "Equal op names in order", Rung::Ops),
];
/// Devices on which kernels are counted.
const COUNTING_DEVICES: &[Choice<&str>] = &[
    ("cpu", "Count the kernels that Inductor schedules for the CPU; nothing is compiled", "cpu"),
    ("cuda", "Count the kernels that the profiler sees on a GPU", "cuda"),
];
const CASTS: &[Choice<CastRule>] = &[
    ("provenance", "Inputs whose dtype follows from the dtypes of the whole model's inputs", CastRule::Provenance),
    ("published", "All float32 inputs, like the published suites", CastRule::Published),
];

#[derive(Args)]
pub struct ImportArgs {
    /// Folder with samples at any depth; with --tasks, a folder of task folders
    pub folder: PathBuf,
    /// Dataset to add to; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Import task folders (`graph_list.txt`, `pass_dir/`, samples) instead of whole graphs
    #[arg(long)]
    pub tasks: bool,
    /// With --tasks: kind of the samples (single_op, fusible or classical)
    #[arg(long, default_value_t = GraphKind::Fusible, requires = "tasks")]
    pub kind: GraphKind,
}

#[derive(Args)]
pub struct DedupArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Table to read
    #[arg(long, value_parser = choice(SAMPLE_TABLES), default_value = "graphs")]
    pub table: Table,
    /// Property that makes two samples duplicates if it is equal
    #[arg(long, value_parser = choice(LEVELS), default_value = "typed")]
    pub level: Rung,
    /// Write the table to DIR instead of replacing it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct FoldArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Algorithm that selects ranges of ops (docs/reference/folding.md)
    #[arg(long, value_enum, default_value_t = FoldMode::Canonical)]
    pub mode: FoldMode,
    /// Smallest number of ops in a subgraph
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub min_ops: u32,
    /// Upper limit on the number of ops in a subgraph, exclusive
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub max_ops: u32,
    /// Canonical mode: smallest distance between cuts outside of loops, in ops
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub reach: u32,
    /// Compatible mode: longest sequence that is folded at once, in ops
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub window: usize,
    /// Compatible mode: number of folds after the first
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub folds: usize,
    /// Write the subgraphs to DIR [default: the same dataset]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FoldMode {
    /// Fold each graph by itself
    Canonical,
    /// Fold all graphs together, like the published algorithm
    Compatible,
    /// Make every op a subgraph
    SingleOps,
    /// Select ranges that a compiler fuses; needs the counts of `dataset kernels`
    Fusible,
}

#[derive(Args)]
pub struct CurateArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Number of tasks for evaluation; the others are for training
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub eval: usize,
}

#[derive(Args)]
pub struct StatsArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Table to read
    #[arg(long, value_parser = choice(SAMPLE_TABLES), default_value = "graphs")]
    pub table: Table,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub format: OutputFormat,
}

#[derive(Args)]
pub struct ShowArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Path of the sample, or the end of its path
    pub sample: String,
    /// Table to read
    #[arg(long, value_parser = choice(SAMPLE_TABLES), default_value = "graphs")]
    pub table: Table,
    /// Print this file of the sample instead of a summary
    #[arg(long, value_name = "NAME")]
    pub file: Option<String>,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  passnet dataset query suites/passbench-c --table subgraphs --op softmax --dtype float16 --min-input-bytes 1000000"
)]
pub struct QueryArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Table to read
    #[arg(long, value_parser = choice(SAMPLE_TABLES), default_value = "graphs")]
    pub table: Table,
    /// Op in the graph, for example `softmax` or `Tensor.view`; may be repeated
    #[arg(long, value_name = "NAME")]
    pub op: Vec<String>,
    /// Dtype of an input, for example `float16`
    #[arg(long)]
    pub dtype: Option<DType>,
    /// Smallest size of an input (of type DTYPE if given), in bytes
    #[arg(long, value_name = "BYTES")]
    pub min_input_bytes: Option<u64>,
    /// Library of the model, for example `timm`
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Kind of graph: full, single_op, fusible or classical
    #[arg(long)]
    pub kind: Option<GraphKind>,
    /// Smallest number of ops
    #[arg(long, value_name = "N")]
    pub min_ops: Option<usize>,
    /// Largest number of ops
    #[arg(long, value_name = "N")]
    pub max_ops: Option<usize>,
    /// Stop after N samples
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

#[derive(Args)]
pub struct ExportArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Table to export; `tasks` writes task folders with their subgraphs
    #[arg(long, value_parser = choice(TABLES), default_value = "graphs")]
    pub table: Table,
    /// Directory to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(Args)]
pub struct AnnotateArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Largest size of the inputs of a graph that is run, in bytes; shapes of larger graphs are computed without running them
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    pub max_bytes: u64,
    /// Time limit for each graph, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = above_zero, default_value = "300")]
    pub seconds: f64,
    /// Also compute the graph's shapes at ten other sizes and its dtypes in half precision; `build-suites` does this for the graphs
    /// that it chooses
    #[arg(long)]
    pub variants: bool,
    #[command(flatten)]
    pub workers: WorkerArgs,
}

#[derive(Args)]
pub struct KernelsArgs {
    /// Folder of the dataset
    pub dataset: PathBuf,
    /// Device to count kernels on
    #[arg(long, value_parser = choice(COUNTING_DEVICES), default_value = "cpu")]
    pub device: &'static str,
    /// Compile every prefix instead of estimating some counts; slower
    #[arg(long)]
    pub exhaustive: bool,
    /// Count the kernels of at most N subgraphs, those with the most pairs of consecutive ops that others lack [default: all]
    // The help says `all` instead of a number with twenty digits.
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    pub most: usize,
    /// Skip subgraphs of more than N ops [default: no limit]
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    pub longest: usize,
    #[command(flatten)]
    pub workers: WorkerArgs,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  passnet dataset build-suites samples --work work --out suites --fusible 20 --classical 20 --single-op 10"
)]
pub struct BuildSuitesArgs {
    /// Folders of samples
    #[arg(required = true)]
    pub samples: Vec<PathBuf>,
    /// Use graphs whose path begins with PREFIX only for training; @FILE stands for the models in a list for `extract`; may be
    /// repeated
    #[arg(long, value_name = "PREFIX")]
    pub training: Vec<String>,
    #[command(flatten)]
    pub split: SplitArgs,
    /// With --split model or family: share of the models or families for evaluation, from 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = EVALUATED)]
    pub evaluated: f64,
    /// Directory for intermediate results; can be deleted when the suites are complete
    #[arg(long, value_name = "DIR")]
    pub work: PathBuf,
    /// Directory for the suites
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Write the dataset card to FILE
    #[arg(long, value_name = "FILE")]
    pub card: Option<PathBuf>,
    /// Number of tasks in passbench-f (fusible subgraphs)
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub fusible: usize,
    /// Number of tasks in passbench-c (classical subgraphs)
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub classical: usize,
    /// Number of tasks in passbench-s (single ops)
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub single_op: usize,
    /// Number of tasks in passbench-b (backward graphs of models captured with `@mode=train`)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub backward: usize,
    /// Largest number of graphs in a task of passbench-f, variants included
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub graphs: usize,
    /// Largest number of graphs in a task of the other suites for evaluation
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub other_graphs: usize,
    /// Largest size of all values of a graph together, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20)]
    pub max_bytes: u64,
    /// Device to count kernels on
    #[arg(long, value_parser = choice(COUNTING_DEVICES), default_value = "cpu")]
    pub device: &'static str,
    /// Inputs that become float16 and bfloat16 in variants
    #[arg(long, value_name = "RULE", value_parser = choice(CASTS), default_value = "provenance")]
    pub casts: CastRule,
    /// Count the kernels of at most N classical subgraphs
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub counted: usize,
    /// Count the kernels only of subgraphs with at most N ops; long ones are slow to count
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub counted_ops: usize,
    /// Compile every prefix instead of estimating some kernel counts; slower
    #[arg(long)]
    pub exhaustive: bool,
    /// Build the suites for evaluation only; the training split takes most of the time
    #[arg(long)]
    pub no_training: bool,
    #[command(flatten)]
    pub shares: SharesArgs,
    #[command(flatten)]
    pub workers: WorkerArgs,
}
