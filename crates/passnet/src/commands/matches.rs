//! `passnet match`: where passes match in a dataset.

use std::{path::PathBuf, process::ExitCode, time::Instant};

use anyhow::Result;
use passnet_author::pass_directories;
use passnet_dataset::coverage::{CheckOptions, Corpus, CorpusError, Coverage, NamedPattern, Outcome, check, find};
use passnet_eval::Referee;
use passnet_graph::wire;
use passnet_record::{PassDirectory, counted};
use passnet_services::{Helper, HelperPool, Interpreter};

use super::{match_judge::RefereeJudge, referee};
use crate::{
    args::MatchArgs,
    failure::{BAD, unfit, usage},
    output::{self, Rows},
};

/// Bytes of inputs above which a match is not evaluated.
const MAX_CHECKED_BYTES: u64 = 256 << 20;
/// Rows of the table of conflicts.
const SHOWN_CONFLICTS: usize = 20;

/// Patterns with the directories that they are from.
#[derive(Default)]
struct Patterns {
    patterns: Vec<NamedPattern>,
    /// For each pattern its directory.
    directories: Vec<PassDirectory>,
    /// Directories that cannot be imported, and why.
    refused: Vec<(PathBuf, String)>,
}

/// Searches, and judges with `--check`. Exits with 1 if a directory cannot be imported or a match is unsound.
pub(crate) fn run(args: &MatchArgs) -> Result<ExitCode> {
    let begin = Instant::now();
    let referee = referee::start_on(args.device)?;
    let found = patterns(args, &referee)?;
    let imported = begin.elapsed();
    let corpus = Corpus::open(&args.dataset, args.table).map_err(|error| match error {
        error @ CorpusError::Empty { .. } => usage(error.to_string()),
        error => error.into(),
    })?;
    let read = begin.elapsed();
    let ask = |helper| {
        let pool = HelperPool::new(Interpreter::find(), helper);
        move |question: &serde_json::Value| pool.ask(question).map_err(|error| error.to_string())
    };
    let graphs = corpus.canonical(&ask(Helper::Canonical)).map_err(unfit)?;
    let canonical = begin.elapsed();
    let (places, errors) = find(&graphs, &found.patterns);
    let mut coverage = Coverage::new(&corpus, &found.patterns, &places, &errors);
    let searched = begin.elapsed();
    if args.check > 0 {
        let device = if args.device.is_cpu() { "cpu" } else { "cuda" };
        let options = CheckOptions {
            samples: args.check,
            graphs: args.typed_graphs,
            max_bytes: MAX_CHECKED_BYTES,
            device: device.to_owned(),
        };
        let judge = RefereeJudge::new(&referee, &found.patterns, &found.directories)?;
        let types = check(&corpus, (&places, &found.patterns), &ask(Helper::Propagate), &judge, &options);
        coverage.passes.iter_mut().zip(types).for_each(|(pass, types)| pass.types = types);
    }
    coverage.seconds.patterns = imported.as_secs_f64();
    coverage.seconds.read = (read - imported).as_secs_f64();
    coverage.seconds.canonical = (canonical - read).as_secs_f64();
    coverage.seconds.search = (searched - canonical).as_secs_f64();
    coverage.seconds.check = (begin.elapsed() - searched).as_secs_f64();
    print(args, &coverage)?;
    for failure in &corpus.failures {
        tracing::warn!("{}: {}", failure.what, failure.message);
    }
    for (directory, why) in &found.refused {
        tracing::error!("{}: {why}", directory.display());
    }
    let good = found.refused.is_empty() && !coverage.is_unsound();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

/// Imports all directories, each in a confined worker.
fn patterns(args: &MatchArgs, referee: &Referee) -> Result<Patterns> {
    let mut all = Patterns::default();
    for (path, directory) in pass_directories(&args.passes)? {
        match referee.patterns(directory.clone())? {
            Err(reason) => all.refused.push((path, format!("{}: {}", reason.code, reason.message))),
            Ok(traced) => {
                for pattern in traced {
                    let graph = match wire::from_value(&pattern.graph) {
                        Ok(graph) => graph,
                        Err(error) => {
                            all.refused.push((path.clone(), format!("pattern of `{}`: {error}", pattern.name)));
                            continue;
                        }
                    };
                    let directory_name = path.display().to_string();
                    all.patterns.push(NamedPattern { directory: directory_name, name: pattern.name, graph });
                    all.directories.push(directory.clone());
                }
            }
        }
    }
    if all.patterns.is_empty() && all.refused.is_empty() {
        return Err(usage("no pass in these directories; a pass directory has a sorted_output_pass_rule_names.json"));
    }
    Ok(all)
}

fn print(args: &MatchArgs, coverage: &Coverage) -> Result<()> {
    if args.json {
        return output::json(coverage);
    }
    let mut rows = Rows::new(&["pass", "remark", "calls", "graphs", "models", "matches"], 2);
    for pass in &coverage.passes {
        let remark = match (&pass.error, pass.same_as) {
            (Some(error), _) => error.clone(),
            (None, Some(first)) => format!("pattern of {}", name(coverage, first)),
            (None, None) => String::new(),
        };
        let counts = [pass.nodes, pass.graphs, pass.models, pass.matches].map(|count| count.to_string());
        rows.push([format!("{}/{}", short(&pass.directory), pass.name), remark].into_iter().chain(counts));
    }
    rows.print()?;
    print_conflicts(coverage)?;
    print_types(coverage)?;
    let seconds = coverage.seconds;
    output::text(&format!(
        "\n{} of {}: read in {:.1} s, brought into the form of patterns in {:.1} s; {} searched for in {:.2} s",
        counted(coverage.graphs, "graph"),
        counted(coverage.models, "model"),
        seconds.read,
        seconds.canonical,
        counted(coverage.passes.len(), "pass"),
        seconds.search,
    ))
}

fn print_conflicts(coverage: &Coverage) -> Result<()> {
    if coverage.conflicts.is_empty() {
        return Ok(());
    }
    output::text("\nconflicts: the first pass takes nodes that the second one wants")?;
    let mut rows = Rows::new(&["first", "second", "graphs", "overlaps", "lost"], 2);
    for conflict in coverage.conflicts.iter().take(SHOWN_CONFLICTS) {
        let counts = [conflict.graphs, conflict.overlaps, conflict.lost].map(|count| count.to_string());
        rows.push([name(coverage, conflict.first), name(coverage, conflict.second)].into_iter().chain(counts));
    }
    rows.print()?;
    if let Some(more) = coverage.conflicts.len().checked_sub(SHOWN_CONFLICTS).filter(|&more| more > 0) {
        output::text(&format!("and {more} more pairs; --json lists all"))?;
    }
    Ok(())
}

fn print_types(coverage: &Coverage) -> Result<()> {
    if coverage.passes.iter().all(|pass| pass.types.is_empty()) {
        return Ok(());
    }
    output::text("\ntypes: matches by what they are applied to, and what an evaluation said")?;
    let mut rows = Rows::new(&["pass", "types", "outcome", "reason", "matches"], 4);
    for pass in &coverage.passes {
        for class in &pass.types {
            let outcome = match class.outcome {
                Outcome::Unchecked => "-",
                Outcome::Sound => "sound",
                Outcome::Failed => "no verdict",
                Outcome::Refused => "refused",
                Outcome::Unsound => "UNSOUND",
            };
            let reason = class.message.clone().unwrap_or_default();
            rows.push([
                pass.name.clone(),
                class.types.clone(),
                outcome.to_owned(),
                reason.lines().next().unwrap_or_default().chars().take(160).collect(),
                class.matches.to_string(),
            ]);
        }
    }
    rows.print()
}

fn name(coverage: &Coverage, number: usize) -> String {
    let pass = &coverage.passes[number];
    format!("{}/{}", short(&pass.directory), pass.name)
}

/// The last part of a path.
fn short(directory: &str) -> &str {
    directory.trim_end_matches('/').rsplit('/').next().unwrap_or(directory)
}
