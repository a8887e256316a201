//! Flags of `passnet optimize`.

use std::{path::PathBuf, str::FromStr};

use clap::Args;

use super::{
    agent::{AttemptArgs, ModelArgs},
    shared::positive,
};

/// Modes of `torch.compile` that `python/passnet/optimize.py` accepts.
const MODES: [&str; 4] = ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"];

#[derive(Args)]
#[command(
    after_help = "Examples:\n  passnet optimize model.py:build --device cuda --out my_library --report report.html\n  passnet optimize model.py:build --out my_library --author llm:my-model --base-url http://localhost:8000/v1"
)]
pub struct OptimizeArgs {
    /// Function that returns a model and the arguments of a call
    #[arg(value_name = "FILE.py:FUNCTION")]
    pub model: String,
    /// Directory for the pass library
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Device of the model: cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// Author of the passes: fuse (the built-in author), none (only those of --passes), dir:PATH (the same as --passes PATH), or
    /// llm:MODEL. A language model works on the parts of the model where fuse leaves the most time; fuse does the rest. Run the same
    /// command again to continue after an interrupt
    #[arg(long, default_value = "fuse")]
    pub author: OptimizeAuthor,
    /// Pass directory to apply before those of the author; may be repeated
    #[arg(long, value_name = "DIR")]
    pub passes: Vec<PathBuf>,
    /// Write an HTML page with all regions and times
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Mode of `torch.compile` to compare with; may be repeated
    #[arg(long, value_name = "MODE", default_value = "default", value_parser = MODES)]
    pub mode: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub server: ModelArgs,
    #[command(flatten)]
    pub attempt: AttemptArgs,
    #[command(flatten)]
    pub parts: PartArgs,
}

/// Parts that a language model works on, and their measurement.
#[derive(Args)]
#[command(next_help_heading = "Parts for a language model")]
pub struct PartArgs {
    /// Largest number of parts to work on
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = positive)]
    pub parts: usize,
    /// Number of attempts at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = positive)]
    pub agent_jobs: usize,
    /// Number of untimed calls before the first timed call of a part [default: 25]
    #[arg(long, value_name = "N")]
    pub warmup: Option<u32>,
    /// Number of timed calls of a part, of eager mode and of the passes [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: Option<u32>,
}

/// Author of the passes for one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptimizeAuthor {
    /// The built-in author.
    Fuse,
    /// No author: only given pass directories.
    None,
    /// A pass directory; the built-in author does the rest.
    Directory(PathBuf),
    /// A language model; the built-in author does the rest.
    Model(String),
}

impl FromStr for OptimizeAuthor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "fuse" => Ok(Self::Fuse),
            None if text == "none" => Ok(Self::None),
            Some(("dir", path)) if !path.is_empty() => Ok(Self::Directory(path.into())),
            Some(("llm", model)) if !model.is_empty() => Ok(Self::Model(model.to_owned())),
            _ => Err("expected fuse, none, dir:PATH or llm:MODEL; other authors write no passes for a whole model"
                .to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_of_a_model_are_those_that_write_passes() {
        let check = |text: &str, expected: Option<OptimizeAuthor>| assert_eq!(text.parse().ok(), expected, "{text}");
        check("fuse", Some(OptimizeAuthor::Fuse));
        check("none", Some(OptimizeAuthor::None));
        check("dir:a/b", Some(OptimizeAuthor::Directory("a/b".into())));
        check("llm:qwen:32b", Some(OptimizeAuthor::Model("qwen:32b".to_owned())));
        for wrong in ["", "dir:", "dir", "llm", "llm:", "fuse:x", "inductor", "Fuse"] {
            check(wrong, None);
        }
    }
}
