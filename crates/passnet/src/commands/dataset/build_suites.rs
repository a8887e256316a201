//! `passnet dataset build-suites`: from sample folders to suites.

use std::process::ExitCode;

use anyhow::{Context, Result};
use passnet_dataset::{
    Dataset,
    kernels::CountSettings,
    mine::Mined,
    pipeline::{Recipe, Runners, Step, build_suites, plans},
    suite::{Bounds, Built, Leak, card},
};
use passnet_record::counted;
use passnet_services::Helper;

use super::{
    found::report_failures,
    helpers::{pool, print_annotated, print_counted, progress, runner},
};
use crate::{
    args::BuildSuitesArgs,
    failure::{BAD, usage},
    output,
};

/// Runs all stages. A stage skips work that it finished in an earlier call.
pub(super) fn run(args: &BuildSuitesArgs) -> Result<ExitCode> {
    let recipe = recipe(args)?;
    let (annotate, kernels, prove) = (pool(Helper::Annotate)?, pool(Helper::KernelCounts)?, pool(Helper::Prove)?);
    let (annotate, kernels, prove) = (runner(&annotate), runner(&kernels), runner(&prove));
    let runners = Runners { annotate: &annotate, kernels: &kernels, prove: &prove };
    let (work, out) = (Dataset::at(&args.work), Dataset::at(&args.out));
    // A reader of stdout that went away does not stop the stages; the next write of the command reports it.
    let suites = build_suites(&recipe, &work, &out, runners, &|step| drop(print(step)))?;
    if let Some(path) = &args.card {
        fs_err::write(path, card(&suites.suites)?).context("the card cannot be written")?;
    }
    let code = report_failures(&suites.failures)?;
    Ok(if suites.leak == Leak::default() { code } else { ExitCode::from(BAD) })
}

fn recipe(args: &BuildSuitesArgs) -> Result<Recipe> {
    let (device, most, longest) = (args.device.name().to_owned(), args.counted, args.counted_ops);
    let training = training_only(&args.training)?;
    Ok(Recipe {
        samples: args.samples.clone(),
        plans: plans(
            (args.fusible, args.graphs),
            (args.classical, args.other_graphs),
            (args.single_op, args.other_graphs),
        ),
        counting: CountSettings { device, exhaustive: args.exhaustive, most, longest },
        bounds: Bounds { max_bytes: args.max_bytes, casts: args.casts.into(), training, ..Bounds::default() },
    })
}

fn print(step: Step<'_>) -> Result<()> {
    match step {
        Step::Imported(transfer) => {
            output::text(&format!("{} imported, {} were there", counted(transfer.samples, "graph"), transfer.present))
        }
        Step::Deduplicated(found) => {
            output::text(&format!("{} of {} are distinct", found.kept, counted(found.rows, "graph")))
        }
        Step::Annotated(found) => print_annotated(found),
        Step::Mined(kind, mined) => print_mined(kind, mined),
        Step::Counted(found) => print_counted(found),
        Step::Built(built) => print_built(built),
        Step::Compared(leak) => output::text(&format!(
            "shared by evaluation and training: {}, {}",
            counted(leak.structures.len(), "structure"),
            counted(leak.sequences.len(), "op sequence")
        )),
        Step::Progress(stage, done, all) => {
            progress(stage, done, all);
            Ok(())
        }
        Step::Remark(line) => {
            eprintln!("{line}");
            Ok(())
        }
    }
}

/// Reads beginnings of paths. `@FILE` is replaced by the models of a file: `LIBRARY:NAME` in each line, `#` for comments.
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
