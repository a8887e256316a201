//! `cargo xtask attacks`: the attack suite, by the command built from this tree.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{
    command::step,
    environment::{BuildProfile, Environment, target_dir},
};

/// Builds `passnet` and runs `passnet attacks attacks FLAGS`.
pub(crate) fn attacks(root: &Path, flags: &[&str]) -> Result<()> {
    let environment = Environment::prepare(root, &[], BuildProfile::Dev)?;
    run(root, &environment, flags)
}

/// Runs the attack suite like [`attacks`], with an environment and a command that exist already.
pub(crate) fn run(root: &Path, environment: &Environment, flags: &[&str]) -> Result<()> {
    let mut command = Command::new(target_dir(root).join("debug/passnet"));
    command.current_dir(root).args(["attacks", "attacks"]).args(flags);
    step("attacks", environment.apply(&mut command))
}
