//! The Python that helpers and workers run in.

use std::{
    env,
    ffi::OsString,
    fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Python program that puts the site directory first on the path and runs a module of the package as a program. Until the module can
/// handle Ctrl-C, the signal ends the process silently: Python would print a traceback of the interrupted import. A signal that is
/// ignored stays ignored.
const RUN_MODULE: &str = "\
import _signal
if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
import runpy, sys
site, module = sys.argv[1:3]
if site:
    sys.path.insert(0, site)
sys.argv[1:3] = []
runpy.run_module(module, run_name='__main__', alter_sys=True)
";

/// An interpreter and where it finds the `passnet` package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The program.
    pub python: PathBuf,
    /// Directory with the `passnet` package; `None` where the package is installed in the interpreter's environment.
    pub site: Option<PathBuf>,
}

/// The reason for the choice of an interpreter, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpreterSource {
    /// The environment variable `PASSNET_PYTHON` names it.
    Variable,
    /// This program is installed in its environment, next to the package.
    Installed,
    /// The environment variable `VIRTUAL_ENV` names its environment.
    VirtualEnvironment,
    /// Nothing else is known: `python3` on the `PATH`.
    SearchPath,
}

impl fmt::Display for InterpreterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable => "named by PASSNET_PYTHON",
            Self::Installed => "PassNet is installed there",
            Self::VirtualEnvironment => "the active virtual environment, VIRTUAL_ENV",
            Self::SearchPath => "the first python3 on the PATH; set PASSNET_PYTHON to use another one",
        })
    }
}

impl Interpreter {
    /// Returns the interpreter to use; see [`Interpreter::find_with_source`].
    pub fn find() -> Self {
        Self::find_with_source().0
    }

    /// Returns the interpreter to use, and why: that of `PASSNET_PYTHON`, else the one in whose environment this program is
    /// installed, else that of the active virtual environment, else `python3`.
    ///
    /// An explicit variable wins, so that one command can be used with several environments. The package is taken from
    /// `PASSNET_SITE` if it is set.
    pub fn find_with_source() -> (Self, InterpreterSource) {
        let (python, source) = choose(|name| env::var_os(name), env::current_exe().ok().as_deref());
        (Self { python, site: env::var_os("PASSNET_SITE").map(PathBuf::from) }, source)
    }

    /// Returns a command that runs a module of the package without standard input. The caller adds arguments.
    pub fn module(&self, name: &str) -> Command {
        let mut command = self.code(RUN_MODULE);
        command.arg(self.site.clone().unwrap_or_default()).arg(name);
        command
    }

    /// Returns a command that runs Python source text without standard input. The caller adds arguments.
    pub fn code(&self, text: &str) -> Command {
        let mut command = Command::new(&self.python);
        // With `-I`, `PYTHONPATH` and the user's packages cannot replace modules of the package.
        command.args(["-I", "-c", text]).stdin(Stdio::null());
        command
    }

    /// Returns a command that runs a Python file as a program that can import the package.
    pub fn script(&self, path: &Path) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(path);
        if let Some(site) = &self.site {
            command.env("PYTHONPATH", site);
        }
        command
    }
}

fn choose(variable: impl Fn(&str) -> Option<OsString>, program: Option<&Path>) -> (PathBuf, InterpreterSource) {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(python) = set("PASSNET_PYTHON") {
        return (python, InterpreterSource::Variable);
    }
    if let Some(python) = program.and_then(Path::parent).and_then(installed_python) {
        return (python, InterpreterSource::Installed);
    }
    if let Some(python) = set("VIRTUAL_ENV").and_then(|root| python_in(&root.join("bin"))) {
        return (python, InterpreterSource::VirtualEnvironment);
    }
    ("python3".into(), InterpreterSource::SearchPath)
}

fn python_in(bin: &Path) -> Option<PathBuf> {
    ["python", "python3"].map(|name| bin.join(name)).into_iter().find(|python| python.is_file())
}

/// Returns the Python in the folder `bin` if the package is installed for that Python. A program that cargo built, in a folder such as
/// `/usr/local/bin`, can have an unrelated Python next to it.
fn installed_python(bin: &Path) -> Option<PathBuf> {
    let python = python_in(bin)?;
    let libraries = bin.parent()?.join("lib");
    let versions = fs::read_dir(libraries).ok()?.flatten().map(|entry| entry.path());
    versions
        .flat_map(|version| ["site-packages", "dist-packages"].map(|site| version.join(site)))
        .filter_map(|site| fs::read_dir(site).ok())
        .any(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| is_our_metadata(&entry.file_name()))))
        .then_some(python)
}

/// Returns whether a file name is the name of the metadata folder that installers write for the package. Editable installations have such
/// a folder, too.
fn is_our_metadata(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("passnet-") && name.ends_with(".dist-info"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_during_an_import_leaves_no_traceback() {
        let site = tempfile::tempdir().unwrap();
        let text = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n";
        fs::write(site.path().join("interrupted.py"), text).unwrap();
        let interpreter = Interpreter { python: "python3".into(), site: Some(site.path().to_owned()) };
        let output = interpreter.module("interrupted").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }

    #[test]
    fn an_explicit_choice_wins_then_the_installation_then_the_environment() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str, is_installed: bool| {
            let prefix = root.path().join(name);
            fs::create_dir_all(prefix.join("bin")).unwrap();
            fs::write(prefix.join("bin/python"), "").unwrap();
            let metadata = if is_installed { "passnet-0.2.0.dist-info" } else { "passnet_other-1.dist-info" };
            fs::create_dir_all(prefix.join("lib/python3.12/site-packages").join(metadata)).unwrap();
            prefix.join("bin")
        };
        let (installed, other) = (make("installed", true), make("other", false));
        let environment = root.path().join("other");
        let check = |variables: &[(&str, &Path)], bin: &Path, python: &Path, source| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.as_os_str().to_owned())
            };
            assert_eq!(choose(variable, Some(&bin.join("passnet"))), (python.to_owned(), source));
        };
        let explicit = Path::new("/explicit/python");
        let active = ("VIRTUAL_ENV", environment.as_path());
        check(&[("PASSNET_PYTHON", explicit), active], &installed, explicit, InterpreterSource::Variable);
        check(&[active], &installed, &installed.join("python"), InterpreterSource::Installed);
        check(
            &[("PASSNET_PYTHON", Path::new(""))],
            &installed,
            &installed.join("python"),
            InterpreterSource::Installed,
        );
        // A Python in the same folder that does not have the package is not chosen.
        check(&[], &other, Path::new("python3"), InterpreterSource::SearchPath);
        check(&[active], &other, &other.join("python"), InterpreterSource::VirtualEnvironment);
        let missing = ("VIRTUAL_ENV", Path::new("/nonexistent"));
        check(&[missing], &other, Path::new("python3"), InterpreterSource::SearchPath);
    }
}
