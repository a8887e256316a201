use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Who writes the pass directory of a task, as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AuthorSpec {
    /// The graph as captured, run by PyTorch's eager mode.
    Eager,
    /// The path of a pass directory with no rewriting in it.
    Noop,
    /// `torch.compile` with TorchInductor in the given mode (`default`, `max-autotune`, `reduce-overhead` ...).
    Inductor {
        /// The `mode` argument of `torch.compile`.
        mode: String,
    },
    /// The built-in author.
    Fuse,
    /// Pass directories on disk: `PATH/<task>` where that exists, else `PATH` itself.
    Dir {
        /// The path as given.
        path: String,
    },
    /// A language model with tools.
    Llm {
        /// The model's name, as its server knows it.
        model: String,
    },
}

/// An author name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown author `{0}`; known are eager, noop, fuse, inductor, inductor:MODE, dir:PATH, llm:MODEL")]
pub struct AuthorParseError(pub String);

impl FromStr for AuthorSpec {
    type Err = AuthorParseError;

    fn from_str(text: &str) -> Result<Self, AuthorParseError> {
        match text.split_once(':') {
            None if text == "eager" => Ok(Self::Eager),
            None if text == "noop" => Ok(Self::Noop),
            None if text == "fuse" => Ok(Self::Fuse),
            None if text == "inductor" => Ok(Self::Inductor { mode: "default".to_owned() }),
            Some(("inductor", mode)) if !mode.is_empty() => Ok(Self::Inductor { mode: mode.to_owned() }),
            Some(("dir", path)) if !path.is_empty() => Ok(Self::Dir { path: path.to_owned() }),
            Some(("llm", model)) if !model.is_empty() => Ok(Self::Llm { model: model.to_owned() }),
            _ => Err(AuthorParseError(text.to_owned())),
        }
    }
}

impl fmt::Display for AuthorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eager => f.write_str("eager"),
            Self::Noop => f.write_str("noop"),
            Self::Fuse => f.write_str("fuse"),
            Self::Inductor { mode } if mode == "default" => f.write_str("inductor"),
            Self::Inductor { mode } => write!(f, "inductor:{mode}"),
            Self::Dir { path } => write!(f, "dir:{path}"),
            Self::Llm { model } => write!(f, "llm:{model}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in
            ["eager", "noop", "fuse", "inductor", "inductor:max-autotune", "dir:passes/demo", "llm:org/model:v1"]
        {
            assert_eq!(name.parse::<AuthorSpec>().unwrap().to_string(), name);
        }
        for name in ["", "dir:", "eager:fast", "gpt"] {
            assert!(name.parse::<AuthorSpec>().is_err(), "{name}");
        }
    }
}
