//! From flags to a referee, for `eval` and `bench run`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use passnet_eval::{Defences, EvalError, Referee, RefereeOptions, ZygoteConfig, ZygoteError, settings};
use passnet_record::{CacheMode, Device, Mode, RunSettings, SuiteManifest, Weights};
use passnet_run::cache_directory;
use passnet_services::{Interpreter, Packages, device_problem};

use crate::failure::{check_folder, unfit};
use passnet_flags::MeasureArgs;

/// Bytes in a GiB.
const GIB: f64 = (1_u64 << 30) as f64;
/// Evaluations at a time on an accelerator: one measures while others compile and check.
const ACCELERATOR_JOBS: usize = 4;

/// Starts a referee as the flags ask.
pub(crate) fn start(args: &MeasureArgs, jobs: Option<usize>) -> Result<Referee> {
    start_with(settings_of(args, None), jobs)
}

/// Starts a referee with the settings of the flags, and those of the suite where the flags are not set.
pub(crate) fn start_for(suite: &SuiteManifest, args: &MeasureArgs, jobs: Option<usize>) -> Result<Referee> {
    start_with(settings_of(args, suite.weights), jobs)
}

/// Starts a referee with the default settings, for one evaluation at a time.
pub(crate) fn start_on(device: Device) -> Result<Referee> {
    start_with(settings::sound(device), Some(1))
}

/// Starts a referee that authors ask for types and settings. The device need not be on this machine.
pub(super) fn start_for_authors(settings: RunSettings) -> Result<Referee> {
    let options = RefereeOptions {
        zygote: ZygoteConfig::from(Interpreter::find()),
        defences: Defences::ALL,
        cache: cache_directory(),
        jobs: 1,
    };
    Ok(Referee::new(settings, options)?)
}

/// Starts a referee on this machine.
pub(crate) fn start_with(settings: RunSettings, jobs: Option<usize>) -> Result<Referee> {
    let on_cpu = settings.device.is_cpu();
    let options = RefereeOptions {
        zygote: ZygoteConfig::from(Interpreter::find()),
        defences: Defences::ALL,
        cache: writable_cache()?,
        jobs: jobs.unwrap_or(if on_cpu { 1 } else { ACCELERATOR_JOBS }),
    };
    let python = options.zygote.python.clone();
    let device = settings.device.to_string();
    // Checked first, because a worker that finds no device ends with a traceback of many lines.
    if !on_cpu && let Some(problem) = device_problem(&Interpreter::find(), &device) {
        return Err(unfit(format!(
            "no device {device}: {problem}; `passnet doctor --device {device}` checks the machine"
        )));
    }
    Referee::new(settings, options).map_err(|error| match error {
        EvalError::Zygote(error) => unfit(without_packages(&error).unwrap_or_else(|| {
            format!(
                "{error}\nThe interpreter is {}; set PASSNET_PYTHON to one with PyTorch and PassNet",
                python.display()
            )
        })),
        other => other.into(),
    })
}

/// Returns the cache folder. Without one that can be written, the workers of every graph would fail.
fn writable_cache() -> Result<Option<PathBuf>> {
    let folder = cache_directory();
    if let Some(folder) = &folder {
        check_folder(folder).context("there is no usable cache folder; set PASSNET_CACHE to one")?;
    }
    Ok(folder)
}

/// Returns the error for an interpreter without a package that evaluations need, instead of the traceback of its import.
fn without_packages(error: &ZygoteError) -> Option<String> {
    let ZygoteError::Start { python, log, .. } = error else { return None };
    let Packages { found, missing, broken } = Interpreter::find().packages().ok()?;
    if missing.is_empty() && !broken.is_empty() {
        let python = python.display();
        return Some(format!("{python} has {found}, but {broken}; install the package again, or set PASSNET_PYTHON"));
    }
    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    if missing.is_empty() {
        // PyTorch is too old or damaged. A traceback in PyTorch's own files would not say so.
        let is_import =
            ["ImportError", "ModuleNotFoundError", "AttributeError"].iter().any(|kind| last.starts_with(kind));
        let python = python.display();
        return is_import.then(|| {
            format!(
                "{python} has {found}, which cannot be used ({last}); PassNet needs PyTorch 2.6 or newer and NumPy; set \
                 PASSNET_PYTHON to an interpreter that has them"
            )
        });
    }
    Some(format!(
        "{} has {found}, but not {missing}; install it there, or set PASSNET_PYTHON to an interpreter with PyTorch and \
         PassNet (its last output: {last})",
        python.display()
    ))
}

/// Returns the settings of the flags, with `weights` if no flag sets the weights.
pub(super) fn settings_of(args: &MeasureArgs, weights: Option<Weights>) -> RunSettings {
    let defaults = match args.mode {
        Mode::Sound => settings::sound(args.device),
        Mode::Paper => settings::paper(args.device),
    };
    RunSettings {
        seed: args.seed.or(defaults.seed),
        warmup: args.warmup.unwrap_or(defaults.warmup),
        trials: args.trials.unwrap_or(defaults.trials),
        correct_at: args.correct_at.unwrap_or(defaults.correct_at),
        paths: args.paths.map_or(defaults.paths, <[_]>::to_vec),
        weights: args.weights.or(weights).unwrap_or_default(),
        cache: if args.cold { CacheMode::Cold } else { CacheMode::Warm },
        threads: args.threads,
        timeout_s: args.timeout,
        memory_bytes: (args.memory * GIB) as u64,
        ..defaults
    }
}
