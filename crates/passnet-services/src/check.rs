//! Quick checks of an interpreter and of the device that PyTorch finds with it.

use std::{
    env, io,
    path::{Path, PathBuf},
};

use crate::Interpreter;

/// Python program that asks PyTorch for a CUDA device, and fails with an error that says what is missing.
const FIND_DEVICE: &str = "import sys, torch; torch.cuda.get_device_properties(int(sys.argv[1]))";

/// Returns PyTorch's error message if PyTorch does not find a CUDA device (`cuda` or `cuda:N`), and `None` if it does.
pub fn device_problem(interpreter: &Interpreter, device: &str) -> Option<String> {
    let index = device.split_once(':').map_or("0", |(_, index)| index);
    match interpreter.code(FIND_DEVICE).arg(index).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            Some(last.unwrap_or("PyTorch does not find it").to_owned())
        }
        Err(error) => Some(format!("cannot start {}: {error}", interpreter.python.display())),
    }
}

/// Returns why a compiler cannot run on a device; `None` if it can. The compiler is one of `python/passnet/_compilers`, or the one in
/// `file`.
pub fn compiler_problem(interpreter: &Interpreter, name: &str, file: Option<&Path>, device: &str) -> Option<String> {
    let mut command = interpreter.module("passnet._compilers");
    command.args([name, device]).args(file);
    match command.output() {
        Ok(output) if output.status.success() => {
            let reason = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            (!reason.is_empty()).then_some(reason)
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            Some(last.unwrap_or("its file cannot be read").to_owned())
        }
        Err(error) => Some(format!("cannot start {}: {error}", interpreter.python.display())),
    }
}

/// Returns the C++ compiler of kernels: the one that `CXX` names, else `g++` or `c++`. `passnet.kernels` chooses in the same way.
///
/// # Errors
/// If there is no C++ compiler. The message says how to install or choose one.
pub fn cpp_compiler() -> Result<PathBuf, String> {
    let chosen = env::var("CXX").ok().filter(|name| !name.is_empty());
    let names = chosen.as_deref().map_or(vec!["g++", "c++"], |name| vec![name]);
    names
        .iter()
        .find_map(|name| on_path(name))
        .ok_or_else(|| format!("there is no compiler `{}`; install one or set CXX", names[0]))
}

fn on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| program.into());
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Python program that imports the packages that evaluations need, and prints the versions of the interpreter and of these packages.
/// An installation can be incomplete, so only an import shows that a package can be used.
const FIND_PACKAGES: &str = "\
import importlib, importlib.metadata as metadata, importlib.util as util, platform, sys
if sys.argv[1]:
    sys.path.insert(0, sys.argv[1])
found = [f'Python {platform.python_version()}']
missing, broken = [], []
for name, part in ('torch', 'torch'), ('numpy', 'numpy'), ('passnet', 'passnet._native'):
    if util.find_spec(name) is None:
        missing.append(name)
        continue
    try:
        found.append(f'{name} {metadata.version(name)}')
    except metadata.PackageNotFoundError:
        found.append(name)
    try:
        importlib.import_module(part)
    except Exception as error:
        broken.append(f'{part} cannot be imported ({type(error).__name__}: {error})'.replace('\\n', ' '))
for list in found, missing, broken:
    print(', '.join(list))
";

/// Packages that evaluations need, as an interpreter finds them. Each field is a list in words, empty if there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packages {
    /// The interpreter and the packages that it has, with their versions.
    pub found: String,
    /// Packages that are not installed.
    pub missing: String,
    /// Modules that cannot be imported, with the errors.
    pub broken: String,
}

impl Interpreter {
    /// Imports the packages that evaluations need. This takes seconds, because PyTorch is one of them.
    ///
    /// # Errors
    /// If the interpreter does not run.
    pub fn packages(&self) -> io::Result<Packages> {
        let site = self.site.clone().unwrap_or_default();
        let output = self.code(FIND_PACKAGES).arg(site).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines().map(str::to_owned);
        let found = lines.next().ok_or_else(|| io::Error::other("it does not run Python programs"))?;
        let (missing, broken) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        Ok(Packages { found, missing, broken })
    }
}
