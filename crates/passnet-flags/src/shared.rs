//! Flags that several commands share.

use std::{str::FromStr, time::Duration};

use clap::{
    Args, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use passnet_record::{Device, ExecutionPath, MetadataError, Mode, RunMetadata, UnknownChoice, Weights};
use passnet_run::Selection;
use passnet_score::{EsSettings, Interpretation};

/// Parses a number of seconds, fractions allowed.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    // `from_secs_f64` panics on negative numbers and NaN.
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "expected a number of seconds of at least 0, for example 30 or 0.5".to_owned())
}

/// Parses a limit above 0 and below 1e9. A limit of 0 would end every process; a limit of infinity or NaN would end none.
pub(crate) fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1e9 => Ok(number),
        _ => Err("expected a number above 0 and below 1e9".to_owned()),
    }
}

/// Parses a share from 0 to 1. NaN is refused, because every comparison with NaN is false.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}

/// Parses one of the names of a type in `passnet-record`; the help lists them.
pub(crate) fn one_of<T>(names: &[&'static str]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err = UnknownChoice> + Clone + Send + Sync + 'static,
{
    // clap lists the values in the help and suggests similar ones. `value_parser!(T)` would know no names.
    PossibleValuesParser::new(names.iter().copied()).try_map(|name| name.parse())
}

/// Value that a flag accepts: its name, its line in the help (empty for none), and its value in a library.
pub(crate) type Choice<T> = (&'static str, &'static str, T);

/// Parses the name of one of `choices`; the help lists the names.
pub(crate) fn choice<T>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: Clone + Send + Sync + 'static,
{
    let shown = choices.iter().map(|(name, help, _)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    });
    PossibleValuesParser::new(shown).try_map(|given| {
        // clap has refused all other names, so the error cannot occur.
        let chosen = choices.iter().find(|(name, ..)| *name == given);
        chosen.map(|(.., value)| value.clone()).ok_or("not a choice")
    })
}

const PATHS: &[Choice<&[ExecutionPath]>] = &[
    ("direct", "", &[ExecutionPath::Direct]),
    ("compiled", "", &[ExecutionPath::Compiled]),
    ("both", "", &[ExecutionPath::Direct, ExecutionPath::Compiled]),
];

/// Flags of every command that evaluates passes.
#[derive(Args)]
#[command(next_help_heading = "Measurement")]
pub struct MeasureArgs {
    /// Device to measure on: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    pub device: Device,
    /// Rules for verdicts: those of PassNet (`sound`) or of the public harness (`paper`)
    #[arg(long, value_parser = one_of::<Mode>(&Mode::ALL.map(Mode::name)), default_value_t = Mode::Sound)]
    pub mode: Mode,
    /// Number of untimed calls before the first timed call [default: 25]
    #[arg(long, value_name = "N")]
    // This and the next options have no default here, because it depends on `--mode` (`passnet_eval::settings`).
    pub warmup: Option<u32>,
    /// Number of timed calls of each side, eager mode and the candidate [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: Option<u32>,
    /// Seed for inputs and schedules, to repeat verdicts; the run is marked as seeded [default: random for each verdict]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Tolerance t at which the outputs must be correct, from -10 (strict) to 5 (loose) [default: -2]
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-10..=5))]
    pub correct_at: Option<i32>,
    /// Calls of the rewritten graph: as a Python function, through `torch.compile`, or both; `both` scores the direct path
    /// [default: both; in paper mode: compiled]
    #[arg(long, value_parser = choice(PATHS))]
    pub paths: Option<&'static [ExecutionPath]>,
    /// Pass weights as arguments of each call (`inputs`), or keep them in the module (`static`) [default: the suite's choice,
    /// else inputs]
    #[arg(long)]
    pub weights: Option<Weights>,
    /// Number of threads that PyTorch uses in each worker
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Overwrite the last-level cache of the device before each timed call
    #[arg(long)]
    pub cold: bool,
    /// Time limit for each graph, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = above_zero, default_value = "300")]
    pub timeout: f64,
    /// Memory limit for each worker, in GiB
    #[arg(long, value_name = "GIB", value_parser = above_zero, default_value = "16")]
    pub memory: f64,
}

/// Parameters of S_t and ES_t.
#[derive(Args)]
#[command(next_help_heading = "Parameters of S_t and ES_t")]
pub struct EsArgs {
    /// Penalty p for slow-downs
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    penalty: f64,
    /// Speed-up b that an incorrect graph counts as
    #[arg(long, value_name = "B", default_value_t = 0.1)]
    error_base: f64,
    /// Errors that positive tolerances forgive: default, passnet or mismatch_extended (docs/reference/scoring.md)
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = |name: &str| Interpretation::by_name(name))]
    interpretation: Interpretation,
}

impl EsArgs {
    /// Returns the parameters.
    pub fn settings(&self) -> EsSettings {
        let Self { penalty, error_base, interpretation } = *self;
        EsSettings { slowdown_penalty: penalty, error_base, interpretation }
    }
}

/// Flags that select a part of a suite.
#[derive(Args)]
#[command(next_help_heading = "Selection")]
pub struct SelectionArgs {
    /// Only tasks whose name, or whose ops joined by `,`, contain TEXT; `*` and `?` are wildcards; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Only the first N tasks
    #[arg(long, value_name = "N", value_parser = positive)]
    pub tasks: Option<usize>,
    /// Only the first N graphs of each task
    #[arg(long, value_name = "N", value_parser = positive)]
    pub graphs_per_task: Option<usize>,
}

/// Parses a whole number of at least 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "expected a whole number of at least 1".to_owned())
}

/// Description of a run, which boards show.
#[derive(Args)]
#[command(next_help_heading = "Description for boards")]
pub struct MetadataArgs {
    /// Name to show instead of the author's
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Organisation or person responsible for the run
    #[arg(long, value_name = "TEXT")]
    organisation: Option<String>,
    /// Web page about the author
    #[arg(long, value_name = "URL")]
    link: Option<String>,
    /// Commit of the author's code
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// Price of one device for one hour in US dollars; boards then show the cost of the run in money [default: unknown]
    #[arg(long, value_name = "USD")]
    device_price: Option<f64>,
}

impl MetadataArgs {
    /// Returns the description, as a run log keeps it.
    ///
    /// # Errors
    /// If a board could not show it.
    pub fn metadata(&self) -> Result<RunMetadata, MetadataError> {
        let of = |field: &Option<String>| field.clone().unwrap_or_default();
        let metadata = RunMetadata {
            name: of(&self.name),
            organisation: of(&self.organisation),
            link: of(&self.link),
            commit: of(&self.commit),
            device_usd_per_hour: self.device_price,
            writing: None,
        };
        // Checked before the run, because a run takes hours and its log keeps the description.
        metadata.check()?;
        Ok(metadata)
    }
}

impl SelectionArgs {
    /// Returns the selection to load a suite with.
    pub fn selection(&self) -> Selection {
        Selection { patterns: self.filter.clone(), graphs: self.graphs_per_task, tasks: self.tasks }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Table for a terminal
    Table,
    /// JSON with `schema_version`
    Json,
}
