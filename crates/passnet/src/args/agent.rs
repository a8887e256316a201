//! Flags of `passnet agent`, shared with `bench run --author llm:MODEL`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use passnet_agent::client::Api;

use super::shared::{Choice, MeasureArgs, SelectionArgs, choice};

const APIS: &[Choice<Api>] = &[("openai", "", Api::OpenAi), ("anthropic", "", Api::Anthropic)];

#[derive(Subcommand)]
pub(crate) enum AgentCommand {
    /// Attempt every task of a suite; the same command continues what was interrupted
    Run(Box<AgentRunArgs>),
    /// Carry the tool calls of trajectories out again and compare the verdicts
    Replay(ReplayArgs),
}

#[derive(Args)]
pub(crate) struct AgentRunArgs {
    /// Suite: a folder with `suite.json`, a folder of task folders, or a `.tar.zst` of either
    pub(crate) suite: PathBuf,
    /// Name of the model, as its server knows it
    #[arg(long)]
    pub(crate) model: String,
    /// Directory of the run; default agent-runs/SUITE-MODEL
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Attempts at a time
    #[arg(long, default_value_t = 8)]
    pub(crate) jobs: usize,
    /// Number of concurrent evaluations; timing is always exclusive. Default: 1 on a CPU, 4 on an accelerator
    #[arg(long)]
    pub(crate) evaluations: Option<usize>,
    #[command(flatten)]
    pub(crate) server: ModelArgs,
    #[command(flatten)]
    pub(crate) attempt: AttemptArgs,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
}

/// Address of the model and settings of its requests.
#[derive(Args)]
pub(crate) struct ModelArgs {
    /// Address of the server, e.g. http://localhost:8000/v1 [default: the provider's, by the model's name]
    #[arg(long)]
    pub(crate) base_url: Option<String>,
    /// Interface of the server [default: anthropic for models named claude*, else openai]
    #[arg(long, value_parser = choice(APIS))]
    pub(crate) api: Option<Api>,
    /// Environment variable that holds the API key [default: OPENAI_API_KEY or ANTHROPIC_API_KEY]
    #[arg(long, value_name = "VARIABLE", conflicts_with = "key_file")]
    pub(crate) key_env: Option<String>,
    /// File that holds the API key
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Temperature of sampling [default: the server's]
    #[arg(long)]
    pub(crate) temperature: Option<f64>,
    /// Most tokens of one answer
    #[arg(long, default_value_t = 16_384)]
    pub(crate) max_tokens: u32,
    /// Describe tools in the prompt and read calls from the text, for servers without tool calls
    #[arg(long)]
    pub(crate) text_tools: bool,
    /// Longest wait for one answer in seconds
    #[arg(long, default_value_t = 600.0)]
    pub(crate) request_timeout: f64,
    /// Further tries after a passing failure of the server
    #[arg(long, default_value_t = 6)]
    pub(crate) retries: u32,
    /// US dollars per million tokens: read, written, and read from the provider's cache
    #[arg(long, value_name = "IN,OUT[,CACHED]", value_delimiter = ',', num_args = 2..=3)]
    pub(crate) price: Option<Vec<f64>>,
}

/// When attempts end.
#[derive(Args)]
pub(crate) struct AttemptArgs {
    /// Attempts at each task
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) attempts: u32,
    /// Steps of an attempt
    #[arg(long, default_value_t = 50)]
    pub(crate) steps: u32,
    /// Tokens of the model's context; old observations are left out to stay below
    #[arg(long, default_value_t = 128_000)]
    pub(crate) context: u64,
    /// End an attempt after so many steps without a better score
    #[arg(long)]
    pub(crate) patience: Option<u32>,
    /// Seconds of an attempt, of the model and of the tools
    #[arg(long, default_value_t = 50_000.0)]
    pub(crate) attempt_time: f64,
    /// Tokens of an attempt, read and written
    #[arg(long)]
    pub(crate) attempt_tokens: Option<u64>,
    /// US dollars of an attempt
    #[arg(long)]
    pub(crate) attempt_cost: Option<f64>,
    /// Tokens of all attempts together
    #[arg(long)]
    pub(crate) run_tokens: Option<u64>,
    /// US dollars of all attempts together
    #[arg(long)]
    pub(crate) run_cost: Option<f64>,
    /// Directory with templates in place of the built-in ones: system.md, task.md, nudge.md
    #[arg(long, value_name = "DIR")]
    pub(crate) prompts: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ReplayArgs {
    /// Trajectories (JSONL), or the directory of a run
    pub(crate) trajectories: PathBuf,
    /// The suite that they are about
    #[arg(long)]
    pub(crate) suite: PathBuf,
    /// Only trajectories whose id or task begins with this
    #[arg(long)]
    pub(crate) only: Option<String>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) measure: MeasureArgs,
}
