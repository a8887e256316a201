//! `passnet match`: where passes match in a dataset.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use anyhow::Result;
use passnet_author::pass_directories;
use passnet_dataset::coverage::{CheckOptions, Corpus, CorpusError, CoverageReport, NamedPattern, check, find};
use passnet_eval::{EvalError, Referee};
use passnet_graph::wire;
use passnet_record::{PassDirectory, Reason, TracedPattern, counted};
use passnet_services::{Helper, HelperPool, Interpreter};

use super::{match_judge::RefereeJudge, referee};
use crate::{
    failure::{exit_code, unfit, usage},
    output,
};
use passnet_flags::MatchArgs;

/// Bytes of inputs above which a match is not evaluated.
const MAX_CHECKED_BYTES: u64 = 256 << 20;

/// Largest number of unreadable graphs that are named.
const SHOWN_FAILURES: usize = 10;

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
        // Shown as its source, which is therefore not in the chain of causes.
        CorpusError::Suite(error) => error.into(),
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
    let mut coverage = CoverageReport::new(&corpus, &found.patterns, &places, &errors);
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
    if args.json {
        output::json(&coverage)?
    } else {
        output::report(&coverage.text_report())?
    }
    for failure in corpus.failures.iter().take(SHOWN_FAILURES) {
        tracing::warn!("{}: {}", failure.what, failure.message);
    }
    if corpus.failures.len() > SHOWN_FAILURES {
        tracing::warn!("{} cannot be read in all", counted(corpus.failures.len(), "graph"));
    }
    for (directory, why) in &found.refused {
        tracing::error!("{}: {why}", directory.display());
    }
    let good = found.refused.is_empty() && !coverage.is_unsound();
    exit_code(good)
}

/// Imports all directories, each in a confined worker, as many at a time as there are cores: an import compiles kernels.
fn patterns(args: &MatchArgs, referee: &Referee) -> Result<Patterns> {
    let directories = pass_directories(&args.passes)?;
    let traced = traced(&directories, referee);
    let mut all = Patterns::default();
    for ((path, directory), traced) in directories.into_iter().zip(traced) {
        match traced? {
            Err(reason) => all.refused.push((path, format!("{}: {}", reason.code, reason.message))),
            Ok(traced) => all.add(&path, &directory, traced),
        }
    }
    if all.patterns.is_empty() && all.refused.is_empty() {
        return Err(usage("no pass in these directories; a pass directory has a sorted_output_pass_rule_names.json"));
    }
    Ok(all)
}

/// Patterns of a directory, the reason why it has none, or the reason why there is no answer.
type Traced = Result<Result<Vec<TracedPattern>, Reason>, EvalError>;

/// One entry per directory, in their order.
fn traced(directories: &[(PathBuf, PassDirectory)], referee: &Referee) -> Vec<Traced> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(directories.len());
    let next = AtomicUsize::new(0);
    let found: Vec<OnceLock<Traced>> = directories.iter().map(|_| OnceLock::new()).collect();
    let take = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some((_, directory)), Some(place)) = (directories.get(index), found.get(index)) else { return };
            // Each index is taken once, so the cell is empty.
            _ = place.set(referee.patterns(directory.clone()));
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(take)));
    found.into_iter().filter_map(OnceLock::into_inner).collect()
}

impl Patterns {
    fn add(&mut self, path: &Path, directory: &PassDirectory, traced: Vec<TracedPattern>) {
        for pattern in traced {
            match wire::from_value(&pattern.graph) {
                Err(error) => self.refused.push((path.to_owned(), format!("pattern of `{}`: {error}", pattern.name))),
                Ok(graph) => {
                    let directory_name = path.display().to_string();
                    self.patterns.push(NamedPattern { directory: directory_name, name: pattern.name, graph });
                    self.directories.push(directory.clone());
                }
            }
        }
    }
}
