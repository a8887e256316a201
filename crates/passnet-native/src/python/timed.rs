//! Timed calls of a Python callable.

use passnet_record::ContentId;
use pyo3::{
    exceptions::PyValueError,
    intern,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};

use crate::{
    cache::{Sweeper, last_level_bytes},
    cuda,
    timing::{Plan, Subject, time_block},
};

/// Byte that outputs are overwritten with: not a number, as any floating-point type.
const POISON: u8 = 0xFF;

/// Source of the contents of one input: call `i` sees the window of number `(start + i * step) % windows`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Source {
    /// Address of the first window.
    address: usize,
    /// Address of the tensor in each set of inputs.
    places: Vec<usize>,
    /// Bytes of a window.
    nbytes: usize,
    /// Bytes from one window to the next.
    element: usize,
    windows: u64,
    start: u64,
    step: u64,
}

impl Source {
    /// Copies the window of a call to the tensor of a set.
    fn fill(&self, call: usize, set: usize) {
        let number = (u128::from(self.start) + call as u128 * u128::from(self.step)) % u128::from(self.windows.max(1));
        let from = self.address + number as usize * self.element;
        // SAFETY: `passnet._worker.pools` vouches for the addresses: a mapping that holds all windows, and storages of
        // `nbytes` bytes, which it keeps alive. They do not overlap. With no bytes nothing is read or written.
        #[expect(unsafe_code, reason = "tensors are known by address")]
        unsafe {
            if self.nbytes > 0 {
                std::ptr::copy_nonoverlapping(from as *const u8, self.places[set] as *mut u8, self.nbytes);
            }
        }
    }
}

/// A Python callable under the clock.
struct PyCalls<'py> {
    callable: Bound<'py, PyAny>,
    /// Arguments of the calls up to the one that is kept, and of those after it: what that one saw stays as it is.
    sets: Vec<Bound<'py, PyTuple>>,
    set: usize,
    sources: Vec<Source>,
    before: Option<Bound<'py, PyAny>>,
    retire: Retire<'py>,
    sweeper: Option<Sweeper>,
    cuda: Option<cuda::Timer>,
    last: Option<Bound<'py, PyAny>>,
    kept: Option<Bound<'py, PyAny>>,
    digests: Vec<String>,
}

/// Treatment of results that nobody needs.
enum Retire<'py> {
    /// Let go of them.
    Drop,
    /// Overwrite their memory, which is the host's, first.
    Overwrite,
    /// Have a function overwrite it.
    Call(Bound<'py, PyAny>),
}

impl Subject for PyCalls<'_> {
    type Error = PyErr;

    fn prepare(&mut self, call: usize) -> PyResult<()> {
        self.sources.iter().for_each(|source| source.fill(call, self.set));
        if let Some(before) = &self.before {
            before.call1((self.set, call))?;
        }
        if let Some(sweeper) = &mut self.sweeper {
            sweeper.sweep();
        }
        if let Some(cuda) = &self.cuda {
            cuda.flush()?;
            cuda.synchronize()?;
        }
        Ok(())
    }

    fn call(&mut self) -> PyResult<Option<u64>> {
        let Some(cuda) = &self.cuda else {
            self.last = Some(self.callable.call1(&self.sets[self.set])?);
            return Ok(None);
        };
        cuda.record_start()?;
        self.last = Some(self.callable.call1(&self.sets[self.set])?);
        cuda.record_stop()?;
        cuda.synchronize()?;
        Ok(Some(cuda.elapsed_ns()?))
    }

    fn finish(&mut self, keep: bool) -> PyResult<()> {
        let Some(result) = self.last.take() else { return Ok(()) };
        if keep {
            if self.cuda.is_none() {
                self.digests = values(&result).iter().map(digest).collect();
            }
            self.set = (self.set + 1) % self.sets.len();
            self.kept = Some(result);
            return Ok(());
        }
        match &self.retire {
            Retire::Drop => {}
            Retire::Overwrite => overwrite_all(&result),
            Retire::Call(function) => drop(function.call1((result,))?),
        }
        Ok(())
    }
}

/// Values that a call returned, as a list.
fn values<'py>(result: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    if let Ok(tuple) = result.cast::<PyTuple>() {
        return tuple.iter().collect();
    }
    match result.cast::<PyList>() {
        Ok(list) => list.iter().collect(),
        Err(_) => vec![result.clone()],
    }
}

/// Content id of the bytes of a contiguous tensor in the memory of the host; empty for anything else.
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

/// Memory of one tensor of a result.
struct Memory {
    address: usize,
    nbytes: usize,
    element: usize,
    /// References to the storage, one of them this program's own.
    references: usize,
}

