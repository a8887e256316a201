//! Flags that several commands share.

use std::{str::FromStr, time::Duration};

use clap::{
    Args, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use passnet_record::{Device, ExecutionPath, MetadataError, Mode, RunMetadata, UnknownName, Weights};
use passnet_run::Selection;
use passnet_score::{EsSettings, Interpretation};

/// A number of seconds, fractions allowed.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Parses one of these names of a record type; the help lists them.
pub(super) fn one_of<T>(names: &[&'static str]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err = UnknownName> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.iter().copied()).try_map(|name| name.parse())
}

/// Value of a flag: its name, its line in the help (empty for none), and its value in a library.
pub(super) type Choice<T> = (&'static str, &'static str, T);

/// Parses one of these choices; the help lists them.
pub(super) fn choice<T>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: Clone + Send + Sync + 'static,
{
    let shown = choices.iter().map(|(name, help, _)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    });
    PossibleValuesParser::new(shown).try_map(|given| {
        let chosen = choices.iter().find(|(name, ..)| *name == given);
        chosen.map(|(.., value)| value.clone()).ok_or("not a choice")
    })
}

const PATHS: &[Choice<&[ExecutionPath]>] = &[
    ("direct", "", &[ExecutionPath::Direct]),
    ("compiled", "", &[ExecutionPath::Compiled]),
    ("both", "", &[ExecutionPath::Direct, ExecutionPath::Compiled]),
];

/// Options of the measurement; shared by `eval` and `bench run`.
#[derive(Args)]
pub(crate) struct MeasureArgs {
    /// Device under test: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    pub(crate) device: Device,
    /// Rules of the verdicts: `sound`, or `paper` to reproduce upstream's order and constants
    #[arg(long, value_parser = one_of::<Mode>(&Mode::ALL.map(Mode::name)), default_value_t = Mode::Sound)]
    pub(crate) mode: Mode,
    /// Untimed calls before the first timed one [default: 25]
    #[arg(long)]
    pub(crate) warmup: Option<u32>,
    /// Timed calls of each side [default: 100]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trials: Option<u32>,
    /// Seed that all others derive from, to repeat a verdict; the run is marked as seeded [default: drawn for each verdict]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Tolerance t that a correct graph has to reach, -10 (strict) to 5 [default: -2]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-10..=5))]
    pub(crate) correct_at: Option<i32>,
    /// Ways to run the rewritten graph; with `both`, the direct path is scored [default: both; paper mode: compiled]
    #[arg(long, value_parser = choice(PATHS))]
    pub(crate) paths: Option<&'static [ExecutionPath]>,
    /// Place of the weights: `inputs` (arguments of each call, as in the public harness) or `static` (state of the module)
    /// [default: that of the suite, else inputs]
    #[arg(long)]
    pub(crate) weights: Option<Weights>,
    /// Intra-op threads of each worker
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: u32,
    /// Overwrite the last-level cache before each trial
    #[arg(long)]
    pub(crate) cold: bool,
    /// Wall-clock limit of one graph in seconds
    #[arg(long, default_value_t = 300.0)]
    pub(crate) timeout: f64,
    /// Limit on the host memory of one worker in GiB
    #[arg(long, default_value_t = 16.0)]
    pub(crate) memory: f64,
}

/// Parameters of ES_t.
#[derive(Args)]
pub(crate) struct EsArgs {
    /// Slowdown penalty p
    #[arg(long, default_value_t = 0.0)]
    penalty: f64,
    /// Error base b
    #[arg(long, default_value_t = 0.1)]
    error_base: f64,
    /// Rule for what positive tolerances forgive: default, passnet or mismatch_extended (see docs/reference/scoring.md)
    #[arg(long, default_value = "default", value_parser = |name: &str| Interpretation::by_name(name))]
    interpretation: Interpretation,
}

impl EsArgs {
    /// Returns the parameters.
    pub(crate) fn settings(&self) -> EsSettings {
        let Self { penalty, error_base, interpretation } = *self;
        EsSettings { slowdown_penalty: penalty, error_base, interpretation }
    }
}

/// Options that select a part of a suite.
#[derive(Args)]
pub(crate) struct SelectionArgs {
    /// Only tasks whose name or ops (joined by `,`) contain this, or fit it where it has `*` or `?`; repeat for more
    #[arg(long)]
    pub(crate) filter: Vec<String>,
    /// Only the first tasks
    #[arg(long)]
    pub(crate) tasks: Option<usize>,
    /// Only the first graphs of each task
    #[arg(long)]
    pub(crate) graphs_per_task: Option<usize>,
}

/// Description of a run for readers of a board.
#[derive(Args)]
pub(crate) struct MetadataArgs {
    /// Name that boards show instead of the author's
    #[arg(long)]
    name: Option<String>,
    /// Organisation or person that answers for the run
    #[arg(long)]
    organisation: Option<String>,
    /// Address of a page about the author
    #[arg(long, value_name = "URL")]
    link: Option<String>,
    /// Commit of the author's code
    #[arg(long)]
    commit: Option<String>,
}

impl MetadataArgs {
    /// Returns the description, as a run log keeps it.
    ///
    /// # Errors
    /// If a board could not show it.
    pub(crate) fn metadata(&self) -> Result<RunMetadata, MetadataError> {
        let of = |field: &Option<String>| field.clone().unwrap_or_default();
        let (name, organisation) = (of(&self.name), of(&self.organisation));
        let metadata = RunMetadata { name, organisation, link: of(&self.link), commit: of(&self.commit) };
        metadata.check()?;
        Ok(metadata)
    }
}

impl SelectionArgs {
    /// Returns the selection to load a suite with.
    pub(crate) fn selection(&self) -> Selection {
        Selection { patterns: self.filter.clone(), graphs: self.graphs_per_task, tasks: self.tasks }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Table,
    Json,
}
