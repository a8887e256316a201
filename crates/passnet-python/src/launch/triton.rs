//! Kernels of Triton: `passnet.kernels.triton`.
//!
//! Triton binds arguments, builds a key and looks the kernel up in Python, at about ten microseconds a launch. Here Triton only
//! compiles and loads the kernel, at the first launch of each specialisation. A launch builds a key of a few words, scans the known
//! keys, and calls the driver once. Triton's own launcher, which a C compiler makes for each signature in 0.2 to 0.4 s, is not needed.

use std::sync::{Arc, Mutex, PoisonError};

use passnet_native::cuda::{self, Grid};
use pyo3::{
    exceptions::PyValueError,
    intern,
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyTuple},
};

use super::{
    argument::{Kind, address, current_stream, grid_of, integer},
    collecting::collected,
    recording::{Launch, RecordedWork, note, recorded_words, unobserved},
    signature::argument_error,
};
use crate::errors::cuda_error;

/// Largest number of specialisations of a launcher. Launches with further specialisations go through Triton. A kernel that needs more
/// probably has a constant that should be an argument.
const MAX_SPECIALISATIONS: usize = 256;

/// Key of a launch: the words that two launches must have in common to share a compiled kernel. It does not contain the values of
/// arguments. It is at least as fine as Triton's key.
#[derive(Debug)]
struct Key {
    words: Vec<u64>,
    /// Ordinal of the device that is current.
    device: i32,
    /// The positional arguments: addresses, integers, and floats as the bits of a double.
    arguments: Vec<u64>,
}

impl Key {
    fn tensor(&mut self, dtype: usize, address: u64) {
        self.words.extend([dtype as u64, address & 15]);
    }

    /// Adds an integer to the key. Triton compiles again for the value 1, for multiples of 16, and for each width.
    fn integer(&mut self, value: u64, signed: bool) {
        let width = match value.cast_signed() {
            _ if !signed => 3,
            narrow if i32::try_from(narrow).is_ok() => 1,
            _ => 2,
        };
        self.words.extend([width, u64::from(value == 1) << 1 | u64::from(value.is_multiple_of(16))]);
    }

    fn constant(&mut self, kind: u64, value: u64) {
        self.words.extend([kind, value]);
    }
}

/// A specialisation that has been launched before.
#[derive(Clone, Debug)]
enum Known {
    /// The kernel, with the positions and kinds of the arguments that it takes.
    Native(cuda::Kernel, Arc<[(usize, Kind)]>),
    /// Triton has to launch the kernel, because it needs scratch memory, clusters, descriptors or similar features.
    Plain,
}

#[derive(Debug)]
struct Specialisation {
    key: Vec<u64>,
    known: Known,
    /// Objects that the key refers to by address, and the compiled kernel.
    _alive: Vec<Py<PyAny>>,
}

/// A `triton.jit` function that PassNet launches without Triton's launcher.
///
/// `describe(kernel, count)` returns `None` where Triton has to launch, else the handle of the function, threads, bytes of
/// shared memory, and for each of `count` positional arguments its kind, or a space for what was compiled in.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct TritonLauncher {
    jit: Py<PyAny>,
    names: Vec<Py<PyAny>>,
    constant: Vec<bool>,
    describe: Py<PyAny>,
    stream: Py<PyAny>,
    known: Mutex<Vec<Specialisation>>,
}

#[pymethods]
impl TritonLauncher {
    #[new]
    fn new(
        jit: Py<PyAny>,
        names: Vec<Py<PyAny>>,
        constant: Vec<bool>,
        describe: Py<PyAny>,
        stream: Py<PyAny>,
    ) -> PyResult<Self> {
        if names.len() != constant.len() {
            return Err(PyValueError::new_err(
                "each parameter of a kernel has a name and says whether it is a constant",
            ));
        }
        Ok(Self { jit, names, constant, describe, stream, known: Mutex::default() })
    }

    /// `launcher[grid]`: a callable that launches over `grid`, a tuple or a function of the named arguments.
    fn __getitem__(this: Py<Self>, grid: Py<PyAny>) -> TritonLaunch {
        TritonLaunch { launcher: this, grid }
    }
}

