//! From flags to a referee, for `eval` and `bench run`.

use std::path::PathBuf;

use anyhow::Result;
use passnet_eval::{Defences, EvalError, Referee, RefereeOptions, python::Interpreter, settings};
use passnet_record::{CacheMode, ExecutionPath, RunSettings};

use crate::{
    args::{MeasureArgs, Mode, Paths},
    failure::unfit,
};

/// Bytes in a GiB.
const GIB: f64 = (1_u64 << 30) as f64;
/// Evaluations at a time on an accelerator: one measures while others compile and check.
const ACCELERATOR_JOBS: usize = 4;

/// Starts a referee as the flags ask.
pub(crate) fn referee(args: &MeasureArgs, jobs: Option<usize>) -> Result<Referee> {
    referee_with(settings_of(args), jobs)
}

/// Starts a referee on this machine.
pub(crate) fn referee_with(settings: RunSettings, jobs: Option<usize>) -> Result<Referee> {
    let on_cpu = settings.device == "cpu";
    let options = RefereeOptions {
        zygote: Interpreter::find().zygote(),
        defences: Defences::ALL,
        cache: cache_directory(),
        jobs: jobs.unwrap_or(if on_cpu { 1 } else { ACCELERATOR_JOBS }),
    };
    let python = options.zygote.python.clone();
    Referee::new(settings, options).map_err(|error| match error {
        EvalError::Zygote(error) => unfit(format!(
            "{error}\nThe interpreter is {}; set PASSNET_PYTHON to one with PyTorch and PassNet",
            python.display()
        )),
        other => other.into(),
    })
}

fn settings_of(args: &MeasureArgs) -> RunSettings {
    let device = if args.device == "cuda" { "cuda:0" } else { &args.device };
    let defaults = match args.mode {
        Mode::Sound => settings::sound(device),
        Mode::Paper => settings::paper(device),
    };
    RunSettings {
        seed: args.seed.unwrap_or(defaults.seed),
        warmup: args.warmup.unwrap_or(defaults.warmup),
        trials: args.trials.unwrap_or(defaults.trials),
        correct_at: args.correct_at.unwrap_or(defaults.correct_at),
        paths: args.paths.map_or(defaults.paths, paths),
        cache: if args.cold { CacheMode::Cold } else { CacheMode::Warm },
        threads: args.threads,
        timeout_s: args.timeout,
        memory_bytes: (args.memory * GIB) as u64,
        ..defaults
    }
}

fn paths(flag: Paths) -> Vec<ExecutionPath> {
    match flag {
        Paths::Direct => vec![ExecutionPath::Direct],
        Paths::Compiled => vec![ExecutionPath::Compiled],
        Paths::Both => vec![ExecutionPath::Direct, ExecutionPath::Compiled],
    }
}

/// Where compiled kernels of trusted authors are kept: `PASSNET_CACHE`, else the user's cache directory.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let under = |variable: &str, below: &str| std::env::var_os(variable).map(|base| PathBuf::from(base).join(below));
    under("PASSNET_CACHE", "")
        .or_else(|| under("XDG_CACHE_HOME", "passnet"))
        .or_else(|| under("HOME", ".cache/passnet"))
}
