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
    step("attacks", &mut command(root, &environment, flags))
}

/// Returns the command of [`attacks`], for an environment and a build that exist.
pub(crate) fn command(root: &Path, environment: &Environment, flags: &[&str]) -> Command {
    let mut command = Command::new(target_dir(root).join("debug/passnet"));
    environment.apply(command.current_dir(root).args(["attacks", "attacks"]).args(flags));
    command
}
