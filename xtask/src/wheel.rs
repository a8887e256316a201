//! `cargo xtask wheel`: one wheel with the command, the extension module and the Python sources.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{command::step, environment::target_dir};

/// Builds `target/wheels/passnet-*.whl`. The build backend in `packaging` builds the command, and pip fetches maturin.
pub(crate) fn wheel(root: &Path) -> Result<()> {
    let python = std::env::var_os("PASSNET_PYTHON").unwrap_or_else(|| "python3".into());
    let mut pip = Command::new(python);
    pip.current_dir(root).args(["-m", "pip", "wheel", "--no-deps", "--wheel-dir"]).arg(target_dir(root).join("wheels"));
    step("build the wheel", pip.arg("."))
}
