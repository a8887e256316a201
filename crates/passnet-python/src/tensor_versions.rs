//! Version counters and storages of tensors: they show whether tensors have changed, and are cheap to check before each call.

use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyTuple},
};

use super::tensor_fields::{TensorFields, WORD, count, is_address, word};

/// Bytes of a tensor in which its counter is searched: it follows the storage.
const TENSOR_BYTES: usize = 12 * WORD;
/// Bytes of a counter before its number: at most a table of functions and two counts of references.
const MOST_BEFORE: usize = 3 * WORD;
/// Writes to the tensors that the search uses.
const WRITES: [u32; 4] = [0, 1, 5, 260];

/// Place of the version counter of a tensor.
#[derive(Clone, Copy, Debug)]
struct VersionFields {
    fields: TensorFields,
    /// Offset, in the tensor, of the address of its counter. Views of one tensor have one counter.
    counter: usize,
    /// Offset of the number in the counter.
    number: usize,
}

/// A tensor by the address of its Python object.
#[derive(Clone, Copy, Debug)]
struct State {
    python: usize,
    /// Address of PyTorch's own object.
    object: usize,
    storage: usize,
    /// Zero for an inference tensor, which has no counter.
    counter: usize,
    number: u32,
}

impl VersionFields {
    /// Returns the place, or `None` if the objects of this version of PyTorch have another layout.
    fn get(py: Python<'_>) -> Option<Self> {
        static FIELDS: PyOnceLock<Option<VersionFields>> = PyOnceLock::new();
        *FIELDS.get_or_init(py, || Self::find(py).ok().flatten())
    }

    fn find(py: Python<'_>) -> PyResult<Option<Self>> {
        let Some(fields) = TensorFields::get(py) else { return Ok(None) };
        let torch = py.import("torch")?;
        // In inference mode, new tensors have no counter.
        let counted = torch.call_method1("inference_mode", (false,))?;
        counted.call_method0("__enter__")?;
        let found = Self::search(fields, &torch);
        counted.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        found
    }

    fn search(fields: TensorFields, torch: &Bound<'_, PyModule>) -> PyResult<Option<Self>> {
        let mut probes = Vec::new();
        for writes in WRITES {
            let options = PyDict::new(torch.py());
            options.set_item("device", "cpu")?;
            let tensor = torch.call_method("zeros", (3,), Some(&options))?;
            // The first shares the counter, the second has the same memory and a counter of its own.
            let (view, other) = (tensor.call_method0("detach")?, tensor.getattr("data")?);
            for _ in 0..writes {
                tensor.call_method0("zero_")?;
            }
            probes.push((tensor, view, other, writes));
        }
        let object = |tensor: &Bound<'_, PyAny>| fields.tensor_at(tensor.as_ptr() as usize);
        let is_counter = |at: &usize| {
            probes.iter().all(|(tensor, view, other, _)| {
                let words = [tensor, view, other].map(|tensor| object(tensor).map(|object| word(object + at)));
                matches!(words, [Some(mine), Some(shared), Some(own)]
                    if is_address(mine) && is_address(own) && mine == shared && mine != own)
            })
        };
        let Some(counter) = (0..TENSOR_BYTES).step_by(WORD).find(is_counter) else { return Ok(None) };
        let is_number = |at: &usize| {
            probes.iter().all(|(tensor, .., writes)| {
                object(tensor).is_some_and(|object| count(word(object + counter) + at) == *writes)
            })
        };
        let number = (WORD..=MOST_BEFORE).step_by(size_of::<u32>()).find(is_number);
        Ok(number.map(|number| Self { fields, counter, number }))
    }

    /// Returns the state of a tensor, whose Python object the caller keeps alive; `None` if it has no object of PyTorch.
    fn state(&self, python: usize) -> Option<State> {
        let object = self.fields.tensor_at(python)?;
        let (storage, counter) = (self.fields.storage_in(object), word(object + self.counter));
        let number = if is_address(counter) { count(counter + self.number) } else { 0 };
        Some(State { python, object, storage, counter, number })
    }

    /// Returns whether a tensor has the same state as before. The caller keeps its Python object, its storage and its counter alive.
    fn has(&self, state: &State) -> bool {
        // The addresses are those of the state, not those that were just read, so that no read waits for another one.
        self.fields.tensor_at(state.python) == Some(state.object)
            && self.fields.storage_in(state.object) == state.storage
            && word(state.object + self.counter) == state.counter
            && (state.counter == 0 || count(state.counter + self.number) == state.number)
    }
}

/// Versions and storages of tensors at the time of a capture.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct TensorVersions {
    tensors: Py<PyTuple>,
    /// Aliases of the tensors. They keep the counters and storages alive, so that their addresses do not become those of others.
    aliases: Vec<Py<PyAny>>,
    /// For each tensor the number of writes; `None` for an inference tensor.
    versions: Vec<Option<i64>>,
    /// `None` if PyTorch has to be asked in each call.
    known: Option<(VersionFields, Vec<State>)>,
}

#[pymethods]
impl TensorVersions {
    #[new]
    fn new(py: Python<'_>, tensors: Bound<'_, PyTuple>) -> PyResult<Self> {
        let aliases = tensors.iter().map(|tensor| Ok(tensor.call_method0("detach")?.unbind()));
        let aliases = aliases.collect::<PyResult<Vec<_>>>()?;
        let versions = tensors.iter().map(|tensor| version_of(&tensor)).collect::<PyResult<Vec<_>>>()?;
        let known = VersionFields::get(py).and_then(|fields| {
            let states = tensors.iter().map(|tensor| fields.state(tensor.as_ptr() as usize));
            let states: Vec<_> = states.collect::<Option<_>>()?;
            let agree = states.iter().zip(&versions).all(|(state, version)| match version {
                Some(version) => is_address(state.counter) && i64::from(state.number) == *version,
                None => state.counter == 0,
            });
            agree.then_some((fields, states))
        });
        Ok(Self { tensors: tensors.unbind(), aliases, versions, known })
    }

    /// Returns whether nothing has written to the tensors, and none of them got other memory, since this object was made. Writes that
    /// PyTorch does not count, such as those to `tensor.data`, are not noticed.
    fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        if let Some((fields, known)) = &self.known {
            return Ok(known.iter().all(|state| fields.has(state)));
        }
        for ((tensor, alias), version) in self.tensors.bind(py).iter().zip(&self.aliases).zip(&self.versions) {
            let is_set_to = tensor.call_method1(intern!(py, "is_set_to"), (alias,))?.extract::<bool>()?;
            if !is_set_to || version_of(&tensor)? != *version {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the number of writes to a tensor that PyTorch has counted; `None` for an inference tensor.
fn version_of(tensor: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    let py = tensor.py();
    if tensor.call_method0(intern!(py, "is_inference"))?.extract()? {
        return Ok(None);
    }
    tensor.getattr(intern!(py, "_version"))?.extract().map(Some)
}
