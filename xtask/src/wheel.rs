//! `cargo xtask wheel`: one wheel with the command, the extension module and the Python sources.

use std::{path::Path, process::Command};

use anyhow::Result;
use fs_err as fs;

use crate::{cargo, environment::target_dir, step};

/// Builds `target/wheels/passnet-*.whl`. The command is built first: maturin packs it as a script.
pub(crate) fn wheel(root: &Path) -> Result<()> {
    step("build passnet", cargo(root).args(["build", "--release", "--package", "passnet"]))?;
    let scripts = root.join("python/passnet.data/scripts");
    fs::create_dir_all(&scripts)?;
    fs::copy(target_dir(root).join("release/passnet"), scripts.join("passnet"))?;
    let mut maturin = Command::new("maturin");
    maturin.current_dir(root).args(["build", "--release", "--out"]).arg(target_dir(root).join("wheels"));
    step("build the wheel", &mut maturin)
}