impl Memory {
    /// The memory of a plain tensor on the host that nothing but its result refers to.
    fn of(value: &Bound<'_, PyAny>) -> Option<Self> {
        let py = value.py();
        // SAFETY: `value` is a live object.
        #[expect(unsafe_code, reason = "a count that only the interpreter's own interface has")]
        let references = unsafe { pyo3::ffi::Py_REFCNT(value.as_ptr()) };
        // One reference here, and one in the tuple or list, or the caller's if the result is the tensor itself.
        if references != 2 || !value.getattr(intern!(py, "is_cpu")).ok()?.is_truthy().ok()? {
            return None;
        }
        let storage = value.call_method0(intern!(py, "untyped_storage")).ok()?;
        let count = py.import(intern!(py, "torch._C")).ok()?.getattr(intern!(py, "_storage_Use_Count")).ok()?;
        let number = |value: PyResult<Bound<'_, PyAny>>| value.ok()?.extract::<usize>().ok();
        Some(Self {
            address: number(storage.call_method0(intern!(py, "data_ptr")))?,
            nbytes: number(storage.call_method0(intern!(py, "nbytes")))?,
            element: number(value.call_method0(intern!(py, "element_size")))?,
            references: number(count.call1((storage.getattr(intern!(py, "_cdata")).ok()?,)))?,
        })
    }
}

/// Overwrites the memory of each tensor of a result that nobody else holds.
fn overwrite_all(result: &Bound<'_, PyAny>) {
    let values = values(result);
    let memories: Vec<Memory> = values.iter().filter_map(Memory::of).collect();
    for memory in &memories {
        let sharing = memories.iter().filter(|other| other.address == memory.address).count();
        // An input, or a constant of the graph, has more references than those of the result.
        if memory.address == 0 || memory.nbytes == 0 || memory.references > sharing + 1 {
            continue;
        }
        // A bool is 0 or 1 to any code that reads it.
        let byte = if memory.element == 1 { 1 } else { POISON };
        // SAFETY: the storage has `nbytes` writable bytes in the memory of the host, and only `values` refers to it.
        #[expect(unsafe_code, reason = "tensors are known by address")]
        unsafe {
            std::ptr::write_bytes(memory.address as *mut u8, byte, memory.nbytes);
        }
    }
}

/// Overwrites the memory of each tensor of a result that only the caller holds, on the CPU.
#[pyfunction]
pub(super) fn overwrite(result: &Bound<'_, PyAny>) {
    overwrite_all(result);
}

/// Calls `callable(*arguments[set])`, first `warmup` times untimed, then `trials` times `calls` times between two readings of
/// CLOCK_MONOTONIC. The set is 0 up to the timed call of number `keep`, whose result is kept, and 1 after it.
///
/// `sources`: what is copied into the tensors before each call, outside the clock ([`Source`]). `before`: called after that
/// with the number of the set and of the call. `cuda`: the device is the CUDA device whose context is current; each call is
/// enclosed by device events and ends with a synchronisation of the context. `cold`: the last-level cache (CPU) or the L2
/// cache (CUDA) is overwritten before each call. `retire`: true to overwrite the memory of results that are not kept, or a
/// function that does.
///
/// Returns a dictionary: `e2e_ns`, `device_ns` (means of a trial's calls), `total_ns`, `result`, and `kept`: content ids of the
/// values of `result`.
#[pyfunction]
#[pyo3(signature = (callable, arguments, sources, warmup, trials, calls, keep, *, cuda, cold, before, retire))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(super) fn time_calls<'py>(
    callable: Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, PyTuple>>,
    sources: Vec<Source>,
    warmup: u32,
    trials: u32,
    calls: u32,
    keep: u32,
    cuda: bool,
    cold: bool,
    before: Option<Bound<'py, PyAny>>,
    retire: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = callable.py();
    if arguments.is_empty() || sources.iter().any(|source| source.places.len() != arguments.len()) {
        return Err(PyValueError::new_err("no arguments to call with, or a source without a place in each of them"));
    }
    let mut subject = PyCalls {
        callable,
        sets: arguments,
        set: 0,
        sources,
        before,
        retire: match retire.extract::<bool>() {
            Ok(true) => Retire::Overwrite,
            Ok(false) => Retire::Drop,
            Err(_) => Retire::Call(retire),
        },
        sweeper: (cold && !cuda).then(|| Sweeper::new(last_level_bytes())),
        cuda: if cuda { Some(cuda::Timer::new(cold)?) } else { None },
        last: None,
        kept: None,
        digests: Vec::new(),
    };
    let block = time_block(&mut subject, Plan { warmup, trials, calls, keep })?;
    let reply = PyDict::new(py);
    reply.set_item("e2e_ns", block.e2e)?;
    reply.set_item("device_ns", block.device)?;
    reply.set_item("total_ns", block.total)?;
    reply.set_item("result", subject.kept)?;
    reply.set_item("kept", subject.digests)?;
    Ok(reply)
}
