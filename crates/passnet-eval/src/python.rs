//! Which Python the workers run in.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::ZygoteConfig;

/// Runs a module of the package as a program, after putting the site directory first on the path.
const RUN_MODULE: &str = "\
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
    /// Directory with the `passnet` package; `None` where it is installed.
    pub site: Option<PathBuf>,
}

impl Interpreter {
    /// `PASSNET_PYTHON` where that is set; else the Python beside this program, as a wheel installs them; else
    /// `python3`. The package is taken from `PASSNET_SITE` where that is set.
    pub fn find() -> Self {
        let beside = || {
            let python = env::current_exe().ok()?.with_file_name("python");
            python.is_file().then_some(python)
        };
        let python = env::var_os("PASSNET_PYTHON").map(PathBuf::from).or_else(beside);
        let site = env::var_os("PASSNET_SITE").map(PathBuf::from);
        Self { python: python.unwrap_or_else(|| "python3".into()), site }
    }

    /// How to start the fork server with it.
    pub fn zygote(&self) -> ZygoteConfig {
        ZygoteConfig { site: self.site.clone(), ..ZygoteConfig::new(&self.python) }
    }

    /// A command that runs a module of the package, without standard input. Arguments are for the caller to add.
    pub fn module(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.args(["-I", "-c", RUN_MODULE]).arg(self.site.clone().unwrap_or_default()).arg(name);
        command.stdin(Stdio::null());
        command
    }
}
