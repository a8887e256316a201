//! Start and restart of the fork server. At most one runs at a time.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
};

use crate::{
    tree,
    zygote::Zygote,
    zygote_config::{ZygoteConfig, ZygoteError},
};

/// Keeps one fork server running: starts it on the first request, and again after it has died.
#[derive(Debug)]
pub struct Launcher {
    config: ZygoteConfig,
    current: Mutex<Option<Arc<Zygote>>>,
    /// Process id of the fork server, running or being started; 0 for none.
    pid: Arc<AtomicI32>,
    is_halted: AtomicBool,
}

impl Launcher {
    /// Creates a launcher. The fork server is started on the first request.
    pub fn new(config: ZygoteConfig) -> Self {
        Self { config, current: Mutex::new(None), pid: Arc::default(), is_halted: AtomicBool::new(false) }
    }

    /// Returns the running fork server.
    ///
    /// # Errors
    /// If the fork server cannot be started, or evaluations are halted.
    pub fn zygote(&self) -> Result<Arc<Zygote>, ZygoteError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_halted() {
            return Err(ZygoteError::Halted);
        }
        if let Some(zygote) = current.as_ref().filter(|zygote| zygote.is_alive()) {
            return Ok(Arc::clone(zygote));
        }
        if current.is_some() {
            tracing::warn!("the fork server died and is started again");
        }
        let zygote = Arc::new(Zygote::start_as(&self.config, Arc::clone(&self.pid))?);
        *current = Some(Arc::clone(&zygote));
        Ok(zygote)
    }

    /// Kills the fork server with all its descendants, including compilers. No other server is started until [`Self::resume`]. Returns
    /// without waiting: evaluations end by themselves once their workers are dead. A server that is just being started may survive this
    /// call; the next call kills it.
    pub(crate) fn halt(&self) {
        // The flag is set before the kill. An evaluation that loses its workers reads the flag, and would otherwise blame the candidate.
        self.is_halted.store(true, Ordering::SeqCst);
        let pid = self.pid.load(Ordering::SeqCst);
        if pid > 0 {
            tree::kill_below(pid, &BTreeSet::new());
            tree::kill(pid);
        }
    }

    /// Returns true between [`Self::halt`] and [`Self::resume`].
    pub(crate) fn is_halted(&self) -> bool {
        self.is_halted.load(Ordering::SeqCst)
    }

    /// Allows evaluations after [`Self::halt`].
    pub(crate) fn resume(&self) {
        self.is_halted.store(false, Ordering::SeqCst);
    }
}