impl TritonLauncher {
    /// Returns the key of a launch; `None` where only Triton can handle the arguments.
    fn key(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Option<Key>> {
        if arguments.len() > self.names.len() {
            return Ok(None);
        }
        let device = cuda::current_device().map_err(cuda_error)?;
        let count = arguments.len();
        let mut key = Key { words: Vec::with_capacity(2 * count + 8), device, arguments: vec![0; count] };
        key.words.push(u64::from(device.cast_unsigned()));
        for (place, value) in arguments.iter_borrowed().enumerate() {
            if self.constant[place] {
                constant(&mut key, &value);
            } else if value.is_exact_instance_of::<PyInt>() {
                let signed = value.extract::<i64>().is_ok();
                key.arguments[place] = integer(&value)?;
                key.integer(key.arguments[place], signed);
            } else if value.is_exact_instance_of::<PyFloat>() {
                key.arguments[place] = value.extract::<f64>()?.to_bits();
                key.constant(4, 0);
            } else if value.is_exact_instance_of::<PyBool>() {
                key.arguments[place] = u64::from(value.is_truthy()?);
                key.constant(5, 0);
            } else if value.is_none() {
                key.constant(6, 0);
            } else if let Ok(on_device) = value.getattr(intern!(py, "is_cuda"))
                && on_device.is_truthy()?
            {
                self.check_device(place, &value, device)?;
                key.arguments[place] = address(&value)?;
                key.tensor(value.getattr(intern!(py, "dtype"))?.as_ptr() as usize, key.arguments[place]);
            } else {
                return Ok(None);
            }
        }
        for (name, value) in named.into_iter().flatten() {
            key.words.push(name.as_ptr() as u64);
            constant(&mut key, &value);
        }
        Ok(Some(key))
    }

    /// Refuses a tensor on another device than the current one, because Triton does not check this.
    fn check_device(&self, place: usize, value: &Bound<'_, PyAny>, current: i32) -> PyResult<()> {
        let device: i32 = value.call_method0(intern!(value.py(), "get_device"))?.extract()?;
        if device == current {
            return Ok(());
        }
        let py = value.py();
        let name: String = self.jit.bind(py).getattr("__name__")?.extract()?;
        let parameter = self.names[place].bind(py).to_string();
        let expected = format!("a tensor on cuda:{current}, the current device");
        Err(argument_error(py, &name, &parameter, &expected, &format!("a tensor on cuda:{device}")))
    }

    /// Launches the kernel. `this` is the Python object of the launcher.
    fn launch(
        &self,
        this: &Py<Self>,
        py: Python<'_>,
        grid: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        if collected(py, &self.jit, arguments, named)? {
            return Ok(());
        }
        // Launches through Triton are visible to an observer, which then gives up.
        let Some(key) = unobserved(py, || self.key(py, arguments, named))? else {
            return self.plain(py, grid, arguments, named).map(drop);
        };
        let device = key.device;
        let known = {
            let all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().find(|known| known.key == key.words).map(|found| found.known.clone())
        };
        let known = match known {
            Some(known) => known,
            None => unobserved(py, || {
                let kernel = self.compiled(py, grid, arguments, named)?;
                self.remember(py, &key, kernel, arguments, named)
            })?,
        };
        let Known::Native(kernel, kinds) = known else {
            return self.plain(py, grid, arguments, named).map(drop);
        };
        let words = kinds.iter().map(|&(place, kind)| match kind {
            Kind::Float => u64::from((f64::from_bits(key.arguments[place]) as f32).to_bits()),
            _ => key.arguments[place],
        });
        let words = words.collect();
        let grid = self.grid(py, grid, arguments, named)?;
        let stream = current_stream(&self.stream, py, device)?;
        // SAFETY: Triton compiled the kernel for arguments with this key, and `words` holds them, followed by null pointers, which
        // stand for the scratch memory it does not use. Its caller vouches for the memory, as with any launch through Triton.
        #[expect(unsafe_code, reason = "a launch touches the memory that its arguments point to")]
        unsafe {
            kernel.launch(grid, stream, words).map_err(cuda_error)?;
        }
        note(|| {
            let values = kinds.iter().map(|&(place, kind)| Ok((kind, arguments.get_item(place)?)));
            let words = recorded_words(values.collect::<PyResult<Vec<_>>>()?.into_iter())?;
            let work = RecordedWork::Cuda { kernel, grid, device, is_aligned: true };
            Ok(Some(Launch { work, words, owner: this.clone_ref(py).into_any() }))
        })
    }

    fn grid(
        &self,
        py: Python<'_>,
        grid: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Grid> {
        if !grid.is_callable() {
            return grid_of(grid);
        }
        let bound = PyDict::new(py);
        for (name, value) in self.names.iter().zip(arguments.iter_borrowed()) {
            bound.set_item(name, value)?;
        }
        if let Some(named) = named {
            bound.update(named.as_mapping())?;
        }
        grid_of(&grid.call1((bound,))?)
    }

    /// Returns Triton's compiled kernel for a launch without launching it; Python's `None` if a hook takes over.
    fn compiled<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let all = named.map_or_else(|| Ok(PyDict::new(py)), |named| named.copy())?;
        all.set_item(intern!(py, "grid"), grid)?;
        all.set_item(intern!(py, "warmup"), true)?;
        self.jit.bind(py).call_method(intern!(py, "run"), arguments, Some(&all))
    }

    /// Launches through Triton.
    fn plain<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.jit.bind(py).get_item(grid)?.call(arguments, named)
    }

