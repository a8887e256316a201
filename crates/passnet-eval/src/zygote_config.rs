//! Configuration and errors of the fork server.

use std::{io, path::PathBuf, time::Duration};

use passnet_record::PROTOCOL_VERSION;
use passnet_services::Interpreter;

/// Configuration of the fork server.
#[derive(Clone, Debug)]
pub struct ZygoteConfig {
    /// The Python interpreter; it has to find torch.
    pub python: PathBuf,
    /// Directory with the `passnet` package, put first on `sys.path`; `None` where the interpreter finds it itself.
    pub site: Option<PathBuf>,
    /// Give it only the variables of an allow-list, and none with a secret.
    pub clean_environment: bool,
    /// Time limit of starting: importing torch from a cold disk takes many seconds.
    pub start_timeout: Duration,
}

impl ZygoteConfig {
    /// The given interpreter with its own packages.
    pub fn new(python: impl Into<PathBuf>) -> Self {
        Self { python: python.into(), site: None, clean_environment: true, start_timeout: Duration::from_secs(120) }
    }
}

impl From<Interpreter> for ZygoteConfig {
    fn from(interpreter: Interpreter) -> Self {
        Self { site: interpreter.site, ..Self::new(interpreter.python) }
    }
}

/// Error of the fork server.
#[derive(Debug, thiserror::Error)]
pub enum ZygoteError {
    /// The interpreter could not be started at all.
    #[error("cannot start `{python}`: {source}")]
    Spawn {
        /// The interpreter.
        python: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// It ended or stayed silent instead of getting ready.
    #[error("the fork server did not get ready ({why}); is PyTorch installed for `{python}`? Its last words:\n{log}")]
    Start {
        /// The interpreter.
        python: PathBuf,
        /// Description of the failure.
        why: String,
        /// End of its standard error.
        log: String,
    },
    /// It speaks another version of the protocol.
    #[error("the Python package speaks protocol {found}, this program {PROTOCOL_VERSION}; install matching versions")]
    Protocol {
        /// Version of the Python side.
        found: u32,
    },
    /// Evaluations were stopped, and no fork server is started any more.
    #[error("evaluations were stopped")]
    Halted,
    /// It died, or did not answer.
    #[error("the fork server failed ({why}). Its last words:\n{log}")]
    Failed {
        /// Description of the failure.
        why: String,
        /// End of its standard error.
        log: String,
    },
}
