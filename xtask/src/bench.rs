//! `cargo xtask bench`: figures, never assertions. Each benchmark prints the ratio to the obvious alternative,
//! measured in the same run.

use std::path::Path;

use anyhow::Result;

use crate::{
    cargo,
    environment::{Environment, Profile},
    step,
};

/// Reading samples: megabytes per second, and the ratio to a reader written in Python.
pub(crate) fn parse(root: &Path) -> Result<()> {
    step("bench parse", cargo(root).args(["bench", "--package", "passnet-python", "--bench", "parse"]))
}

/// Evaluating: time per graph outside the trials, and the ratio to one fresh Python process per graph.
pub(crate) fn eval(root: &Path) -> Result<()> {
    let environment = Environment::prepare(root, &[], Profile::Release)?;
    let mut command = cargo(root);
    command.args(["bench", "--package", "passnet-eval", "--bench", "overhead"]);
    step("bench eval", environment.apply(&mut command))
}
