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

/// Python program that prints the names and versions of the interpreter and of the packages that evaluations need, without importing
/// them.
const FIND_PACKAGES: &str = "\
import importlib.metadata as metadata, importlib.util as util, platform, sys
if sys.argv[1]:
    sys.path.insert(0, sys.argv[1])
found = [f'Python {platform.python_version()}']
missing = []
for name in ('torch', 'numpy', 'passnet'):
    try:
        found.append(f'{name} {metadata.version(name)}')
    except metadata.PackageNotFoundError:
        (found if util.find_spec(name) else missing).append(name)
print(', '.join(found))
print(', '.join(missing))
";

impl Interpreter {
    /// Returns the interpreter and its packages as text, and the packages that are missing (empty if none is).
    ///
    /// # Errors
    /// If the interpreter does not run.
    pub fn packages(&self) -> io::Result<(String, String)> {
        let site = self.site.clone().unwrap_or_default();
        let output = self.code(FIND_PACKAGES).arg(site).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines().map(str::to_owned);
        let found = lines.next().ok_or_else(|| io::Error::other("it does not run Python programs"))?;
        Ok((found, lines.next().unwrap_or_default()))
    }
}
