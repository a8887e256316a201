//! The recipe of the published suites: runs all stages from sample folders to suites in one call.

use std::{fmt, io, path::PathBuf};

use fs_err as fs;
use passnet_record::counted;

use crate::{
    Dataset, SkippedData, Table,
    annotate::{Annotated, AnnotationLimits, annotate},
    dedup::{Deduplicated, dedup},
    fold::{BoundsError, CanonicalSettings, CompatibleSettings, FoldPolicy, SizeBounds},
    hashes::Rung,
    import::{Transfer, TransferError, import_graphs},
    kernels::{CountSettings, Counted, count_kernels},
    mine::{Method, Mined, mine},
    store::{GraphKind, TableError},
    suite::{
        Built, Leak, LeakReport, Phase, SuiteLeaks, SuiteLimits, SuitePlan, TRAIN, build, front_page, leak_report,
        leaks,
    },
};

/// Scale of a canonical folding whose subgraphs are for training only.
struct TrainingScale {
    /// Reach of the folding: distance of cuts outside loops.
    reach: u32,
    /// Least number of ops of a subgraph.
    min_ops: u32,
    /// Largest number of ops of a subgraph, plus one.
    end_ops: u32,
}

const TRAINING_SCALES: [TrainingScale; 5] = [
    TrainingScale { reach: 6, min_ops: 4, end_ops: 24 },
    TrainingScale { reach: 3, min_ops: 3, end_ops: 10 },
    TrainingScale { reach: 2, min_ops: 2, end_ops: 6 },
    TrainingScale { reach: 4, min_ops: 2, end_ops: 12 },
    TrainingScale { reach: 8, min_ops: 6, end_ops: 40 },
];

/// Window of the published folding, whose subgraphs are also for training only. It is the largest number of ops of a subgraph,
/// plus one.
const TRAINING_WINDOW: u32 = 64;
/// Number of folds of the published folding.
const TRAINING_FOLDS: usize = 12;
/// Least number of ops of a subgraph of the published folding.
const TRAINING_MIN_OPS: u32 = 2;

pub use crate::annotate::Runners;

/// Settings of [`build_suites`].
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Folders with sample folders.
    pub samples: Vec<PathBuf>,
    /// Suites for evaluation, in the order in which they choose their tasks.
    pub plans: Vec<SuitePlan>,
    /// Settings of the stage that counts kernels: subgraphs and device.
    pub counting: CountSettings,
    /// Limits for the graphs of all suites. Graphs that are for training only get no variants.
    pub bounds: SuiteLimits,
}

