//! Flags of `passnet traj` and `passnet env`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use passnet_agent::corpus::By;
use passnet_record::agent::Style;

use super::{
    agent::ToolArgs,
    fleet::EnvFleetArgs,
    shared::{Choice, MeasureArgs, SelectionArgs, choice, positive, share},
};

const SAME_BY: &[Choice<By>] =
    &[("passes", "The final passes", By::Passes), ("replies", "All replies of the model", By::Replies)];

const STYLES: &[Choice<Style>] = &[
    ("plain", "The first state is correct, and no later state is measured to be faster", Style::Plain),
    ("tuned", "A correct state is measured to be faster than an earlier correct state", Style::Tuned),
    ("repaired", "A state failed, and a later one corrected it", Style::Repaired),
    ("refused", "A state broke an integrity rule, and a later one corrected it", Style::Refused),
];

#[derive(Subcommand)]
pub enum TrajCommand {
    /// Count outcomes, failures and tokens, and the best score by step
    Stats(TrajStatsArgs),
    /// Keep the trajectories that meet all conditions
    Filter(FilterArgs),
    /// Keep the best of each group of duplicates
    Dedup(TrajDedupArgs),
    /// Split into training and validation data, without the tasks of evaluation suites
    Split(SplitArgs),
    /// Write trajectories as training data
    Export(TrajExportArgs),
    /// Write trajectories from the passes of the built-in author; run the same command again to resume
    Teach(TeachArgs),
}

#[derive(Args)]
pub struct TrajStatsArgs {
    /// Trajectories (JSONL), or run directories
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// Print the counts as JSON
    #[arg(long)]
    pub json: bool,
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Example:\n  passnet traj filter agent-runs/first --min-score 1.02 --honest --out kept.jsonl")]
pub struct FilterArgs {
    /// Trajectories (JSONL), or run directories
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Smallest final score; 1 is the score of an empty pass directory
    #[arg(long, value_name = "NUMBER")]
    pub min_score: Option<f64>,
    /// Smallest reward, from 0 to 1
    #[arg(long, value_name = "NUMBER", value_parser = share)]
    pub min_reward: Option<f64>,
    /// Only trajectories that end with every graph correct
    #[arg(long)]
    pub correct: bool,
    /// Only trajectories that end without a broken integrity rule
    #[arg(long)]
    pub honest: bool,
    /// Only trajectories that broke no integrity rule at any step
    #[arg(long)]
    pub clean: bool,
    /// Only trajectories whose passes no earlier trajectory has
    #[arg(long)]
    pub novel: bool,
    /// Largest number of steps
    #[arg(long, value_name = "N")]
    pub max_steps: Option<usize>,
    /// Largest number of tokens, input and output together
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Only trajectories of this style; may be repeated
    #[arg(long, value_name = "STYLE", value_parser = choice(STYLES))]
    pub style: Vec<Style>,
    /// Only trajectories of models whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub model: Option<String>,
}

#[derive(Args)]
pub struct TrajDedupArgs {
    /// Trajectories (JSONL), or run directories
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Part that must be equal in duplicates, in addition to their graphs
    #[arg(long, value_parser = choice(SAME_BY), default_value = "passes")]
    pub by: By,
}

#[derive(Args)]
pub struct SplitArgs {
    /// Trajectories (JSONL), or run directories
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// Suite whose tasks are left out; may be repeated
    #[arg(long, value_name = "SUITE", required = true)]
    pub eval_suite: Vec<PathBuf>,
    /// Directory for train.jsonl, validation.jsonl and split.json
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Share of tasks for validation, from 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, default_value_t = 0.05)]
    pub validation: f64,
}

#[derive(Args)]
pub struct TrajExportArgs {
    /// Trajectories (JSONL), or run directories
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Format of the data
    #[arg(long, value_enum, default_value_t = TrajFormat::Openai)]
    pub format: TrajFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrajFormat {
    /// Chat completions with tools, one JSON object per line
    Openai,
    /// `conversations` with `from` and `value`, one JSON object per line
    Sharegpt,
    /// One row per trajectory
    Parquet,
}

#[derive(Args)]
pub struct TeachArgs {
    /// Suite to write trajectories for; use a training split, not a suite for evaluation
    pub suite: PathBuf,
    /// Directory of the run
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Write a trajectory for each graph instead of one for each task
    #[arg(long)]
    pub each_graph: bool,
    /// Style of lesson; may be repeated [default: all]
    #[arg(long, value_name = "STYLE", value_parser = choice(STYLES))]
    pub style: Vec<Style>,
    /// Count the lessons, and write none
    #[arg(long)]
    pub count: bool,
    /// Only part K of N of the selected tasks; the parts can be written at the same time, into separate directories
    #[arg(long, value_name = "K/N", value_parser = Shard::parse)]
    pub shard: Option<Shard>,
    /// Number of trajectories at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = positive)]
    pub jobs: usize,
    /// Number of evaluations at a time; timing is always exclusive [default: as --jobs]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub evaluations: Option<usize>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// One of several parts of the tasks of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the part, from 1.
    pub number: usize,
    /// Number of parts.
    pub of: usize,
}

impl Shard {
    fn parse(text: &str) -> Result<Self, String> {
        let (number, of) = text.split_once('/').unwrap_or_default();
        match (number.parse(), of.parse()) {
            (Ok(number), Ok(of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("expected a part and the number of parts, for example 2/16".to_owned()),
        }
    }

    /// Keeps every N-th item, so that neighbours, which are often alike, are in different parts.
    pub fn keep<T>(self, items: &mut Vec<T>) {
        let mut place = 0;
        items.retain(|_| {
            place += 1;
            place % self.of == self.number % self.of
        });
    }
}

#[derive(Subcommand)]
pub enum EnvCommand {
    /// Serve episodes as JSON lines on the standard streams, or over HTTP
    Serve(EnvServeArgs),
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet env serve suites/demo --steps 3\n  passnet env serve suites/passbench-train --device cuda:0 --listen 127.0.0.1:8801"
)]
pub struct EnvServeArgs {
    /// Suite of tasks to serve
    pub suite: PathBuf,
    /// Largest number of actions in an episode
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub steps: u32,
    /// Number of evaluations at a time; timing is always exclusive [default: 1 on a CPU, 4 on a GPU]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub evaluations: Option<usize>,
    /// File in which the server keeps verdicts for its next start
    #[arg(long, value_name = "FILE")]
    pub cache: Option<PathBuf>,
    /// Do not measure the best passes a second time at the end of an episode
    #[arg(long)]
    pub no_remeasure: bool,
    /// Directory with prompt templates that replace the built-in ones: system.md, task.md, nudge.md
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Serve HTTP on this address instead of the standard streams; port 0 chooses a free port
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
    #[command(flatten)]
    pub tools: ToolArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
    #[command(flatten, next_help_heading = "Fleet")]
    pub fleet: EnvFleetArgs,
}

#[cfg(test)]
mod tests {
    use super::Shard;

    #[test]
    fn shards_are_numbered_from_one_and_have_each_item_once() {
        for text in ["", "3", "0/4", "5/4", "1/0", "-1/4", "1/4/4", "x/y"] {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
        let kept = |text: &str| {
            let mut items: Vec<usize> = (1..=7).collect();
            Shard::parse(text).unwrap().keep(&mut items);
            items
        };
        assert_eq!((kept("1/3"), kept("2/3"), kept("3/3")), (vec![1, 4, 7], vec![2, 5], vec![3, 6]));
        assert_eq!((kept("1/1").len(), kept("9/9")), (7, vec![]));
    }
}
