//! Timed calls of a Python callable.

use passnet_native::{
    cache::{Sweeper, last_level_bytes},
    cuda,
    kernel_code::{GuardPlace, set_side},
    random::random_word,
    timing::{Block, BlockCalls, TimedCall, time_block},
    violations,
};
use passnet_record::ContentId;
use pyo3::{
    exceptions::PyValueError,
    intern,
    prelude::*,
    types::{PyDict, PyTuple},
};

use crate::{
    clock_gate::ClockGate,
    contents::ContentSource,
    device_timer::DeviceTimer,
    errors::cuda_error,
    input_memory::InputMemory,
    poison::{overwrite_all, values},
    sample::{RequestedRule, Samples},
    temporaries::Temporaries,
};

/// A Python callable that is timed.
struct PyCalls<'py> {
    callable: Bound<'py, PyAny>,
    /// Two sets of arguments. The set of the kept call does not change, and other calls use the other set.
    sets: Vec<Bound<'py, PyTuple>>,
    set: usize,
    kept_set: usize,
    sources: Vec<ContentSource>,
    /// Number of untimed calls at the beginning.
    warmup: usize,
    /// Function that is called before each call, after the copies. It resets the state of the module and of generators.
    restore: Option<Bound<'py, PyAny>>,
    /// True to overwrite the memory of unused results.
    overwrites: bool,
    temporaries: Temporaries<'py>,
    sweeper: Option<Sweeper>,
    /// True to overwrite the caches before each call.
    cold: bool,
    device: Option<PyRefMut<'py, DeviceTimer>>,
    last: Option<Bound<'py, PyAny>>,
    kept: Option<Bound<'py, PyAny>>,
    digests: Vec<String>,
    samples: Option<Samples>,
    /// True to guard the kernels of some calls.
    guards: bool,
    /// Memory of each set of inputs, to find stray writes; none on a device.
    memories: Vec<PyRef<'py, InputMemory>>,
}

impl PyCalls<'_> {
    /// Records a write next to an input in the last call.
    fn look_at_margins(&mut self) {
        if let Some(memory) = self.memories.get(self.set) {
            let mark = self.temporaries.mark();
            if !memory.margins_are_intact() {
                violations::record("out_of_bounds");
            }
            self.temporaries.count_since(mark);
        }
    }
}

impl<'py> PyCalls<'py> {
    /// Returns what [`time_calls`] returns.
    fn reply(self, block: Block) -> PyResult<Bound<'py, PyDict>> {
        let py = self.callable.py();
        let reply = PyDict::new(py);
        reply.set_item("e2e_ns", block.e2e)?;
        reply.set_item("device_ns", block.device)?;
        reply.set_item("total_ns", block.total)?;
        reply.set_item("overwriting_ns", self.temporaries.ns())?;
        reply.set_item("kept_call", block.kept)?;
        reply.set_item("set", self.kept_set)?;
        reply.set_item("result", self.kept)?;
        reply.set_item("kept", self.digests)?;
        let gather = self.device.as_ref().and_then(|device| device.gather.as_ref());
        reply.set_item("samples", self.samples.map_or_else(|| Ok(Vec::new()), |samples| samples.reply(py, gather))?)?;
        Ok(reply)
    }
}

