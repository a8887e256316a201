//! Functions with the same allocations and launches for the same kinds of arguments: `passnet.kernels.prepared`.
//!
//! The Python code of such a function takes time on the host: it reads shapes, allocates memory and launches kernels. The first call for
//! a signature is therefore recorded, and its allocations and launches become a plan. Later calls with this signature execute the plan
//! and skip the Python code.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use passnet_native::{cuda, kernel_code};
use pyo3::{
    intern,
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple},
};

use super::{
    argument::{address, current_stream},
    collecting::is_collecting,
    cpp,
    recording::{Launch, RecordedWork, Recording, Word, is_recording, unobserved},
};
use crate::{errors::cuda_error, tensor_fields::TensorFields};

/// Largest number of signatures with a plan. Calls with further signatures run the Python function.
const MAX_PLANS: usize = 16;
/// Largest number of tensors of a plan, arguments and allocations together.
const MAX_SLOTS: usize = 256;

/// A function with plans. `passnet.kernels.prepared` describes what it may do.
///
/// `observe(function, arguments)` calls the function and returns an [`Observed`]. `stream(device)` is the current stream of a CUDA
/// device. Attributes can be set, as those of Python's own functions.
#[pyclass(frozen, dict)]
#[derive(Debug)]
pub(crate) struct PreparedFunction {
    function: Py<PyAny>,
    observe: Py<PyAny>,
    stream: Py<PyAny>,
    plans: Mutex<Vec<Arc<LaunchPlan>>>,
    /// True if the function does something that a plan cannot repeat.
    is_plain: AtomicBool,
}

/// Observation of a call: its result, true if further observations are useless, and the material of a plan.
type Observed<'py> = (Bound<'py, PyAny>, bool, Option<ObservedCall<'py>>);

/// Material of a plan: the guard of the signature, the places of tensors among the arguments, the tensors (arguments first, then
/// allocations and views), the call that makes each of the latter, the numbers of the tensors that are the result (one number, or a
/// tuple or list of numbers), and the offsets that the arguments must have in their storage (none if the plan is for any offsets).
type ObservedCall<'py> =
    (Py<PyAny>, Vec<usize>, Vec<Bound<'py, PyAny>>, Vec<MadeTensor>, Bound<'py, PyAny>, Vec<usize>);

/// A function that makes a tensor, its arguments, and the number of the tensor that is its first argument in addition, if it makes a
/// view.
type MadeTensor = (Py<PyAny>, Py<PyTuple>, Option<usize>);

#[pymethods]
impl PreparedFunction {
    #[new]
    fn new(function: Py<PyAny>, observe: Py<PyAny>, stream: Py<PyAny>) -> Self {
        Self { function, observe, stream, plans: Mutex::default(), is_plain: AtomicBool::new(false) }
    }

    #[pyo3(signature = (*arguments, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if named.is_some()
            || self.is_plain.load(Ordering::Relaxed)
            || is_recording()
            || is_collecting()
            || cpp::is_hooked()
            || kernel_code::side().is_some()
        {
            return self.function.bind(py).call(arguments, named);
        }
        let mut known = 0;
        while let Some(plan) = self.plan(known) {
            if plan.is_for(py, arguments)?
                && let Some(result) = plan.repeat(py, arguments, &self.stream)?
            {
                return Ok(result);
            }
            known += 1;
        }
        if known < MAX_PLANS { self.learn(py, arguments) } else { self.function.bind(py).call1(arguments) }
    }
}

impl PreparedFunction {
    /// The lock is not held during the search, because a guard runs code of PyTorch.
    fn plan(&self, number: usize) -> Option<Arc<LaunchPlan>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
    }

    /// Calls the function and stores a plan of its allocations and launches.
    fn learn<'py>(&self, py: Python<'py>, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let recording = Recording::begin();
        let observed = self.observe.bind(py).call1((&self.function, arguments))?;
        let launches = recording.finish();
        let (result, is_hopeless, seen): Observed<'py> = observed.extract()?;
        if is_hopeless {
            self.is_plain.store(true, Ordering::Relaxed);
        }
        if let (Some(seen), Some(launches)) = (seen, launches)
            && let Some(plan) = LaunchPlan::new(py, arguments, seen, launches)?
        {
            self.plans.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(plan));
        }
        Ok(result)
    }
}

/// An argument that is not a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Constant {
    None,
    Bool(bool),
    Int(i64),
    /// The bits of a double: zeros have signs.
    Float(u64),
    /// The address of a `torch.dtype`. Each dtype has one object, which is never freed.
    Dtype(usize),
}

