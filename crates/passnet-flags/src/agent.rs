//! Flags of `passnet agent`, shared with `bench run --author llm:MODEL`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use passnet_agent::client::{ChatApi, Prices};

use super::shared::{Choice, MeasureArgs, SelectionArgs, above_zero, choice, positive};

const APIS: &[Choice<ChatApi>] = &[("openai", "", ChatApi::OpenAi), ("anthropic", "", ChatApi::Anthropic)];

#[derive(Subcommand)]
pub enum AgentCommand {
    /// Let a model attempt every task of a suite; run the same command again to resume
    Run(Box<AgentRunArgs>),
    /// Run the tool calls of trajectories again, and compare the verdicts
    Replay(ReplayArgs),
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  passnet agent run suites/demo --model my-model --base-url http://localhost:8000/v1 --steps 12"
)]
pub struct AgentRunArgs {
    /// Suite: a folder with `suite.json`, a folder of task folders, a Parquet dataset, or a `.tar.zst` of a folder
    pub suite: PathBuf,
    /// Name of the model on its server
    #[arg(long, value_name = "NAME")]
    pub model: String,
    /// Directory of the run [default: agent-runs/SUITE-MODEL]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of attempts at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = positive)]
    pub jobs: usize,
    /// Number of evaluations at a time; timing is always exclusive [default: 1 on a CPU, 4 on a GPU]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub evaluations: Option<usize>,
    #[command(flatten)]
    pub tools: ToolArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub server: ModelArgs,
    #[command(flatten)]
    pub attempt: AttemptArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Tools of a model that are off by default.
#[derive(Args)]
pub struct ToolArgs {
    /// Let the tool `profile` also run `ncu` and `compute-sanitizer`. They run passes outside of the sandbox, with your rights
    ///
    /// Passes that break an integrity rule are not run. Use it on a machine without secrets, where you would run these passes yourself.
    #[arg(long)]
    pub profile_tools: bool,
}

/// Address of the model and settings of its requests.
#[derive(Args)]
#[command(next_help_heading = "Language model")]
pub struct ModelArgs {
    /// Address of the server, for example http://localhost:8000/v1 [default: that of the provider whose models have such names]
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Protocol of the server [default: anthropic for models named claude*, else openai]
    #[arg(long, value_parser = choice(APIS))]
    pub api: Option<ChatApi>,
    /// Environment variable that holds the API key [default: OPENAI_API_KEY or ANTHROPIC_API_KEY]
    #[arg(long, value_name = "VARIABLE", conflicts_with = "key_file")]
    pub key_env: Option<String>,
    /// File that holds the API key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Sampling temperature [default: the server's]
    #[arg(long, value_name = "NUMBER")]
    pub temperature: Option<f64>,
    /// Largest number of tokens in one reply
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    pub max_tokens: u32,
    /// Describe tools in the prompt and read tool calls from the text, for servers without an interface for them
    #[arg(long)]
    pub text_tools: bool,
    /// Time limit for one reply, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = above_zero, default_value = "600")]
    pub request_timeout: f64,
    /// Number of retries after a temporary failure of the server
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub retries: u32,
    /// Price in US dollars per million tokens: input, output, and input from the provider's cache
    #[arg(long, value_name = "IN,OUT[,CACHED]", value_parser = prices)]
    pub price: Option<Prices>,
}

/// Parses two or three prices. Input from the cache costs as much as other input if it has no price.
fn prices(text: &str) -> Result<Prices, String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.iter().all(|price| price.is_finite() && *price >= 0.0));
    match numbers.as_deref() {
        Some(&[input, output]) => Ok(Prices { input, output, cached: input }),
        Some(&[input, output, cached]) => Ok(Prices { input, output, cached }),
        _ => Err("expected two or three prices of at least 0, for example 3,15 or 3,15,0.3".to_owned()),
    }
}

/// Number, length and budget of attempts.
#[derive(Args)]
#[command(next_help_heading = "Attempts of a language model")]
pub struct AttemptArgs {
    /// Number of attempts at each task
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub attempts: u32,
    /// Largest number of replies in an attempt
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub steps: u32,
    /// Context length of the model, in tokens; old tool results are dropped to stay below it
    #[arg(long, value_name = "TOKENS", default_value_t = 128_000)]
    pub context: u64,
    /// End an attempt after N replies without a better score [default: no limit]
    #[arg(long, value_name = "N")]
    pub patience: Option<u32>,
    /// Time limit for an attempt, model and tools together, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 50_000.0)]
    pub attempt_time: f64,
    /// Token budget of an attempt, input and output together [default: no limit]
    #[arg(long, value_name = "TOKENS")]
    pub attempt_tokens: Option<u64>,
    /// Budget of an attempt in US dollars; needs --price [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub attempt_cost: Option<f64>,
    /// Token budget of the whole run [default: no limit]
    #[arg(long, value_name = "TOKENS")]
    pub run_tokens: Option<u64>,
    /// Budget of the whole run in US dollars; needs --price [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub run_cost: Option<f64>,
    /// Directory with prompt templates that replace the built-in ones: system.md, task.md, nudge.md
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// Trajectories (JSONL), or a run directory
    pub trajectories: PathBuf,
    /// Suite of the trajectories
    #[arg(long, value_name = "SUITE")]
    pub suite: PathBuf,
    /// Only trajectories whose id or task begins with TEXT
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_one_value() {
        let check = |text: &str, expected: Option<[f64; 3]>| {
            let found = prices(text).ok().map(|prices| [prices.input, prices.output, prices.cached]);
            assert_eq!(found, expected, "{text}");
        };
        check("3,15", Some([3.0, 15.0, 3.0]));
        check("3, 15, 0.3", Some([3.0, 15.0, 0.3]));
        for wrong in ["", "3", "3,", "1,2,3,4", "-1,2", "nan,1", "a,b"] {
            check(wrong, None);
        }
    }
}