impl TimedCall for PyCalls<'_> {
    type Error = PyErr;

    fn prepare(&mut self, call: usize) -> PyResult<()> {
        self.temporaries.begin();
        // Untimed calls may use the same content, unless they change it.
        if call == 0 || call >= self.warmup || self.restore.is_some() {
            let py = self.callable.py();
            let timer = self.device.as_ref().map(|device| &device.timer);
            self.sources.iter().try_for_each(|source| source.fill(py, call, self.set, timer))?;
        }
        if let Some(restore) = &self.restore {
            restore.call1((self.set,))?;
        }
        if let Some(sweeper) = &mut self.sweeper {
            sweeper.sweep();
        }
        if let Some(device) = &self.device {
            if self.cold {
                device.timer.flush().map_err(cuda_error)?;
            }
            cuda::synchronize().map_err(cuda_error)?;
        }
        Ok(())
    }

    fn call(&mut self) -> PyResult<Option<u64>> {
        let Some(device) = &self.device else {
            self.last = Some(self.callable.call1(&self.sets[self.set])?);
            return Ok(None);
        };
        device.timer.record_start().map_err(cuda_error)?;
        self.last = Some(self.callable.call1(&self.sets[self.set])?);
        device.timer.record_stop().map_err(cuda_error)?;
        cuda::synchronize().map_err(cuda_error)?;
        Ok(Some(device.timer.elapsed_ns().map_err(cuda_error)?))
    }

    fn guarded(&mut self, timed: u64) -> PyResult<Option<u64>> {
        let word = if self.guards { random_word()? } else { 0 };
        Ok(self.guards.then_some(word % timed.max(1)))
    }

    fn guard(&mut self, call: usize) -> PyResult<()> {
        let mark = self.temporaries.mark();
        self.prepare(call)?;
        set_side(Some(GuardPlace::Hidden));
        let result = self.callable.call1(&self.sets[self.set]);
        set_side(None);
        self.last = Some(result?);
        self.finish(false)?;
        // After a fork, the first writes to pages take longer and caches have other content, so one more untimed call is made.
        self.prepare(call)?;
        self.call()?;
        self.finish(false)?;
        self.temporaries.count_since(mark);
        Ok(())
    }

    fn sample(&mut self, timed: u64) {
        if let (Some(samples), Some(result)) = (&mut self.samples, &self.last) {
            // Each element of a tensor on a device is a call of the driver.
            let mark = self.device.as_ref().map(|_| self.temporaries.mark());
            let gather = self.device.as_mut().and_then(|device| device.gather.as_mut());
            samples.take(timed, result, gather);
            if let Some(mark) = mark {
                self.temporaries.count_since(mark);
            }
        }
    }

    fn draw(&mut self) -> PyResult<u64> {
        Ok(random_word()?)
    }

    fn finish(&mut self, keep: bool) -> PyResult<()> {
        let Some(mut result) = self.last.take() else { return Ok(()) };
        self.look_at_margins();
        if keep {
            if self.device.is_none() {
                self.digests = values(&result).iter().map(digest).collect();
            }
            self.kept_set = self.set;
            self.set = (self.set + 1) % self.sets.len();
            let before = self.kept.replace(result);
            // Keeping a result changes which blocks are free, now and when the former kept result is released.
            if before.is_none() || self.device.is_none() {
                self.temporaries.overwrite(true)?;
            }
            let Some(before) = before else { return Ok(()) };
            result = before;
        }
        if self.overwrites {
            let mark = self.temporaries.mark();
            let is_plain = overwrite_all(&result);
            // Overwriting takes longer for separate tensors than for views of one tensor, although a call that returns them is not
            // slower, so this time is reported as overwriting. Reading a tensor of another type may run code of the pass, whose time
            // counts.
            if is_plain {
                if self.device.is_some() {
                    cuda::synchronize().map_err(cuda_error)?;
                }
                self.temporaries.count_since(mark);
            }
            drop(result);
            self.temporaries.overwrite(keep)?;
        }
        Ok(())
    }
}

/// Returns the content id of the bytes of a contiguous tensor in host memory; empty for any other value.
fn digest(value: &Bound<'_, PyAny>) -> String {
    let of_tensor = || -> PyResult<String> {
        let py = value.py();
        let is = |name| value.getattr(name)?.is_truthy();
        if !is(intern!(py, "is_cpu"))? || !value.call_method0(intern!(py, "is_contiguous"))?.is_truthy()? {
            return Ok(String::new());
        }
        let address: usize = value.call_method0(intern!(py, "data_ptr"))?.extract()?;
        let nbytes: usize = value.getattr(intern!(py, "nbytes"))?.extract()?;
        if nbytes == 0 {
            return Ok(ContentId::of(&[]).to_string());
        }
        // SAFETY: the values of a contiguous tensor are `nbytes` bytes from its first element on, and `value` keeps it alive.
        #[expect(unsafe_code, reason = "tensors are known by address")]
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, nbytes) };
        Ok(ContentId::of(bytes).to_string())
    };
    of_tensor().unwrap_or_default()
}

