//! Configuration and errors of the fork server.

use std::{io, path::PathBuf, time::Duration};

use passnet_record::PROTOCOL_VERSION;
use passnet_services::Interpreter;

/// Configuration of the fork server.
#[derive(Clone, Debug)]
pub struct ZygoteConfig {
    /// The Python interpreter, which must be able to import torch.
    pub python: PathBuf,
    /// Directory with the `passnet` package, which is put first on `sys.path`; `None` where the package is installed.
    pub site: Option<PathBuf>,
    /// True to pass only the environment variables of an allow-list, none of which can have a secret.
    pub clean_environment: bool,
    /// Time limit of the start. Importing torch from a cold disk takes many seconds.
    pub start_timeout: Duration,
}

impl ZygoteConfig {
    /// Returns the configuration for an interpreter in which the package is installed.
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
    /// The interpreter could not be started.
    #[error("cannot start `{python}`: {source}")]
    Spawn {
        python: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The fork server ended, or did not become ready in time.
    #[error("the fork server did not start ({why}); is PyTorch installed for `{python}`? Its last output:\n{log}")]
    Start {
        python: PathBuf,
        /// Description of the failure.
        why: String,
        /// End of its standard error.
        log: String,
    },
    /// The Python package uses another version of the protocol.
    #[error("the Python package uses protocol {found}, this program {PROTOCOL_VERSION}; install matching versions")]
    Protocol {
        /// Version of the Python side.
        found: u32,
    },
    /// Evaluations are halted, and no fork server is started until they are resumed.
    #[error("evaluations were stopped")]
    Halted,
    /// The fork server died, or did not answer.
    #[error("the fork server failed ({why}). Its last output:\n{log}")]
    Failed {
        /// Description of the failure.
        why: String,
        /// End of its standard error.
        log: String,
    },
}
