//! Test of the sandbox: real workers try to escape, and try the operations that passes need.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    os::unix::net::UnixListener,
    path::Path,
    time::{Duration, Instant},
};

use passnet_record::{WorkerReply, WorkerRequest};
use serde::Serialize;

use crate::{
    environment,
    error::EvalError,
    referee::Referee,
    sandbox_level::{LIMIT, options, start, trouble},
    scratch::Scratch,
    worker::{Worker, WorkerFault, WorkerOptions, unexpected},
};

const MIB: u64 = 1 << 20;
/// Memory limit, in bytes, of the worker that tries to take more.
const MEMORY: u64 = 512 * MIB;

/// One thing that a worker tried.
#[derive(Clone, Debug, Serialize)]
pub struct Attempted {
    /// Description of the attempt.
    pub what: String,
    /// True if the outcome is right: an attempt to escape was stopped, or an operation that passes need succeeded.
    pub good: bool,
    /// Reason why the attempt was stopped, or its result.
    pub detail: String,
}

/// Result of the test of the sandbox on this machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// State of each layer: `enforced`, or the reason why not.
    pub layers: BTreeMap<String, String>,
    /// Attempts to escape. All have to be stopped.
    pub ways_out: Vec<Attempted>,
    /// Operations that passes need. All have to work.
    pub needs: Vec<Attempted>,
    /// Median time from the fork of a worker until it is ready, with the sandbox and without, in nanoseconds.
    pub start_ns: [u64; 2],
}

/// Runs all probes in workers of a referee.
///
/// # Errors
/// If the fork server does not work.
pub fn prove(referee: &Referee) -> Result<Proof, EvalError> {
    Prover { referee, scratch: Scratch::new()?, workers: 0 }.prove()
}

struct Prover<'a> {
    referee: &'a Referee,
    scratch: Scratch,
    workers: u32,
}

impl Prover<'_> {
    fn prove(mut self) -> Result<Proof, EvalError> {
        let mut proof = Proof::default();
        self.harmless(&mut proof)?;
        self.needs(&mut proof)?;
        self.limits(&mut proof)?;
        self.daemon(&mut proof)?;
        let times = [true, false].map(|sandbox| self.time_to_start(sandbox));
        for (place, time) in proof.start_ns.iter_mut().zip(times) {
            *place = time?;
        }
        Ok(proof)
    }

    fn worker(&mut self, adapt: impl FnOnce(&mut WorkerOptions)) -> Result<Worker, EvalError> {
        self.workers += 1;
        let mut options = options(&self.scratch, self.workers);
        adapt(&mut options);
        start(&self.referee.machine().launcher.zygote()?, &options)
    }

    /// Makes attempts that have no effect on the machine even if they succeed.
    fn harmless(&mut self, proof: &mut Proof) -> Result<(), EvalError> {
        let outside = self.scratch.path().join("outside");
        fs::create_dir(&outside)?;
        let secret = outside.join("secret");
        fs::write(&secret, "secret")?;
        let (listener, local) = (TcpListener::bind("127.0.0.1:0")?, outside.join("socket"));
        let _local = UnixListener::bind(&local)?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let (secret, local, new) = (text(&secret), text(&local), text(&outside.join("new")));
        let port = listener.local_addr()?.port().to_string();
        let hidden: Vec<String> = std::env::vars_os()
            .filter(|(name, _)| !environment::is_kept(name))
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| !OWN_VARIABLES.iter().any(|own| name.starts_with(own)))
            .collect();
        let me = std::process::id().to_string();

        let mut worker = self.worker(|_| ())?;
        proof.layers = worker.sandbox.clone();
        for (what, attempt, argument) in [
            ("read a file of the user", "read", secret.as_str()),
            ("read it through a link", "link", &secret),
            ("read the system's passwords", "read", "/etc/shadow"),
            ("list the temporary directory", "list", &text(&std::env::temp_dir())),
            ("write outside the scratch", "write", &new),
            ("change a file's permissions", "change_mode", &secret),
            ("change a file's times", "change_time", &secret),
            ("change settings of the system", "system_setting", "/proc/sys/kernel/core_pattern"),
            ("open a disk", "block_devices", ""),
            ("read another process's environment", "environments", ""),
            ("see variables of the referee", "variables", &hidden.join(" ")),
            ("signal the referee", "signal", &me),
            ("signal the fork server", "signal_parent", ""),
            ("signal everybody", "signal_all", ""),
            ("trace the referee", "trace", &me),
            ("read the referee's memory", "foreign_memory", &me),
            ("connect over TCP", "connect", &port),
            ("send over UDP", "datagram", &port),
            ("connect to a Unix socket", "unix", &local),
            ("open a netlink socket", "netlink", ""),
            ("make a user namespace", "namespace", ""),
            ("mount a file system", "mount", ""),
            ("use io_uring", "system_call", &libc_number("io_uring_setup")),
            ("use BPF", "system_call", &libc_number("bpf")),
            ("use performance counters", "system_call", &libc_number("perf_event_open")),
            ("use the kernel's keys", "system_call", &libc_number("keyctl")),
            ("use descriptors of others", "descriptors", ""),
            ("choose its cores", "affinity", ""),
            ("outlive its parent", "outlive_parent", ""),
            ("start a program of its own", "start_own_program", ""),
        ] {
            let (done, detail) = try_out(&mut worker, attempt, argument)?;
            proof.ways_out.push(Attempted { what: what.to_owned(), good: !done, detail });
        }
        Ok(())
    }

    fn needs(&mut self, proof: &mut Proof) -> Result<(), EvalError> {
        let device = self.referee.settings().device.to_string();
        for (what, attempt, argument) in [
            ("run PyTorch", "torch", device.as_str()),
            ("name a thread", "name_thread", ""),
            ("compile a C++ kernel", "cpp", ""),
            ("run a Triton kernel", "triton", &device),
            ("compile with TorchInductor", "inductor", &device),
        ] {
            // Each attempt has a separate worker, so that a broken device does not make the test of the compiler fail.
            let mut worker = self.worker(|_| ())?;
            let (done, detail) = try_out(&mut worker, attempt, argument)?;
            proof.needs.push(Attempted { what: what.to_owned(), good: done, detail });
        }
        Ok(())
    }

    /// Makes attempts to exhaust the machine, only as far as needed to see that they are stopped.
    fn limits(&mut self, proof: &mut Proof) -> Result<(), EvalError> {
        let (disk, memory, log) = ((2048 * MIB).to_string(), (2 * MEMORY).to_string(), (512 * MIB).to_string());
        for (what, attempt, argument) in [
            ("start 600 processes", "fork_bomb", "600"),
            ("write 2 GiB", "fill_disk", disk.as_str()),
            ("take twice its memory", "take_private_memory", &memory),
            ("take twice its memory, shared", "take_memory", &memory),
            ("print 512 MiB", "fill_log", &log),
            ("compute for longer than its time", "burn", "20"),
        ] {
            let mut worker = self.worker(|options| {
                options.memory_bytes = MEMORY;
                options.cpu_s = if attempt == "burn" { 1 } else { 0 };
            })?;
            let (done, detail) = try_out(&mut worker, attempt, argument)?;
            proof.ways_out.push(Attempted { what: what.to_owned(), good: !done, detail });
        }
        Ok(())
    }

    /// Tests that a process which has left its session and its parents does not outlive its worker.
    fn daemon(&mut self, proof: &mut Proof) -> Result<(), EvalError> {
        let name = format!("pn-{}", std::process::id());
        let mut worker = self.worker(|_| ())?;
        let (done, said) = try_out(&mut worker, "leave_daemon", &name)?;
        let seen = is_running(&name);
        drop(worker);
        // The kernel ends the processes of a namespace after the first one is gone, which takes a moment.
        let end = Instant::now() + Duration::from_secs(2);
        while is_running(&name) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let gone = !is_running(&name);
        let detail = match (done && seen, gone) {
            (false, _) => said,
            (true, true) => "was there, and died with its worker".to_owned(),
            (true, false) => "still runs".to_owned(),
        };
        let what = "leave a daemon behind".to_owned();
        proof.ways_out.push(Attempted { what, good: gone, detail });
        Ok(())
    }

    /// Returns the median time of some forks, each until the worker reports that it is ready, in nanoseconds.
    fn time_to_start(&mut self, sandbox: bool) -> Result<u64, EvalError> {
        let mut times = Vec::new();
        for _ in 0..7 {
            let begin = Instant::now();
            self.worker(|options| options.sandbox = sandbox)?;
            times.push(begin.elapsed().as_nanos() as u64);
        }
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }
}