impl Constant {
    fn of(value: &Bound<'_, PyAny>) -> Option<Self> {
        if value.is_none() {
            Some(Self::None)
        } else if value.is_exact_instance_of::<PyBool>() {
            value.extract().ok().map(Self::Bool)
        } else if value.is_exact_instance_of::<PyInt>() {
            value.extract().ok().map(Self::Int)
        } else if value.is_exact_instance_of::<PyFloat>() {
            value.extract::<f64>().ok().map(|number| Self::Float(number.to_bits()))
        } else if value.get_type().fully_qualified_name().is_ok_and(|name| name == "torch.dtype") {
            Some(Self::Dtype(value.as_ptr() as usize))
        } else {
            None
        }
    }

    fn is(self, value: &Bound<'_, PyAny>) -> bool {
        match self {
            Self::Dtype(address) => value.as_ptr() as usize == address,
            known => Self::of(value) == Some(known),
        }
    }
}

/// Use of a tensor in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TensorUse {
    Unused,
    Address,
    /// The tensor is used as an address with these low four bits, for which a kernel was compiled.
    Aligned(u64),
}

#[derive(Clone, Copy, Debug)]
enum PreparedArgument {
    Slot(usize),
    Number(u64),
}

#[derive(Debug)]
struct LaunchStep {
    work: RecordedWork,
    arguments: Vec<PreparedArgument>,
    _owner: Py<PyAny>,
}

#[derive(Debug)]
enum Results {
    One(usize),
    Tuple(Vec<usize>),
    List(Vec<usize>),
}

impl Results {
    /// Reads the number of a tensor, or a tuple or list of numbers.
    fn of(places: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(if let Ok(one) = places.extract() {
            Self::One(one)
        } else if places.is_instance_of::<PyTuple>() {
            Self::Tuple(places.extract()?)
        } else {
            Self::List(places.extract()?)
        })
    }
}

/// The addresses that launches need.
#[derive(Debug)]
struct TensorMemory {
    /// Use of each tensor.
    uses: Vec<TensorUse>,
    /// Bytes of an element of each tensor.
    itemsizes: Vec<usize>,
    /// The way to find addresses without a call of Python, which takes as long as a small kernel for three tensors.
    fields: Option<TensorFields>,
}

/// Allocations, views and launches of a function for arguments of one signature. Its tensors are numbered: first the arguments, then
/// those that it makes.
#[derive(Debug)]
struct LaunchPlan {
    arguments: usize,
    constants: Vec<(usize, Constant)>,
    /// Function that returns whether tensors match those of the recorded call.
    guard: Py<PyAny>,
    tensors: Vec<usize>,
    made: Vec<MadeTensor>,
    /// Offset of each argument in its storage, if the plan depends on the offsets.
    offsets: Vec<usize>,
    memory: TensorMemory,
    steps: Vec<LaunchStep>,
    device: Option<i32>,
    results: Results,
}

