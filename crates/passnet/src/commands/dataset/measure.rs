//! Stages that run PyTorch: `annotate`, `kernels`, `suites`; and what is made of their results.

use std::process::ExitCode;

use anyhow::{Context, Result};
use passnet_dataset::{
    Dataset, Failure,
    annotate::{Limits, Runner, annotate},
    dedup::dedup,
    fold::{CanonicalSettings, CompatibleSettings, Policy, SizeBounds},
    hashes::Rung,
    import::import_graphs,
    kernels::{CountSettings, count_kernels},
    mine::{Method, Mined, mine},
    store::Kind,
    suite::{Bounds, Built, Plan, TRAIN, build, card, front_page, leaks},
};
use serde_json::json;

use super::{existing, leave, runner::Processes};
use crate::{
    args::{AnnotateArgs, BuildSuitesArgs, CardArgs, KernelsArgs},
    failure::{BAD, unfit, usage},
    output,
};

/// Modules of the package.
const ANNOTATE: &str = "passnet._annotate";
const PREFIX: &str = "passnet._prefix";
const PROVE: &str = "passnet._prove";

pub(super) fn run_annotate(args: &AnnotateArgs) -> Result<ExitCode> {
    let dataset = existing(&args.dataset)?;
    let limits = Limits { max_bytes: args.max_bytes, seconds: args.seconds, ..Limits::default() };
    leave(&annotate_all(&dataset, &limits)?)
}

fn annotate_all(dataset: &Dataset, limits: &Limits) -> Result<Vec<Failure>> {
    let found = annotate(dataset, &fit(ANNOTATE)?, limits, &|done, all| note("annotate", done, all))?;
    output::text(&format!(
        "{} graphs annotated, {} of them by running them; {} were annotated before",
        found.graphs, found.executed, found.present
    ))?;
    Ok(found.failures)
}

pub(super) fn run_kernels(args: &KernelsArgs) -> Result<ExitCode> {
    let (device, exhaustive) = (args.device.name().to_owned(), args.exhaustive);
    let settings = CountSettings { device, exhaustive, most: args.most, longest: args.longest };
    leave(&count_all(&existing(&args.dataset)?, &settings)?)
}

fn count_all(dataset: &Dataset, settings: &CountSettings) -> Result<Vec<Failure>> {
    let found = count_kernels(dataset, &fit(PREFIX)?, settings, &|done, all| note("kernels", done, all))?;
    output::text(&format!(
        "{} subgraphs of {} ops counted: {} prefixes in {} compilations ({:.2} per op); {} were counted before",
        found.subgraphs,
        found.ops,
        found.prefixes,
        found.compilations,
        found.compilations as f64 / found.ops.max(1) as f64,
        found.present
    ))?;
    Ok(found.failures)
}

/// Processes of a module, after one of them has answered.
fn fit(module: &'static str) -> Result<Processes> {
    let processes = Processes::of(module);
    match processes.ask(&json!({})) {
        // It cannot answer an empty question, but it says so.
        Err(message) if message.contains("KeyError") => Ok(processes),
        Ok(_) => Ok(processes),
        Err(message) => Err(unfit(format!("{message}; is PyTorch installed?"))),
    }
}

fn note(stage: &str, done: usize, all: usize) {
    eprintln!("{stage}: {done} of {all}");
}