    fn remember(
        &self,
        py: Python<'_>,
        key: &Key,
        kernel: Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Known> {
        let described: Option<(usize, u32, u32, String)> =
            self.describe.bind(py).call1((&kernel, arguments.len()))?.extract()?;
        let known = match described {
            None => Known::Plain,
            Some((function, threads, shared_bytes, codes)) => {
                let kinds = codes.chars().enumerate().filter(|(_, code)| *code != ' ');
                let kinds: Arc<[_]> =
                    kinds.map(|(place, code)| Ok((place, Kind::parse(code)?))).collect::<PyResult<_>>()?;
                // SAFETY: `function` is the handle of `kernel`, which is kept alive with it.
                #[expect(unsafe_code, reason = "Triton has loaded the function")]
                let kernel =
                    unsafe { cuda::Kernel::from_handle(function, [threads, 1, 1], shared_bytes).map_err(cuda_error)? };
                Known::Native(kernel, kinds)
            }
        };
        let mut alive = vec![kernel.unbind()];
        alive.extend(arguments.iter().zip(&self.constant).filter(|(_, constant)| **constant).map(|(v, _)| v.unbind()));
        for (name, value) in named.into_iter().flatten() {
            alive.extend([name.unbind(), value.unbind()]);
        }
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_SPECIALISATIONS {
            all.push(Specialisation { key: key.words.clone(), known: known.clone(), _alive: alive });
        }
        Ok(known)
    }
}

/// Adds a constant to the key: by its value if it is a small number, else by its address. Equal strings at two addresses only cause a
/// second entry.
fn constant(key: &mut Key, value: &Bound<'_, PyAny>) {
    if value.is_exact_instance_of::<PyInt>()
        && let Ok(number) = value.extract::<i64>()
    {
        key.constant(7, number.cast_unsigned());
    } else if value.is_exact_instance_of::<PyFloat>()
        && let Ok(number) = value.extract::<f64>()
    {
        key.constant(8, number.to_bits());
    } else {
        key.constant(9, value.as_ptr() as u64);
    }
}

/// A launcher with its grid.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct TritonLaunch {
    launcher: Py<TritonLauncher>,
    grid: Py<PyAny>,
}

#[pymethods]
impl TritonLaunch {
    #[pyo3(signature = (*arguments, **named))]
    fn __call__(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.launcher.get().launch(&self.launcher, py, self.grid.bind(py), arguments, named)
    }
}
