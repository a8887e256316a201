//! The fork server, which is started once and forks all workers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    path::Path,
    process::{Child, Stdio},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicI32, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use passnet_record::{ForkReply, ForkRequest, PROTOCOL_VERSION, ZygoteInfo};
use passnet_services::Interpreter;

use crate::{
    channel::{Channel, ChannelError},
    environment,
    resource_watch::ResourceWatch,
    tree,
    zygote_config::{ZygoteConfig, ZygoteError},
};

/// Time limit of forking spare workers, which takes milliseconds.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit of setting up the compiler. It takes 5 seconds, or 20 seconds if PyTorch's headers are not precompiled yet, and several
/// times as long on a busy machine.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(180);

/// Python program of the fork server. Its standard input is the control socket, which the program moves to another descriptor before it
/// calls `main`.
///
/// Imports take seconds, and a minute on a busy machine. If the command is killed meanwhile, the socket raises `SIGIO`, which ends the
/// process. No request arrives before the fork server is ready.
const BOOT: &str = "\
import fcntl, os, select, sys
control = os.dup(int(sys.argv[1]))
null = os.open(os.devnull, os.O_RDONLY)
os.dup2(null, 0)
os.close(null)
flags = fcntl.fcntl(control, fcntl.F_GETFL)
fcntl.fcntl(control, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(control, fcntl.F_SETFL, flags | os.O_ASYNC)
if select.select([control], [], [], 0)[0]:
    sys.exit('the command has ended')
if sys.argv[2]:
    sys.path.insert(0, sys.argv[2])
from passnet._worker.fork_server import main
fcntl.fcntl(control, fcntl.F_SETFL, flags)
main(control)
";

/// Exit status of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkerExit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

#[derive(Debug, Default)]
struct ForkServerState {
    forked: BTreeMap<u64, i32>,
    prepared: Option<Vec<i32>>,
    compiled: bool,
    exited: BTreeMap<u64, WorkerExit>,
    dead: bool,
}

#[derive(Debug)]
struct ForkServerShared {
    channel: Channel,
    state: Mutex<ForkServerState>,
    changed: Condvar,
}

impl ForkServerShared {
    fn state(&self) -> MutexGuard<'_, ForkServerState> {
        // State is replaced entry by entry; a panic elsewhere leaves none half-written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads replies until the fork server has ended.
    fn listen(&self) {
        let forever = Duration::from_secs(u32::MAX.into());
        while let Ok((reply, _)) = self.channel.receive::<ForkReply>(Instant::now() + forever) {
            let mut state = self.state();
            match reply {
                ForkReply::Ready(_) => break,
                ForkReply::Forked { id, pid } => drop(state.forked.insert(id, pid)),
                ForkReply::Prepared { pids } => state.prepared = Some(pids),
                ForkReply::Compiled => state.compiled = true,
                ForkReply::Exited { id, code, signal } => drop(state.exited.insert(id, WorkerExit { code, signal })),
            }
            self.changed.notify_all();
        }
        self.state().dead = true;
        self.changed.notify_all();
    }

    /// Waits until `found` returns a value for the state. Returns `None` at the deadline, or if the fork server is dead.
    fn wait_for<T>(&self, deadline: Instant, mut found: impl FnMut(&mut ForkServerState) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some(value) = found(&mut state) {
                return Some(value);
            }
            let rest = deadline.saturating_duration_since(Instant::now());
            if state.dead || rest.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The processes that belong below a fork server.
#[derive(Debug, Default)]
struct Live {
    /// Ids and process ids of workers in use.
    workers: BTreeMap<u64, i32>,
    /// Process ids of spare workers.
    spares: BTreeSet<i32>,
}

/// A running fork server. Dropping the value kills the fork server and all its workers.
#[derive(Debug)]
pub struct Zygote {
    shared: Arc<ForkServerShared>,
    info: ZygoteInfo,
    child: Child,
    log: File,
    /// Locked during a fork. Otherwise a search for stray processes could kill a worker that is not listed yet.
    live: Mutex<Live>,
    next_id: AtomicU64,
    /// Set once Dynamo was imported, and once TorchInductor was set up, or the attempt has failed.
    compilers: [OnceLock<()>; 2],
    /// Enforces those limits of workers that the kernel cannot enforce.
    pub(crate) watch: ResourceWatch,
    /// Process id of the fork server while it may be running, else 0.
    pid: Arc<AtomicI32>,
    listener: Option<JoinHandle<()>>,
}

impl Zygote {
    /// Starts a fork server and waits until it is ready.
    ///
    /// # Errors
    /// If the interpreter does not run, torch or the `passnet` package is missing, or versions differ.
    pub fn start(config: &ZygoteConfig) -> Result<Self, ZygoteError> {
        Self::start_as(config, Arc::default())
    }

    /// Starts a fork server. Stores its process id in `pid` as soon as the process exists, so that it can be killed while it starts.
    pub(crate) fn start_as(config: &ZygoteConfig, pid: Arc<AtomicI32>) -> Result<Self, ZygoteError> {
        let spawn_error = |source| ZygoteError::Spawn { python: config.python.clone(), source };
        let (channel, theirs) = Channel::pair().map_err(spawn_error)?;
        let mut log = tempfile::tempfile().map_err(spawn_error)?;
        // `code` isolates the interpreter: variables and the user's packages must not change what workers import.
        let mut command = Interpreter { python: config.python.clone(), site: None }.code(BOOT);
        if config.clean_environment {
            command.env_clear().envs(environment::clean());
        }
        let mut child = command
            .arg("0")
            .arg(config.site.as_deref().unwrap_or("".as_ref()))
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(log.try_clone().map_err(spawn_error)?))
            .stderr(Stdio::from(log.try_clone().map_err(spawn_error)?))
            // Ctrl-C goes to the process group of this program, which kills the fork server itself.
            .process_group(0)
            .spawn()
            .map_err(spawn_error)?;
        pid.store(child.id() as i32, Ordering::SeqCst);
        // The command has a copy of the fork server's end of the channel. With this copy, the channel would not be closed when the
        // interpreter ends.
        drop(command);
        let ready = channel.receive::<ForkReply>(Instant::now() + config.start_timeout);
        let info = match ready {
            Ok((ForkReply::Ready(info), _)) => info,
            other => {
                let why = match other {
                    Ok((reply, _)) => format!("it said {reply:?}"),
                    Err(error) => error.to_string(),
                };
                // Both calls fail only if the process has already ended.
                let _ = child.kill();
                pid.store(0, Ordering::SeqCst);
                let _ = child.wait();
                return Err(ZygoteError::Start { python: config.python.clone(), why, log: tail(&mut log) });
            }
        };
        if info.protocol != PROTOCOL_VERSION {
            let _ = child.kill();
            pid.store(0, Ordering::SeqCst);
            let _ = child.wait();
            return Err(ZygoteError::Protocol { found: info.protocol });
        }
        let shared = Arc::new(ForkServerShared { channel, state: Mutex::default(), changed: Condvar::new() });
        let listener = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.listen()
        });
        let (live, next_id, compilers) = (Mutex::default(), AtomicU64::new(1), Default::default());
        let watch = ResourceWatch::new(info.pid);
        Ok(Self { shared, info, child, log, live, next_id, compilers, watch, pid, listener: Some(listener) })
    }

    /// Returns the versions and the process id of the fork server.
    pub fn info(&self) -> &ZygoteInfo {
        &self.info
    }

    /// Returns whether the fork server still runs.
    pub fn is_alive(&self) -> bool {
        !self.shared.state().dead
    }

    /// Forks one worker. Returns its id, its process id, and the channel to it. The caller must [`Self::release`] it.
    pub(crate) fn fork(
        &self,
        request: impl FnOnce(u64) -> ForkRequest,
        deadline: Instant,
    ) -> Result<(u64, i32, Channel), ZygoteError> {
        let failed = |why: String| ZygoteError::Failed { why, log: self.log_tail() };
        let mut live = self.live();
        // `Relaxed` suffices: the numbers only have to differ.
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (channel, theirs): (_, OwnedFd) = Channel::pair().map_err(|error| failed(error.to_string()))?;
        self.shared
            .channel
            .send(&request(id), Some(theirs.as_fd()), deadline)
            .map_err(|error: ChannelError| failed(error.to_string()))?;
        // Only the worker may have this end. Otherwise its death would not close the channel, and the referee would wait until the
        // deadline.
        drop(theirs);
        let pid = self.shared.wait_for(deadline, |state| state.forked.remove(&id));
        let why = || if self.is_alive() { "it did not fork a worker in time" } else { "it has ended" };
        let pid = pid.ok_or_else(|| failed(why().to_owned()))?;
        live.spares.remove(&pid);
        live.workers.insert(id, pid);
        Ok((id, pid, channel))
    }

    /// Requests spare workers on some cores, or on any core if `cores` is empty. Returns at once: forking copies the page tables of half
    /// a gigabyte of memory, and the caller can measure meanwhile.
    pub(crate) fn prepare(self: &Arc<Self>, spares: u32, cores: Vec<u32>) {
        let zygote = Arc::clone(self);
        let deadline = Instant::now() + PREPARE_TIMEOUT;
        // If the thread cannot start or the fork server is dead, workers are forked when they are needed.
        let _ = std::thread::Builder::new().name("prepare".to_owned()).spawn(move || {
            let mut live = zygote.live();
            zygote.shared.state().prepared = None;
            if zygote.shared.channel.send(&ForkRequest::Prepare { spares, cores }, None, deadline).is_ok()
                && let Some(pids) = zygote.shared.wait_for(deadline, |state| state.prepared.take())
            {
                live.spares = pids.into_iter().collect();
            }
        });
    }

    /// Imports Dynamo at the first call, and sets up TorchInductor at the first call with a cache, so that workers do not have to.
    pub(crate) fn set_up_compiler(&self, cache: Option<&Path>) {
        self.compilers[usize::from(cache.is_some())].get_or_init(|| {
            // The lock is held so that a search for stray processes does not kill the compilers that are started here.
            let _live = self.live();
            let deadline = Instant::now() + COMPILE_TIMEOUT;
            let cache = cache.map(|cache| cache.to_string_lossy().into_owned()).unwrap_or_default();
            let request = ForkRequest::Compile { cache };
            // If the fork server is dead, the next request for a worker reports it.
            if self.shared.channel.send(&request, None, deadline).is_ok() {
                self.shared.wait_for(deadline, |state| std::mem::take(&mut state.compiled).then_some(()));
            }
        });
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        // Lists are changed entry by entry; a panic elsewhere leaves none half-written.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a worker. Returns its exit status, or `None` if the worker still runs at the deadline.
    pub(crate) fn wait_exit(&self, id: u64, deadline: Instant) -> Option<WorkerExit> {
        self.shared.wait_for(deadline, |state| state.exited.get(&id).copied())
    }

    /// Kills a worker with all its descendants, in any session or group, and all processes that earlier workers left
    /// behind.
    pub(crate) fn release(&self, id: u64) {
        let mut live = self.live();
        let Some(pid) = live.workers.remove(&id) else { return };
        // A worker that has exited is reaped, and its process id may already belong to another process.
        if !self.shared.state().exited.contains_key(&id) {
            tree::kill_group(pid);
            tree::kill(pid);
        }
        let keep: BTreeSet<i32> = live.workers.values().chain(&live.spares).copied().collect();
        tree::kill_below(self.info.pid, &keep);
        drop(live);
        self.shared.state().exited.remove(&id);
    }

    fn log_tail(&self) -> String {
        self.log.try_clone().map(|mut log| tail(&mut log)).unwrap_or_default()
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        // Descendants are killed first: after the fork server's death they get another parent and cannot be found.
        tree::kill_below(self.info.pid, &BTreeSet::new());
        // The fork server is killed without an exit request, because it may hang. Both calls fail only if it has already ended.
        let _ = self.child.kill();
        // The process id is cleared before the system can reuse it for another process.
        self.pid.store(0, Ordering::SeqCst);
        let _ = self.child.wait();
        if let Some(listener) = self.listener.take() {
            // The closed socket has ended the listener thread, which cannot panic.
            let _ = listener.join();
        }
    }
}

/// Returns the last 4,000 bytes of a log, as text.
pub(crate) fn tail(log: &mut File) -> String {
    const TAIL: u64 = 4000;
    let read = |log: &mut File| -> io::Result<Vec<u8>> {
        let length = log.seek(SeekFrom::End(0))?;
        log.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        log.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read(log).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When an interpreter ends, its channel is closed. A parent that kept a copy of the other end would wait for the time-out.
    #[test]
    fn an_interpreter_without_the_package_is_reported_by_its_last_output() {
        let site = tempfile::tempdir().unwrap();
        let interpreter = Interpreter::find();
        let python = interpreter.python.clone();
        if interpreter.code("").status().is_err() {
            println!("skipped: `{}` does not run; set PASSNET_PYTHON", python.display());
            return;
        }
        std::fs::create_dir(site.path().join("passnet")).unwrap();
        std::fs::write(site.path().join("passnet/__init__.py"), "import a_module_that_does_not_exist\n").unwrap();
        let start_timeout = Duration::from_secs(30);
        let config = ZygoteConfig { site: Some(site.path().to_owned()), start_timeout, ..ZygoteConfig::new(python) };
        let error = Zygote::start(&config).unwrap_err().to_string();
        assert!(
            error.contains("the other process closed the connection") && error.contains("a_module_that_does_not_exist"),
            "{error}"
        );
    }

    #[test]
    fn a_fork_server_that_still_imports_ends_with_its_command() {
        let site = tempfile::tempdir().unwrap();
        let interpreter = Interpreter::find();
        if interpreter.code("").status().is_err() {
            println!("skipped: `{}` does not run; set PASSNET_PYTHON", interpreter.python.display());
            return;
        }
        let imports = site.path().join("imports");
        std::fs::create_dir(site.path().join("passnet")).unwrap();
        std::fs::write(
            site.path().join("passnet/__init__.py"),
            format!("import time\nopen({imports:?}, 'w').close()\ntime.sleep(600)\n"),
        )
        .unwrap();
        for starts_first in [true, false] {
            let (channel, theirs) = Channel::pair().unwrap();
            let mut child = Interpreter { python: interpreter.python.clone(), site: None }
                .code(BOOT)
                .arg("0")
                .arg(site.path())
                .stdin(Stdio::from(theirs))
                .spawn()
                .unwrap();
            while starts_first && !imports.exists() {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(channel);
            assert!(!child.wait().unwrap().success());
        }
    }
}
