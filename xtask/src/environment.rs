//! The Python side: an interpreter with PyTorch, and the extension module built from this tree.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::{
    command::{build_workspace, cargo, linting_cargo, step},
    disk,
};

/// Packages that every run needs. PyTorch brings Triton with it.
const RUNTIME_PACKAGES: &[&str] = &["torch", "numpy", "setuptools"];

/// Build profile of the extension module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildProfile {
    /// Optimised, for measurements.
    Release,
    /// Shares its dependencies with the tests.
    Dev,
    /// Built and linted together with the tests.
    Linted,
}

/// A Python interpreter that can run PassNet from this tree.
pub(crate) struct Environment {
    pub(crate) python: PathBuf,
    /// Directory that holds the `passnet` package with its extension module.
    pub(crate) site: PathBuf,
}

impl Environment {
    /// Finds or makes the interpreter, installs missing `packages` in addition to those of the runtime (only into
    /// an environment of our own), and builds the extension module into `python/passnet`.
    pub(crate) fn prepare(root: &Path, packages: &[&str], profile: BuildProfile) -> Result<Self> {
        Self::prepare_with(root, packages, profile, || Ok(()))
    }

    /// Prepares like [`Self::prepare`], with a further build before that of the extension module. PyTorch is downloaded
    /// and unpacked meanwhile.
    pub(crate) fn prepare_with(
        root: &Path,
        packages: &[&str],
        profile: BuildProfile,
        build: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        let (python, built) = std::thread::scope(|scope| {
            // Downloading waits for the network and building for the CPU, so they run at the same time.
            let python = scope.spawn(|| match std::env::var_os("PASSNET_PYTHON") {
                Some(python) => existing_interpreter(PathBuf::from(python)),
                None => own_interpreter(root, packages),
            });
            let built = build().and_then(|()| build_extension(root, profile));
            (python.join(), built)
        });
        built?;
        let python = python.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Self { python, site: root.join("python") })
    }

    /// Lets a command find this environment.
    pub(crate) fn apply<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("PASSNET_PYTHON", &self.python).env("PASSNET_SITE", &self.site)
    }

    /// Returns whether PyTorch sees a CUDA device.
    pub(crate) fn has_cuda(&self) -> Result<bool> {
        // PyTorch is asked and not the driver: a GPU that it cannot use would fail every run of the demo.
        let output = Command::new(&self.python)
            .args(["-c", "import torch; print(torch.cuda.is_available())"])
            .output()
            .with_context(|| format!("cannot run {}", self.python.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim() == "True")
    }
}

/// Refuses to begin if the packages and so many bytes of builds do not fit on the disk.
///
/// Where PyTorch is installed, or the user has chosen an interpreter, nothing is refused.
pub(crate) fn require_space(root: &Path, builds: u64) -> Result<()> {
    let venv = root.join("target/venv");
    if std::env::var_os("PASSNET_PYTHON").is_some() || is_installed(&venv.join("bin/python"), "torch") {
        return Ok(());
    }
    disk::require(&venv, &target_dir(root), builds)
}

fn existing_interpreter(python: PathBuf) -> Result<PathBuf> {
    let check = Command::new(&python).args(["-c", "import torch"]).output();
    match check {
        // An interpreter that the user names is used as it is: nothing is installed into it.
        Ok(output) if output.status.success() => Ok(python),
        Ok(output) => bail!(
            "PASSNET_PYTHON={} cannot import torch; install it there or unset the variable\n{}",
            python.display(),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => bail!("PASSNET_PYTHON={} cannot be run: {error}", python.display()),
    }
}

fn own_interpreter(root: &Path, packages: &[&str]) -> Result<PathBuf> {
    let venv = root.join("target/venv");
    let python = venv.join("bin/python");
    if !python.exists() {
        fs::create_dir_all(root.join("target"))?;
        step("make a Python environment", Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let wanted = RUNTIME_PACKAGES.iter().chain(packages);
    let missing: Vec<&str> = wanted.copied().filter(|package| !is_installed(&python, package)).collect();
    if !missing.is_empty() {
        let mut pip = Command::new(&python);
        // Python compiles a module when it is first imported: that is a small part of them.
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]).args(&missing);
        if missing.contains(&"torch") && !disk::room_for_copies(&venv)? {
            pip.arg("--no-cache-dir");
        }
        step(&format!("install {} (some gigabytes the first time)", missing.join(", ")), &mut pip)?;
    }
    Ok(python)
}

fn is_installed(python: &Path, package: &str) -> bool {
    // By metadata, not by an import: importing PyTorch takes seconds.
    let code = format!("import importlib.metadata as m; m.version({package:?})");
    Command::new(python).args(["-c", &code]).output().is_ok_and(|output| output.status.success())
}

/// Builds `passnet._native` and copies it to the Python sources, so that the tree itself is importable.
fn build_extension(root: &Path, profile: BuildProfile) -> Result<()> {
    let folder = match profile {
        BuildProfile::Release => {
            let arguments = ["build", "--package", "passnet-python", "--release"];
            step("build the extension module", cargo(root).args(arguments))?;
            "release"
        }
        BuildProfile::Dev | BuildProfile::Linted => {
            build_workspace(if profile == BuildProfile::Linted { linting_cargo(root) } else { cargo(root) })?;
            "debug"
        }
    };
    let built = target_dir(root).join(folder).join("libpassnet_python.so");
    let place = root.join("python/passnet/_native.abi3.so");
    // A new file replaces the old one: a running process keeps the one it has mapped.
    let fresh = place.with_extension("new");
    fs::copy(&built, &fresh).context("the extension module was not built")?;
    fs::rename(&fresh, &place)?;
    Ok(())
}

/// Returns the folder that cargo builds in.
pub(crate) fn target_dir(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