pub(super) fn run_card(args: &CardArgs) -> Result<ExitCode> {
    let suites: Vec<Dataset> = args.suites.iter().map(existing).collect::<Result<_>>()?;
    output::text(card(&suites)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Other foldings whose subgraphs are for training: reach, fewest ops, and one more than the most.
const TRAINING_SCALES: [(u32, u32, u32); 5] = [(6, 4, 24), (3, 3, 10), (2, 2, 6), (4, 2, 12), (8, 6, 40)];
/// The published folding is for training too: its window, which is one more than the most ops, and its folds.
const TRAINING_WINDOW: u32 = 64;
const TRAINING_FOLDS: usize = 12;

/// All stages from sample folders to suites. What a stage has done before is not done again.
pub(super) fn run_build_suites(args: &BuildSuitesArgs) -> Result<ExitCode> {
    let dataset = Dataset::at(&args.work);
    let training = training_only(&args.training)?;
    let mut failures = Vec::new();
    for folder in &args.samples {
        let transfer = import_graphs(&dataset, folder)?;
        output::text(&format!("{} graphs imported, {} were there", transfer.samples, transfer.present))?;
        failures.extend(transfer.failures);
    }
    let unique = dataset.below("unique");
    let found = dedup(&dataset, passnet_dataset::Table::Graphs, Rung::Typed, &unique)?;
    output::text(&format!("{} of {} graphs are distinct", found.kept, found.rows))?;
    failures.extend(annotate_all(&unique, &Limits { plain: training.clone(), ..Limits::default() })?);
    print_mined("classical", &mine(&unique, Method::Canonical(CanonicalSettings::default()), &unique)?)?;
    let (device, most, longest) = (args.device.name().to_owned(), args.counted, args.counted_ops);
    let counting = CountSettings { device, exhaustive: args.exhaustive, most, longest };
    failures.extend(count_all(&unique, &counting)?);
    print_mined("fusible", &mine(&unique, Method::Fusible, &unique)?)?;
    print_mined("single-op", &mine(&unique, Method::SingleOps, &unique)?)?;
    let mut others = Vec::new();
    for (name, method) in training_methods()? {
        let other = unique.below(&name);
        print_mined(&format!("classical ({name})"), &mine(&unique, method, &other)?)?;
        others.push(other);
    }
    let plan = |name: &str, kind, tasks, graphs| Plan { name: name.to_owned(), kind, tasks, graphs };
    let plans = [
        plan("passbench-f", Kind::Fusible, args.fusible, args.graphs),
        plan("passbench-c", Kind::Classical, args.classical, args.other_graphs),
        plan("passbench-s", Kind::SingleOp, args.single_op, args.other_graphs),
    ];
    let casts = args.casts.into();
    let bounds = Bounds { max_bytes: args.max_bytes, casts, training, ..Bounds::default() };
    let out = Dataset::at(&args.out);
    let built = build(&unique, &others, &fit(PROVE)?, &plans, &bounds, &out, &|line| eprintln!("{line}"))?;
    print_built(&built)?;
    let eval: Vec<Dataset> = plans.iter().map(|plan| out.below(&plan.name)).collect();
    let leak = leaks(&eval, &out.below(TRAIN))?;
    output::text(&format!(
        "shared by evaluation and training: {} structures, {} op sequences",
        leak.structures.len(),
        leak.sequences.len()
    ))?;
    let suites: Vec<Dataset> = eval.into_iter().chain([out.below(TRAIN)]).collect();
    for suite in &suites {
        fs_err::write(suite.root().join("README.md"), front_page(suite)?)
            .context("a suite's page cannot be written")?;
    }
    if let Some(path) = &args.card {
        fs_err::write(path, card(&suites)?).context("the card cannot be written")?;
    }
    failures.extend(built.failures);
    let code = leave(&failures)?;
    Ok(if leak == passnet_dataset::suite::Leak::default() { code } else { ExitCode::from(BAD) })
}

/// Beginnings of paths; `@FILE` stands for the models of a file, `LIBRARY:NAME` in each line, `#` for remarks.
fn training_only(given: &[String]) -> Result<Vec<String>> {
    let mut prefixes = Vec::new();
    for prefix in given {
        match prefix.strip_prefix('@') {
            None => prefixes.push(prefix.clone()),
            Some(file) => {
                let text = fs_err::read_to_string(file).map_err(|error| usage(error.to_string()))?;
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                prefixes.extend(lines.map(|line| line.replacen(':', "/", 1)));
            }
        }
    }
    Ok(prefixes)
}

/// Foldings for training by the name of their dataset.
fn training_methods() -> Result<Vec<(String, Method)>> {
    let bounds = |min, max| SizeBounds::new(min, max).context("sizes of subgraphs for training");
    let mut methods = Vec::new();
    for (reach, min, max) in TRAINING_SCALES {
        let settings = CanonicalSettings { bounds: bounds(min, max)?, reach };
        methods.push((format!("reach-{reach}"), Method::Canonical(settings)));
    }
    let (window, folds) = (TRAINING_WINDOW as usize, Some(TRAINING_FOLDS));
    let settings = CompatibleSettings { window, folds, policy: Policy::Savings, bounds: bounds(2, TRAINING_WINDOW)? };
    methods.push((format!("window-{window}"), Method::Compatible(settings)));
    Ok(methods)
}

fn print_mined(kind: &str, mined: &Mined) -> Result<()> {
    output::text(&format!(
        "{} distinct {kind} subgraphs in {} ranges ({} more have a boundary that is no tensor); {:.1}% of ops covered",
        mined.subgraphs,
        mined.ranges - mined.open,
        mined.open,
        100.0 * mined.covered as f64 / mined.ops.max(1) as f64
    ))
}

fn print_built(built: &Built) -> Result<()> {
    for (name, tasks, graphs) in &built.suites {
        output::text(&format!("{name}: {tasks} tasks, {graphs} graphs"))?;
    }
    let mut refused: Vec<_> = built.refused.iter().collect();
    refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (reason, count) in refused {
        eprintln!("refused {count}: {reason}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_for_training_come_from_prefixes_and_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# remark\n\ntimm:resnet18\n transformers:bert/BertModel \n").unwrap();
        let given = ["own/".to_owned(), format!("@{}", file.path().display())];
        assert_eq!(training_only(&given).unwrap(), ["own/", "timm/resnet18", "transformers/bert/BertModel"]);
        assert!(training_only(&["@no/such/file".to_owned()]).is_err());
    }
}
