//! Helpers of the tests with real Python.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests say why they skip, and fail by panicking"
)]

use std::process::{Command, Stdio};

use passnet_eval::{Defences, Referee, RefereeOptions, settings};
use passnet_record::{DType, Device, GraphId, RunSettings, TensorMeta};
use passnet_run::GraphSample;
use passnet_services::Interpreter;

/// Returns the interpreter named by `PASSNET_PYTHON` (else `python3`), if it can import torch. Prints the reason otherwise.
pub(crate) fn python_with_torch() -> Option<String> {
    let python = std::env::var("PASSNET_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python)
        .args(["-I", "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        println!("skipped: `{python}` has no torch; set PASSNET_PYTHON to an interpreter that has");
    }
    found.then_some(python)
}

/// Returns whether the interpreter finds torch and the `passnet` package. Prints the reason if not.
pub(crate) fn interpreter() -> Option<Interpreter> {
    python_with_torch()?;
    let interpreter = Interpreter::find();
    let found =
        interpreter.module("passnet._worker.protocol").stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    if !found {
        println!("skipped: the interpreter has no passnet package with its native module; set PASSNET_SITE");
    }
    found.then_some(interpreter)
}

/// Returns a referee for small CPU graphs with quick settings, if there is an interpreter.
pub(crate) fn referee(adapt: impl FnOnce(&mut RunSettings)) -> Option<Referee> {
    let interpreter = interpreter()?;
    let mut quick = RunSettings { warmup: 3, trials: 20, rounds: 2, max_remeasure: 0, ..settings::sound(Device::Cpu) };
    adapt(&mut quick);
    // Tests of the referee need candidates that the lint would reject.
    let defences = Defences { lint: false, ..Defences::ALL };
    let options =
        RefereeOptions { zygote: passnet_eval::ZygoteConfig::from(interpreter), defences, cache: None, jobs: 1 };
    Some(Referee::new(quick, options).unwrap())
}

/// Returns a referee whose workers are the stand-in of `fake_site`, which needs no torch.
pub(crate) fn fake_referee(adapt: impl FnOnce(&mut RunSettings)) -> Option<Referee> {
    let python = Interpreter::find().python;
    if !Command::new(&python).arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("skipped: `{}` does not run; set PASSNET_PYTHON", python.display());
        return None;
    }
    let site = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_site");
    let mut quick = RunSettings { warmup: 1, trials: 10, rounds: 2, max_remeasure: 0, ..settings::sound(Device::Cpu) };
    quick.paths.truncate(1);
    adapt(&mut quick);
    let defences = Defences { lint: false, sandbox: false, ..Defences::ALL };
    let zygote = passnet_eval::ZygoteConfig { site: Some(site), ..passnet_eval::ZygoteConfig::new(python) };
    let options = RefereeOptions { zygote, defences, cache: None, jobs: 1 };
    Some(Referee::new(quick, options).unwrap())
}

/// Returns a graph of float32 inputs, from its wire form.
pub(crate) fn graph(wire: &str, inputs: &[(&str, &[u64])]) -> GraphSample {
    let metas = inputs.iter().map(|(name, shape)| TensorMeta {
        name: (*name).to_owned(),
        original_name: None,
        shape: shape.to_vec(),
        dtype: DType::Float32,
        device: "cuda:0".to_owned(),
        mean: Some(0.1),
        std: Some(1.0),
        data: None,
        min_val: None,
        max_val: None,
    });
    let id = GraphId { task: "task".to_owned(), graph: "000".to_owned() };
    GraphSample::new(id, passnet_graph::wire::from_json(wire).unwrap(), metas.collect())
}