/// Calls `callable(*arguments[set])`, first `warmup` times untimed, then `trials` times `calls` times between two readings of
/// CLOCK_MONOTONIC. The result of one timed call is kept, with the set of its arguments. [`time_block`] draws this call.
///
/// `sources`: contents that are copied into the tensors before each timed call, outside the clock ([`ContentSource`]). `restore`:
/// function that is called after the copies with the number of the set; with it, contents are also copied before untimed calls. `device`:
/// the objects of the CUDA device whose context is current, if the tensors are there; each call is enclosed by device events and ends with
/// a synchronisation of the context. `cold`: true to overwrite the last-level cache (CPU) or the L2 cache (CUDA) before each call.
/// `overwrites`: true to overwrite the memory of results that are not kept, and memory that a call has released. `allocations`: function that
/// returns a list of tensors of the sizes that a call allocates, or with `device` the free memory of PyTorch's allocator (`FreeMemory`);
/// `None` if a call returns all tensors that it allocates. `memories`: memory of each set of inputs in host memory, whose margins show
/// stray writes. `sample`: rule for
/// the elements of outputs to sample. `guards`: true to make one more call, whose C++ kernels are guarded ([`GuardPlace::Hidden`]), in every
/// block, before a timed call that is drawn with random numbers of the operating system. `gate`: socket over which the referee sees the
/// beginning and the end of the calls (`docs/reference/worker-protocol.md`).
///
/// Returns a dictionary: `e2e_ns` and `device_ns` (means of the calls of each trial), `total_ns`, `overwriting_ns` (part of `total_ns`
/// for unused results, released memory, guarded calls, and samples on a device), `kept_call` (number of the kept timed call), `set` (its
/// set of arguments), `result`, `kept` (content ids of the values of `result`), and `samples` (the sampled elements).
#[pyfunction]
#[pyo3(signature = (callable, arguments, sources, warmup, trials, calls, *, device, cold, restore, overwrites, allocations = None, sample = None, guards = false, memories = Vec::new(), gate = None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(super) fn time_calls<'py>(
    callable: Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, PyTuple>>,
    sources: Vec<ContentSource>,
    warmup: u32,
    trials: u32,
    calls: u32,
    mut device: Option<PyRefMut<'py, DeviceTimer>>,
    cold: bool,
    restore: Option<Bound<'py, PyAny>>,
    overwrites: bool,
    allocations: Option<Bound<'py, PyAny>>,
    sample: Option<RequestedRule>,
    guards: bool,
    memories: Vec<PyRef<'py, InputMemory>>,
    gate: Option<i32>,
) -> PyResult<Bound<'py, PyDict>> {
    let allocations = allocations.filter(|_| overwrites);
    if arguments.is_empty() || sources.iter().any(|source| source.places.len() != arguments.len()) {
        return Err(PyValueError::new_err("no arguments to call with, or a source without a place in each of them"));
    }
    device.as_mut().map_or(Ok(()), |device| device.begin(cold))?;
    let is_on_host = device.is_none();
    let mut subject = PyCalls {
        callable,
        sets: arguments,
        set: 0,
        kept_set: 0,
        sources,
        warmup: warmup as usize,
        restore,
        overwrites,
        temporaries: Temporaries::new(allocations, !is_on_host)?,
        sweeper: (cold && is_on_host).then(|| Sweeper::new(last_level_bytes())),
        cold,
        device,
        last: None,
        kept: None,
        digests: Vec::new(),
        samples: sample.map(Samples::new),
        guards: guards && is_on_host,
        memories,
    };
    let mut run = || {
        let block = time_block(&mut subject, BlockCalls { warmup, trials, calls })?;
        Ok::<_, PyErr>((block, subject.temporaries.end()))
    };
    let (mut block, end) = match gate {
        Some(socket) => ClockGate::new(socket)?.around(&mut run)?,
        None => run()?,
    };
    block.total += end;
    subject.reply(block)
}