impl TensorMemory {
    /// Finds the addresses of the tensors. Returns false if the alignment of one has changed. The guard has checked their types.
    fn find(&self, tensors: &[Bound<'_, PyAny>], addresses: &mut [u64; MAX_SLOTS]) -> PyResult<bool> {
        let all = addresses.iter_mut().zip(tensors).zip(&self.uses).zip(&self.itemsizes);
        for (((place, tensor), usage), &itemsize) in all {
            if *usage != TensorUse::Unused {
                let found = self.fields.and_then(|fields| fields.address(tensor, itemsize));
                *place = found.map_or_else(|| address(tensor), Ok)?;
            }
            if let TensorUse::Aligned(low) = usage
                && *place & 15 != *low
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl LaunchPlan {
    /// Returns the plan; `None` if the call cannot be repeated.
    fn new(
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        seen: ObservedCall<'_>,
        launches: Vec<Launch>,
    ) -> PyResult<Option<Self>> {
        let (guard, tensors, slots, made, results, offsets) = seen;
        if slots.len() > MAX_SLOTS {
            return Ok(None);
        }
        let others = arguments.iter().enumerate().filter(|(place, _)| !tensors.contains(place));
        let constants = others.map(|(place, value)| Some((place, Constant::of(&value)?))).collect::<Option<Vec<_>>>();
        let Some(constants) = constants else { return Ok(None) };
        let mut uses = vec![TensorUse::Unused; slots.len()];
        let mut steps = Vec::with_capacity(launches.len());
        let mut device = None;
        for Launch { work, words, owner } in launches {
            let is_aligned = match work {
                RecordedWork::Cpp(_) => false,
                RecordedWork::Cuda { device: current, is_aligned, .. } => {
                    device = Some(current);
                    is_aligned
                }
            };
            let mut arguments = Vec::with_capacity(words.len());
            for word in words {
                arguments.push(match word {
                    Word::Number(number) => PreparedArgument::Number(number),
                    Word::Tensor(tensor) => {
                        let Some(slot) = slots.iter().position(|slot| slot.is(&tensor)) else { return Ok(None) };
                        if is_aligned {
                            uses[slot] = TensorUse::Aligned(unobserved(py, || address(&slots[slot]))? & 15);
                        } else if uses[slot] == TensorUse::Unused {
                            uses[slot] = TensorUse::Address;
                        }
                        PreparedArgument::Slot(slot)
                    }
                });
            }
            steps.push(LaunchStep { work, arguments, _owner: owner });
        }
        let itemsize = |slot: &Bound<'_, PyAny>| unobserved(py, || slot.getattr(intern!(py, "itemsize"))?.extract());
        let itemsizes = slots.iter().map(itemsize).collect::<PyResult<_>>()?;
        let results = Results::of(&results)?;
        let memory = TensorMemory { uses, itemsizes, fields: TensorFields::get(py) };
        let arguments = arguments.len();
        Ok(Some(Self { arguments, constants, guard, tensors, made, offsets, memory, steps, device, results }))
    }

    /// Returns whether the arguments have the plan's signature.
    fn is_for(&self, py: Python<'_>, arguments: &Bound<'_, PyTuple>) -> PyResult<bool> {
        if arguments.len() != self.arguments {
            return Ok(false);
        }
        if self.constants.is_empty() {
            return self.guard.bind(py).call1(arguments)?.is_truthy();
        }
        for (place, constant) in &self.constants {
            if !constant.is(&*arguments.get_borrowed_item(*place)?) {
                return Ok(false);
            }
        }
        let mut tensors = Vec::with_capacity(self.tensors.len());
        for &place in &self.tensors {
            tensors.push(arguments.get_item(place)?);
        }
        self.guard.bind(py).call1(PyTuple::new(py, tensors)?)?.is_truthy()
    }

    /// Executes the plan. Returns `None` if the alignment of memory, an offset or the device has changed.
    fn repeat<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        stream: &Py<PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let stream = match self.device {
            Some(device) if cuda::current_device().map_err(cuda_error)? == device => {
                current_stream(stream, py, device)?
            }
            Some(_) => return Ok(None),
            None => 0,
        };
        let mut slots = Vec::with_capacity(self.memory.uses.len());
        for &place in &self.tensors {
            slots.push(arguments.get_item(place)?);
        }
        for (slot, offset) in slots.iter().zip(&self.offsets) {
            if slot.call_method0(intern!(py, "storage_offset"))?.extract::<usize>()? != *offset {
                return Ok(None);
            }
        }
        for (function, arguments, viewed) in &self.made {
            let (function, arguments) = (function.bind(py), arguments.bind(py));
            slots.push(match viewed {
                None => function.call1(arguments)?,
                Some(slot) => {
                    let rest = arguments.iter_borrowed().map(|argument| argument.to_owned());
                    let all: Vec<Bound<'_, PyAny>> = std::iter::once(slots[*slot].clone()).chain(rest).collect();
                    function.call1(PyTuple::new(py, all)?)?
                }
            });
        }
        let mut addresses = [0; MAX_SLOTS];
        if !self.memory.find(&slots, &mut addresses)? {
            return Ok(None);
        }
        for step in &self.steps {
            step.run(py, &addresses, stream)?;
        }
        let result = match &self.results {
            Results::One(slot) => slots.swap_remove(*slot),
            Results::Tuple(some) => PyTuple::new(py, some.iter().map(|&slot| &slots[slot]))?.into_any(),
            Results::List(some) => PyList::new(py, some.iter().map(|&slot| &slots[slot]))?.into_any(),
        };
        Ok(Some(result))
    }
}

impl LaunchStep {
    fn run(&self, py: Python<'_>, addresses: &[u64; MAX_SLOTS], stream: usize) -> PyResult<()> {
        let value = |argument: &PreparedArgument| match *argument {
            PreparedArgument::Slot(slot) => addresses[slot],
            PreparedArgument::Number(number) => number,
        };
        match self.work {
            RecordedWork::Cpp(function) => {
                let words: Vec<u64> = self.arguments.iter().map(value).collect();
                // SAFETY: words of the kinds of the launch that was recorded, with addresses of tensors of the same shapes,
                // strides and types; its author vouches for the memory, as in the first call.
                #[expect(unsafe_code, reason = "a kernel touches the memory that its arguments point to")]
                unsafe {
                    function.call(py, &words)?;
                }
            }
            RecordedWork::Cuda { kernel, grid, .. } => {
                let words = self.arguments.iter().map(value).collect();
                // SAFETY: as above; `_owner` keeps the kernel loaded.
                #[expect(unsafe_code, reason = "a launch touches the memory that its arguments point to")]
                unsafe {
                    kernel.launch(grid, stream, words).map_err(cuda_error)?;
                }
            }
        }
        Ok(())
    }
}