/// Prefixes of variables with the location of PassNet. Workers get this location in other ways.
const OWN_VARIABLES: &[&str] = &["PASSNET_", "_"];

/// Returns the number of a system call that Python has no name for, on this architecture.
fn libc_number(name: &str) -> String {
    let number = match (name, cfg!(target_arch = "x86_64")) {
        ("io_uring_setup", _) => 425,
        ("bpf", true) => 321,
        ("bpf", false) => 280,
        ("perf_event_open", true) => 298,
        ("perf_event_open", false) => 241,
        (_, true) => 250,
        (_, false) => 219,
    };
    number.to_string()
}

/// Returns whether the attempt succeeded, and its detail. An attempt that kills its worker counts as stopped.
fn try_out(worker: &mut Worker, attempt: &str, argument: &str) -> Result<(bool, String), EvalError> {
    let request = WorkerRequest::Probe { attempt: attempt.to_owned(), argument: argument.to_owned() };
    let deadline = Instant::now() + LIMIT;
    let reply = worker.send(&request, None, deadline).and_then(|()| worker.receive(deadline));
    match reply {
        Ok((WorkerReply::Probed { done, detail }, _)) => Ok((done, detail)),
        Ok((other, _)) => Err(trouble(unexpected("probed", &other))),
        Err(fault @ (WorkerFault::Exceeded(_) | WorkerFault::Died { .. } | WorkerFault::Failed(_))) => {
            let text = fault.to_string();
            Ok((false, text.lines().next().unwrap_or_default().to_owned()))
        }
        Err(WorkerFault::Deadline) => Ok((true, "it was still running when the test ended".to_owned())),
        Err(fault) => Err(trouble(fault)),
    }
}

fn is_running(name: &str) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok())
        .any(|status| status.starts_with(&format!("Name:\t{name}\n")) && !status.contains("\nState:\tZ"))
}
