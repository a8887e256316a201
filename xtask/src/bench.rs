//! `cargo xtask bench`: figures, never assertions. Each benchmark prints the ratio to the obvious alternative,
//! measured in the same run.

use std::path::Path;

use anyhow::Result;

use crate::{
    command::{cargo, step},
    environment::{BuildProfile, Environment},
};

/// Reading samples: megabytes per second, and the ratio to a reader written in Python.
pub(crate) fn parse(root: &Path) -> Result<()> {
    step("bench parse", cargo(root).args(["bench", "--package", "passnet-graphnet", "--bench", "parse"]))
}

/// Checking pass directories: milliseconds per directory.
pub(crate) fn lint(root: &Path) -> Result<()> {
    step("bench lint", cargo(root).args(["bench", "--package", "passnet-lint", "--bench", "lint"]))
}

/// Evaluating: what the sandbox adds.
pub(crate) fn sandbox(root: &Path) -> Result<()> {
    eval_bench(root, "bench sandbox", "sandbox")
}

/// Evaluating: time per graph outside the trials, and the ratio to one fresh Python process per graph.
pub(crate) fn eval(root: &Path) -> Result<()> {
    eval_bench(root, "bench eval", "overhead")
}

fn eval_bench(root: &Path, label: &str, name: &str) -> Result<()> {
    let environment = Environment::prepare(root, &[], BuildProfile::Release)?;
    let mut command = cargo(root);
    command.args(["bench", "--package", "passnet-eval", "--bench", name]);
    step(label, environment.apply(&mut command))
}

/// Weight and time of every kind of page at 2,000 graphs x 20 runs.
pub(crate) fn pages(root: &Path) -> Result<()> {
    step("bench pages", cargo(root).args(["bench", "--package", "passnet", "--bench", "pages"]))
}
