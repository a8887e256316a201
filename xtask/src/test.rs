//! `cargo xtask test`: everything that must hold before a change lands.

use std::{num::NonZero, path::Path, process::Command};

use anyhow::Result;

use crate::{
    attacks,
    command::{cargo, linting_cargo, step, step_before_others, step_in_background},
    disk::test_builds,
    environment::{BuildProfile, Environment, require_space},
    tidy,
};

/// Packages that the tests use in addition to the runtime: model libraries for `extract`, pytest and ruff, pandas for the
/// example, trainers for the recipe (they bring transformers), Ray for a fleet on this machine.
const TEST_PACKAGES: &[&str] =
    &["pytest", "pytest-xdist", "ruff", "torchvision", "timm", "pandas", "trl", "datasets", "ray"];

/// Each process imports PyTorch and has servers of its own: some 2 GiB.
const MOST_PYTHON_PROCESSES: usize = 8;

pub(crate) fn test(root: &Path) -> Result<()> {
    require_space(root, test_builds())?;
    step("rustfmt", cargo(root).args(["fmt", "--all", "--check"]))?;
    tidy::tidy(root, &[])?;
    // The Rust code is built while PyTorch is downloaded and unpacked.
    let build = || {
        // Benchmarks are only linted. The tests below are built by the same cargo, so nothing is compiled twice.
        let arguments = ["test", "--workspace", "--all-targets", "--no-run"];
        step("build and lint the Rust code", linting_cargo(root).args(arguments))
    };
    let environment = Environment::prepare_with(root, TEST_PACKAGES, BuildProfile::Linted, build)?;
    let ruff = |arguments: &[&str]| {
        let mut command = Command::new(&environment.python);
        // All Python of the repository; `pyproject.toml` has the exceptions.
        command.current_dir(root).args(["-m", "ruff"]).args(arguments).arg(".");
        step(&format!("ruff {}", arguments.join(" ")), &mut command)
    };
    ruff(&["check"])?;
    ruff(&["format", "--check"])?;
    // Most tests that take long wait for a fork server to start, for a compiler or for the core that measures.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = 2 * cores;
    let mut rust = linting_cargo(root);
    // One run names all failures.
    rust.args(["test", "--workspace", "--no-fail-fast"]).env("RUST_TEST_THREADS", threads.to_string());
    let mut python = Command::new(&environment.python);
    // The tests themselves put the files that take longest first. Sorted by their numbers of tests, as the plugin would, the guides
    // with few tests of a minute each come last, and one process runs them while the others have ended.
    python
        .current_dir(root)
        .args(["-m", "pytest", "--quiet", "--durations=15", "--dist=loadfile", "--no-loadscope-reorder"])
        .args(["--numprocesses", &(cores + cores / 2).min(MOST_PYTHON_PROCESSES).to_string(), "python/tests"])
        // Threads of OpenMP that wait for work would otherwise spin for milliseconds, on cores that other tests need.
        .env("OMP_WAIT_POLICY", "passive")
        .env("PYTHONPATH", &environment.site);
    // Both wait for compilers, servers and workers much of the time, and use one core of two. The tests in Rust end first, and have
    // built the command that runs the attacks.
    let (python, rust) = std::thread::scope(|scope| {
        let python = scope.spawn(|| step_in_background("Python tests", environment.apply(&mut python)));
        let rust = step_before_others("Rust tests", environment.apply(&mut rust))
            .and_then(|()| step_before_others("attacks", &mut attacks::command(root, &environment, &["--once"])));
        (python.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), rust)
    });
    match (python, rust) {
        (Err(python), Err(rust)) => Err(rust.context(format!("{python:#}"))),
        (python, rust) => python.and(rust),
    }
}