/// Result of a stage, or its progress.
#[derive(Debug)]
pub enum StageProgress<'a> {
    /// Samples of one folder were imported.
    Imported(&'a Transfer),
    /// Duplicates were dropped.
    Deduplicated(&'a Deduplicated),
    /// Graphs were annotated.
    Annotated(&'a Annotated),
    /// Subgraphs of a kind were cut.
    Mined(&'a str, &'a Mined),
    /// Kernels were counted.
    Counted(&'a Counted),
    /// Suites were built.
    Built(&'a Built),
    /// The evaluation suites were compared with the training split.
    Compared(&'a Leak),
    /// Op sequences of evaluation that contain sequences of training, or are contained in them.
    Resembling(&'a LeakReport),
    /// A stage is in progress: its name, the number of items done, the number of all items.
    Progress(&'static str, usize, usize),
    /// Remark of the last stage.
    Remark(&'a str),
}

impl fmt::Display for StageProgress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Imported(transfer) => {
                write!(f, "{} imported, {} already existed", counted(transfer.samples, "graph"), transfer.present)
            }
            Self::Deduplicated(found) => {
                write!(f, "{} of {} kept after deduplication", found.kept, counted(found.rows, "graph"))
            }
            Self::Annotated(found) => found.fmt(f),
            Self::Mined(kind, mined) => write!(
                f,
                "{} in {} ({} more left out: a value at their boundary is not a tensor); {:.1}% of ops covered",
                counted(mined.subgraphs, &format!("distinct {kind} subgraph")),
                counted(mined.ranges - mined.open, "range"),
                mined.open,
                100.0 * mined.covered as f64 / mined.ops.max(1) as f64
            ),
            Self::Counted(found) => found.fmt(f),
            Self::Built(built) => {
                let suite = |(name, tasks, graphs): &(String, usize, usize)| {
                    format!("{name}: {}, {}", counted(*tasks, "task"), counted(*graphs, "graph"))
                };
                f.write_str(&built.suites.iter().map(suite).collect::<Vec<_>>().join("\n"))
            }
            Self::Compared(leak) => write!(
                f,
                "shared by evaluation and training: {}, {}",
                counted(leak.structures.len(), "structure"),
                counted(leak.sequences.len(), "op sequence")
            ),
            Self::Resembling(found) => {
                let suite = |suite: &SuiteLeaks| {
                    let (inside, around, tasks) = (suite.inside.tasks, suite.around.tasks, suite.tasks);
                    format!(
                        "{}: {inside} of {} inside a longer sequence of training, {around} around a shorter one; {} of {} of \
                         models of training",
                        suite.suite,
                        counted(tasks, "task"),
                        suite.model_graphs,
                        counted(suite.graphs, "graph")
                    )
                };
                f.write_str(&found.suites.iter().map(suite).collect::<Vec<_>>().join("\n"))
            }
            Self::Progress(stage, done, all) => write!(f, "{stage}: {done} of {all}"),
            Self::Remark(line) => f.write_str(line),
        }
    }
}

/// Result of [`build_suites`].
#[derive(Debug, Default)]
pub struct Suites {
    /// The suites, the training split last.
    pub suites: Vec<Dataset>,
    /// Overlap of evaluation and training. It is empty unless there is an error in the stages.
    pub leak: Leak,
    /// Data that could not be used.
    pub failures: Vec<SkippedData>,
}

/// An error of [`build_suites`].
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// A table cannot be read or written.
    #[error(transparent)]
    Store(#[from] TableError),
    /// A folder of samples cannot be read.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The bounds of the subgraphs for training admit no size.
    #[error(transparent)]
    Bounds(#[from] BoundsError),
    /// The page of a suite cannot be written.
    #[error(transparent)]
    Page(#[from] io::Error),
}

/// Builds the suites of a recipe in `out`, with intermediate results in `work`. The same call continues an interrupted one: a
/// stage does not repeat finished work.
///
/// # Errors
/// If a folder or table cannot be read or written; a sample that cannot be used is a failure in the result.
pub fn build_suites(
    recipe: &Recipe,
    work: &Dataset,
    out: &Dataset,
    runners: Runners<'_>,
    report: &dyn Fn(StageProgress<'_>),
) -> Result<Suites, PipelineError> {
    let mut failures = Vec::new();
    let unique = unique_graphs(recipe, work, runners, report, &mut failures)?;
    // Written to separate datasets: subgraphs for training must not be candidates for evaluation.
    let others = cut(recipe, &unique, runners, report, &mut failures)?;
    let remark = |line: &str| report(StageProgress::Remark(line));
    let built = build(&unique, &others, runners, &recipe.plans, &recipe.bounds, out, &remark)?;
    report(StageProgress::Built(&built));
    failures.extend(built.failures);
    let mut suites: Vec<Dataset> = recipe.plans.iter().map(|plan| out.below(&plan.name)).collect();
    let train = out.below(TRAIN);
    // The suites are compared once more, with code that does not choose tasks, so that a mistake in the choice is found.
    let leak = leaks(&suites, &train)?;
    report(StageProgress::Compared(&leak));
    report(StageProgress::Resembling(&leak_report(&suites, &train, usize::MAX)?));
    suites.push(train);
    // An empty suite has no folder. The training split is empty if all models are for evaluation.
    let (suites, empty): (Vec<Dataset>, Vec<Dataset>) = suites.into_iter().partition(|suite| suite.root().exists());
    for suite in &empty {
        remark(&format!("{} has no tasks; add more models", suite.root().display()));
    }
    for suite in &suites {
        fs::write(suite.root().join("README.md"), front_page(suite)?)?;
    }
    Ok(Suites { suites, leak, failures })
}

/// Imports all samples, drops duplicates and annotates what remains.
fn unique_graphs(
    recipe: &Recipe,
    work: &Dataset,
    runners: Runners<'_>,
    report: &dyn Fn(StageProgress<'_>),
    failures: &mut Vec<SkippedData>,
) -> Result<Dataset, PipelineError> {
    for folder in &recipe.samples {
        let transfer = import_graphs(work, folder)?;
        report(StageProgress::Imported(&transfer));
        failures.extend(transfer.failures);
    }
    let unique = work.below("unique");
    report(StageProgress::Deduplicated(&dedup(work, Table::Graphs, Rung::Typed, &unique)?));
    let limits = AnnotationLimits::default();
    let progress = |done, all| report(StageProgress::Progress("annotate", done, all));
    let annotated = annotate(&unique, runners.annotate, &limits, &progress)?;
    report(StageProgress::Annotated(&annotated));
    failures.extend(annotated.failures);
    Ok(unique)
}

/// Cuts subgraphs of every kind. Returns the datasets with subgraphs that are for training only.
fn cut(
    recipe: &Recipe,
    unique: &Dataset,
    runners: Runners<'_>,
    report: &dyn Fn(StageProgress<'_>),
    failures: &mut Vec<SkippedData>,
) -> Result<Vec<Dataset>, PipelineError> {
    let classical = Method::Canonical(CanonicalSettings::default());
    report(StageProgress::Mined("classical", &mine(unique, classical, unique)?));
    // Fusible ranges need the kernel counts of prefixes of classical subgraphs.
    let progress = |done, all| report(StageProgress::Progress("kernels", done, all));
    let counted = count_kernels(unique, runners.kernels, &recipe.counting, &progress)?;
    report(StageProgress::Counted(&counted));
    failures.extend(counted.failures);
    report(StageProgress::Mined("fusible", &mine(unique, Method::Fusible, unique)?));
    report(StageProgress::Mined("single-op", &mine(unique, Method::SingleOps, unique)?));
    let mut others = Vec::new();
    let methods = if recipe.bounds.training_split { training_methods()? } else { Vec::new() };
    for (name, method) in methods {
        let other = unique.below(&name);
        report(StageProgress::Mined(&format!("classical ({name})"), &mine(unique, method, &other)?));
        others.push(other);
    }
    Ok(others)
}

/// Returns the foldings for training, with the names of their datasets.
fn training_methods() -> Result<Vec<(String, Method)>, BoundsError> {
    let mut methods = Vec::new();
    for TrainingScale { reach, min_ops, end_ops } in TRAINING_SCALES {
        let settings = CanonicalSettings { bounds: SizeBounds::new(min_ops, end_ops)?, reach };
        methods.push((format!("reach-{reach}"), Method::Canonical(settings)));
    }
    let (window, folds) = (TRAINING_WINDOW as usize, Some(TRAINING_FOLDS));
    let bounds = SizeBounds::new(TRAINING_MIN_OPS, TRAINING_WINDOW)?;
    let settings = CompatibleSettings { window, folds, policy: FoldPolicy::Savings, bounds };
    methods.push((format!("window-{window}"), Method::Compatible(settings)));
    Ok(methods)
}

/// Returns the plans of the published suites for evaluation, each with its number of tasks and its largest number of graphs of a
/// task. Suites without tasks are left out.
pub fn plans(
    fusible: (usize, usize),
    classical: (usize, usize),
    single_op: (usize, usize),
    backward: (usize, usize),
) -> Vec<SuitePlan> {
    let plan =
        |name: &str, phase, kind, (tasks, graphs)| SuitePlan { name: name.to_owned(), kind, phase, tasks, graphs };
    let all = [
        plan("passbench-f", Phase::Inference, GraphKind::Fusible, fusible),
        plan("passbench-c", Phase::Inference, GraphKind::Classical, classical),
        plan("passbench-s", Phase::Inference, GraphKind::SingleOp, single_op),
        plan("passbench-b", Phase::Backward, GraphKind::Fusible, backward),
    ];
    all.into_iter().filter(|plan| plan.tasks > 0).collect()
}

/// Returns the beginnings of paths of samples that are for training only. `@FILE` is replaced by the models in a file: one
/// `LIBRARY:NAME` in each line, `#` for comments.
///
/// # Errors
/// If a file cannot be read.
pub fn training_prefixes(given: &[String]) -> io::Result<Vec<String>> {
    let mut prefixes = Vec::new();
    for prefix in given {
        match prefix.strip_prefix('@') {
            None => prefixes.push(prefix.clone()),
            Some(file) => {
                let text = passnet_run::read_input_text(file.as_ref())?;
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                prefixes.extend(lines.flat_map(folders_of));
            }
        }
    }
    Ok(prefixes)
}

/// Returns the folders of a model. A class of a model type has another folder in datasets of earlier versions.
fn folders_of(spec: &str) -> Vec<String> {
    let folder = spec.replacen(':', "/", 1);
    let class = folder.strip_prefix("transformers/").and_then(|rest| rest.split_once('/'));
    match class {
        Some((kind, class)) => vec![folder.clone(), format!("transformers/{kind}-{class}")],
        None => vec![folder],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_for_training_come_from_prefixes_and_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "# remark\n\ntimm:resnet18\n transformers:bert/BertModel \n").unwrap();
        let given = ["own/".to_owned(), format!("@{}", file.path().display())];
        assert_eq!(
            training_prefixes(&given).unwrap(),
            ["own/", "timm/resnet18", "transformers/bert/BertModel", "transformers/bert-BertModel"]
        );
        assert!(training_prefixes(&["@no/such/file".to_owned()]).is_err());
    }

    #[test]
    fn the_foldings_for_training_have_distinct_names() {
        let names: Vec<String> = training_methods().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["reach-6", "reach-3", "reach-2", "reach-4", "reach-8", "window-64"]);
    }
}
