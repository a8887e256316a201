//! A referee whose workers need no torch, and a run over the first tasks of the bundled suite.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking and say why they skip"
)]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    time::Duration,
};

use passnet_agent::{
    AgentRunOutcome, AttemptLimits, Evaluator, RunOptions, Templates, Update, VerdictCache,
    client::{ApiKey, ChatApi, ClientOptions, ModelClient},
    run,
};
use passnet_eval::{Defences, Referee, RefereeOptions, ZygoteConfig, settings};
use passnet_record::{Device, RunSettings};
use passnet_run::{Selection, Suite};
use passnet_services::Interpreter;

pub(crate) fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/demo")
}

/// The first tasks of the bundled suite, one graph each.
pub(crate) fn suite(tasks: usize) -> Suite {
    Suite::load(&bundled(), &Selection { tasks: Some(tasks), graphs: Some(1), ..Selection::default() }).unwrap()
}

/// Returns an evaluator whose workers obey the file `behaviour` of the pass directory; `None` without Python.
pub(crate) fn evaluator(cache: VerdictCache) -> Option<Evaluator> {
    evaluator_on(Device::Cpu, cache)
}

/// Returns an evaluator for a device. The fake workers use only its name.
pub(crate) fn evaluator_on(device: Device, cache: VerdictCache) -> Option<Evaluator> {
    let python = Interpreter::find().python;
    if !Command::new(&python).arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("skipped: `{}` does not run; set PASSNET_PYTHON", python.display());
        return None;
    }
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../passnet-eval/tests/fake_site");
    let mut quick = RunSettings { warmup: 1, trials: 10, rounds: 2, max_remeasure: 0, ..settings::sound(device) };
    quick.paths.truncate(1);
    // The test is not about the speed of a loaded machine.
    quick.max_fluctuation = f64::MAX;
    (quick.check_rounds, quick.adversarial) = (1, Vec::new());
    let zygote = ZygoteConfig { site: Some(site), ..ZygoteConfig::new(python) };
    let defences = Defences { lint: false, sandbox: false, ..Defences::ALL };
    let options = RefereeOptions { zygote, defences, cache: None, jobs: 2 };
    Some(Evaluator::new(Referee::new(quick, options).unwrap(), cache))
}

pub(crate) fn options() -> RunOptions {
    let limits = AttemptLimits {
        steps: 12,
        tokens: None,
        cost_usd: None,
        time: Duration::from_secs(600),
        patience: None,
        context: 100_000,
        fixed_plan: false,
    };
    let (tokens, cost_usd) = (None, None);
    RunOptions {
        attempts: 1,
        jobs: 4,
        limits,
        seed: 7,
        tokens,
        cost_usd,
        templates: Templates::default(),
        to_beat: BTreeMap::new(),
    }
}

pub(crate) fn client_options(url: &str) -> ClientOptions {
    ClientOptions {
        model: "test-model".to_owned(),
        base_url: url.to_owned(),
        api: ChatApi::OpenAi,
        key: ApiKey::default(),
        temperature: Some(0.0),
        max_tokens: 1000,
        text_tools: false,
        timeout: Duration::from_secs(10),
        retries: 3,
        backoff: Duration::from_millis(5),
        prices: None,
    }
}

pub(crate) fn client(url: &str) -> ModelClient {
    ModelClient::new(client_options(url))
}

/// A whole run without an interruption.
pub(crate) fn run_all(
    evaluator: &Evaluator,
    suite: &Suite,
    url: &str,
    options: &RunOptions,
    directory: &Path,
) -> AgentRunOutcome {
    let quiet = |_: Update<'_>| ();
    run(evaluator, suite, &client(url), options, directory, &AtomicBool::new(false), &quiet).unwrap()
}
