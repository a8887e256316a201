//! The referee's side of one worker process.

use std::{
    fs::File,
    io,
    os::fd::{BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use passnet_record::{ForkRequest, Layout, OutputValue, Outputs, WorkerError, WorkerNote, WorkerReply, WorkerRequest};
use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

use crate::{
    block::SentBlock,
    channel::{Channel, ChannelError},
    gated::{self, BlockTimes},
    resource_watch::{Excess, WorkerLimits},
    tree::{self, CpuUse},
    zygote::{WorkerExit, Zygote, tail},
    zygote_config::ZygoteError,
};

/// Time limit of forking, which takes milliseconds, and seconds where cores, memory and disk are busy.
const FORK_TIMEOUT: Duration = Duration::from_secs(90);
/// Largest number of notes, and largest number of values, in a reply. A pass can forge replies, so their length has a limit.
const MAX_ITEMS: usize = 4096;

/// Fault of a worker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerFault {
    /// The worker reported an exception.
    #[error("{}: {}", .0.exception, .0.message)]
    Failed(Box<WorkerError>),
    /// The worker did not reply in time.
    #[error("no answer within the time limit")]
    Deadline,
    /// The worker process ended.
    #[error("the worker ended ({}); its last output:\n{log}", describe_exit(*.exit))]
    Died {
        /// Exit status, if the fork server knows it.
        exit: Option<WorkerExit>,
        /// End of the worker's output.
        log: String,
    },
    /// The worker was killed because it exceeded a limit.
    #[error("the worker was killed: {0}")]
    Exceeded(Excess),
    /// The reply breaks the protocol.
    #[error("the worker broke the protocol: {0}")]
    Broken(String),
    /// An output of a timed call changed between the end of the call and its fetch.
    #[error("output {0} of a timed call changed between the end of the call and its fetch")]
    Rewritten(usize),
    /// The fork server is at fault.
    #[error(transparent)]
    Zygote(#[from] ZygoteError),
    /// This process or the machine is at fault.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Describes an exit status for people.
pub(crate) fn describe_exit(exit: Option<WorkerExit>) -> String {
    let name = |signal| match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        7 => " (bus error)",
        8 => " (arithmetic fault)",
        9 => " (killed; often by the kernel, for memory)",
        11 => " (segmentation fault)",
        24 => " (CPU time limit)",
        25 => " (file size limit)",
        31 => " (forbidden system call)",
        _ => "",
    };
    match exit {
        Some(WorkerExit { signal: Some(signal), .. }) => format!("signal {signal}{}", name(signal)),
        Some(WorkerExit { code: Some(code), .. }) => format!("exit code {code}"),
        _ => "it closed its channel".to_owned(),
    }
}

/// Options of a worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerOptions {
    pub(crate) scratch: PathBuf,
    pub(crate) memory_bytes: u64,
    pub(crate) cpu_s: u64,
    pub(crate) sandbox: bool,
    pub(crate) readable: Vec<String>,
    pub(crate) cache: String,
}

/// Values that a call returned, checked for consistency.
#[derive(Clone, Debug)]
pub(crate) struct Returned {
    pub(crate) outputs: Outputs,
    pub(crate) bytes: Vec<u8>,
}

impl Returned {
    /// Returns the bytes of one tensor.
    pub(crate) fn values(&self, layout: &Layout) -> &[u8] {
        // Layouts were checked against the block when the reply was received.
        &self.bytes[layout.offset as usize..(layout.offset + layout.nbytes) as usize]
    }
}

/// Values of a call that the worker sent, which may not have been read yet.
#[derive(Debug)]
pub(crate) struct Sent {
    outputs: Outputs,
    block: SentBlock,
}

impl Sent {
    /// Returns the number of bytes of the values.
    pub(crate) fn nbytes(&self) -> u64 {
        self.outputs.nbytes
    }

    /// Reads the values.
    ///
    /// # Errors
    /// If the block cannot be read.
    pub(crate) fn read(self) -> Result<Returned, WorkerFault> {
        let bytes = self.block.read().map_err(|error| WorkerFault::Broken(error.to_string()))?;
        Ok(Returned { outputs: self.outputs, bytes })
    }
}

/// A worker process. Dropping the value kills the process and all its descendants.
#[derive(Debug)]
pub(crate) struct Worker {
    id: u64,
    pid: i32,
    channel: Channel,
    zygote: Arc<Zygote>,
    log: PathBuf,
    pub(crate) sandbox: std::collections::BTreeMap<String, String>,
    /// Number of violations, from the first one on, that are excused.
    excused: usize,
}

impl Worker {
    /// Forks a worker. The worker is usable after [`Self::ready`].
    pub(crate) fn fork(zygote: &Arc<Zygote>, options: &WorkerOptions) -> Result<Self, WorkerFault> {
        fs_err::create_dir_all(&options.scratch)?;
        let request = |id| ForkRequest::Fork {
            id,
            scratch: options.scratch.to_string_lossy().into_owned(),
            memory_bytes: options.memory_bytes,
            cpu_s: options.cpu_s,
            sandbox: options.sandbox,
            readable: options.readable.clone(),
            cache: options.cache.clone(),
        };
        let (id, pid, channel) = zygote.fork(request, Instant::now() + FORK_TIMEOUT)?;
        let (zygote, log) = (Arc::clone(zygote), options.scratch.join("output.log"));
        if options.sandbox {
            zygote.watch.begin(id, pid, WorkerLimits { memory_bytes: options.memory_bytes, log: log.clone() });
        }
        Ok(Self { id, pid, channel, zygote, log, sandbox: Default::default(), excused: 0 })
    }

    /// Waits for the worker's first message.
    pub(crate) fn ready(&mut self, deadline: Instant) -> Result<(), WorkerFault> {
        match self.receive(deadline)? {
            (WorkerReply::Ready { sandbox, .. }, _) => {
                self.sandbox = sandbox;
                Ok(())
            }
            (other, _) => Err(unexpected("ready", &other)),
        }
    }

    /// Sends a request without waiting for its reply.
    pub(crate) fn send(
        &mut self,
        request: &WorkerRequest,
        descriptor: Option<BorrowedFd<'_>>,
        deadline: Instant,
    ) -> Result<(), WorkerFault> {
        self.channel.send(request, descriptor, deadline).map_err(|error| self.fault(error))
    }

    /// Returns the next reply. A reply `failed` is returned as a fault.
    pub(crate) fn receive(&mut self, deadline: Instant) -> Result<(WorkerReply, Option<OwnedFd>), WorkerFault> {
        let received = self.channel.receive(deadline);
        self.unless_failed(received)
    }

    /// Runs a block of timed calls. Returns the reply, and the times of the block by the referee's clock.
    pub(crate) fn run_block(
        &mut self,
        request: &WorkerRequest,
        deadline: Instant,
    ) -> Result<(WorkerReply, BlockTimes), WorkerFault> {
        let exchanged = gated::exchange(&self.channel, request, deadline);
        self.unless_failed(exchanged)
    }

    fn unless_failed<T>(
        &mut self,
        received: Result<(WorkerReply, T), ChannelError>,
    ) -> Result<(WorkerReply, T), WorkerFault> {
        match received {
            Ok((WorkerReply::Failed(error), _)) => Err(WorkerFault::Failed(Box::new(error))),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.fault(error)),
        }
    }

    /// Waits for the next reply, which has to be `done`.
    pub(crate) fn receive_done(&mut self, deadline: Instant) -> Result<(), WorkerFault> {
        match self.receive(deadline)? {
            (WorkerReply::Done, _) => Ok(()),
            (other, _) => Err(unexpected("done", &other)),
        }
    }

    /// Makes the worker drop all its inputs.
    pub(crate) fn drop_inputs(&mut self, deadline: Instant) -> Result<(), WorkerFault> {
        self.send(&WorkerRequest::DropInputs, None, deadline)?;
        self.receive_done(deadline)
    }

    /// Excuses the violations of a call whose contents say nothing about the candidate. Replies have the violations of all earlier calls.
    pub(crate) fn excuse(&mut self, of_call: &Returned) {
        self.excused += of_call.outputs.notes.iter().filter(|note| matches!(note, WorkerNote::Violation(_))).count();
    }

    /// Returns the next reply, which has to be `outputs` with at most `limit` bytes of values. It has no violations that are excused.
    pub(crate) fn receive_outputs(&mut self, limit: u64, deadline: Instant) -> Result<Returned, WorkerFault> {
        let mut returned = self.receive_sent(limit, deadline)?.read()?;
        let mut excused = self.excused;
        returned.outputs.notes.retain(|note| {
            let is_excused = excused > 0 && matches!(note, WorkerNote::Violation(_));
            excused -= usize::from(is_excused);
            !is_excused
        });
        Ok(returned)
    }

    /// Receives the values of a call, to be read later.
    pub(crate) fn receive_sent(&mut self, limit: u64, deadline: Instant) -> Result<Sent, WorkerFault> {
        let (reply, descriptor) = self.receive(deadline)?;
        let WorkerReply::Outputs(outputs) = reply else { return Err(unexpected("outputs", &reply)) };
        check_outputs(&outputs, limit).map_err(WorkerFault::Broken)?;
        let block = match (outputs.nbytes, descriptor) {
            (0, _) => SentBlock::Read(Vec::new()),
            (nbytes, Some(descriptor)) => {
                SentBlock::take(descriptor, nbytes).map_err(|error| WorkerFault::Broken(error.to_string()))?
            }
            (_, None) => return Err(WorkerFault::Broken("outputs came without their block".to_owned())),
        };
        Ok(Sent { outputs, block })
    }

    /// Returns the use of CPUs by the worker and its descendants, if the system reports it.
    pub(crate) fn cpu_use(&self) -> Option<CpuUse> {
        tree::cpu_use(self.pid)
    }

    /// Returns whether a thread of the worker or of its descendants is running or ready to run.
    pub(crate) fn is_active(&self) -> bool {
        tree::is_active(self.pid)
    }

    /// Returns whether all threads of the worker are restricted to these cores and have no higher priority than this process.
    pub(crate) fn is_where_it_was_put(&self, cores: &CpuSet) -> bool {
        tree::threads(self.pid).into_iter().all(|thread| {
            let allowed = Pid::from_raw(thread).and_then(|thread| sched_getaffinity(Some(thread)).ok());
            let inside =
                allowed.is_none_or(|set| (0..CpuSet::MAX_CPU).all(|core| !set.is_set(core) || cores.is_set(core)));
            let own = tree::niceness(std::process::id() as i32);
            inside && tree::niceness(thread).is_none_or(|nice| own.is_none_or(|own| nice >= own))
        })
    }

    /// Binds all threads of the worker to some cores.
    pub(crate) fn pin(&self, cores: &CpuSet) {
        // Affinity is a property of a thread, and the worker may have several threads.
        for task in std::fs::read_dir(Path::new("/proc").join(self.pid.to_string()).join("task")).into_iter().flatten()
        {
            let id = task.ok().and_then(|task| task.file_name().to_str()?.parse().ok());
            if let Some(thread) = id.and_then(Pid::from_raw) {
                // This fails only if the thread has ended.
                let _ = sched_setaffinity(Some(thread), cores);
            }
        }
    }

    fn fault(&self, error: ChannelError) -> WorkerFault {
        match error {
            ChannelError::Deadline => WorkerFault::Deadline,
            ChannelError::Closed => {
                if let Some(excess) = self.zygote.watch.excess(self.id) {
                    return WorkerFault::Exceeded(excess);
                }
                // The fork server reports the exit over another socket, possibly shortly after the worker's socket was closed.
                let exit = self.zygote.wait_exit(self.id, Instant::now() + Duration::from_secs(1));
                let log = File::open(&self.log).map(|mut log| tail(&mut log)).unwrap_or_default();
                WorkerFault::Died { exit, log }
            }
            ChannelError::Malformed(why) => WorkerFault::Broken(why),
            ChannelError::Io(error) => WorkerFault::Io(error),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.zygote.watch.end(self.id);
        self.zygote.release(self.id);
    }
}

/// Returns the fault for a reply of the wrong kind.
pub(crate) fn unexpected(expected: &str, reply: &WorkerReply) -> WorkerFault {
    let json = serde_json::to_value(reply).unwrap_or_default();
    WorkerFault::Broken(format!("expected `{expected}`, got `{}`", json["type"].as_str().unwrap_or("?")))
}

/// Checks an `outputs` message against its own block.
fn check_outputs(outputs: &Outputs, limit: u64) -> Result<(), String> {
    if outputs.nbytes > limit {
        return Err(format!("{} bytes of outputs exceed the limit of {limit}", outputs.nbytes));
    }
    if outputs.values.len().max(outputs.mutated.len()).max(outputs.notes.len()) > MAX_ITEMS {
        return Err(format!("more than {MAX_ITEMS} values or notes"));
    }
    let tensors = || {
        outputs.values.iter().filter_map(|value| match value {
            OutputValue::Tensor { layout, stride, .. } => Some((layout, stride)),
            _ => None,
        })
    };
    if let Some((layout, _)) = tensors().find(|(layout, stride)| layout.shape.len() != stride.len()) {
        return Err(format!("value `{}` has not one stride per dimension", layout.name));
    }
    for layout in tensors().map(|(layout, _)| layout).chain(&outputs.mutated) {
        let size = layout.dtype.size() as u64;
        // The worker chooses these numbers, and an overflow must not make a large size look small.
        let nbytes = layout.shape.iter().try_fold(size, |product, &extent| product.checked_mul(extent));
        let end = layout.offset.checked_add(layout.nbytes);
        if nbytes != Some(layout.nbytes) || end.is_none_or(|end| end > outputs.nbytes) {
            return Err(format!("the layout of value `{}` does not fit its block", layout.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;

    #[test]
    fn layouts_must_fit_their_block() {
        let layout = |shape: &[u64], offset, nbytes| Layout {
            name: "0".to_owned(),
            dtype: DType::Float32,
            shape: shape.to_vec(),
            offset,
            nbytes,
        };
        let outputs = |layout| Outputs {
            values: vec![OutputValue::Tensor { layout, stride: vec![1, 1], device: "cpu".to_owned(), address: 0 }],
            mutated: Vec::new(),
            nbytes: 64,
            notes: Vec::new(),
        };
        assert_eq!(check_outputs(&outputs(layout(&[2, 8], 0, 64)), 64), Ok(()));
        for bad in [
            layout(&[2, 8], 4, 64),
            layout(&[2, 8], 0, 60),
            layout(&[2, 8], u64::MAX, 64),
            layout(&[u64::MAX, 3], 0, 64),
        ] {
            assert!(check_outputs(&outputs(bad), 64).is_err());
        }
        assert!(check_outputs(&outputs(layout(&[2, 8], 0, 64)), 63).is_err());
    }
}
