//! Types of tensors that are cheap to check before each call: the words of PyTorch's objects that hold them.

use std::sync::{Mutex, PoisonError};

use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyTuple},
};

use super::tensor_fields::{TensorFields, WORD};

/// Largest number of dimensions whose sizes and strides are in the tensor itself.
const MOST_DIMENSIONS: usize = 5;
/// Words from the number of dimensions to the strides.
const STRIDES: usize = 1 + MOST_DIMENSIONS;
/// Words from the number of dimensions to the type of the elements: sizes, strides, offset and number of elements.
const FIRST_TYPE: usize = STRIDES + MOST_DIMENSIONS + 2;
/// Words from the number of dimensions to the end of the dispatch keys.
const WORDS: usize = FIRST_TYPE + 2;
/// Words of a tensor before the number of dimensions.
const MOST_BEFORE: usize = 12;
/// Tensors of one type that are compared to find the bits that have no meaning.
const ALIKE: usize = 16;
/// Largest number of bits without a meaning in the word that holds the type. PyTorch does not initialise them, so they keep what was in
/// the memory before, and do not change during the life of a tensor.
const MOST_PADDING: u32 = 8;

type Words = [usize; WORDS];
/// Makes a tensor of always the same sizes and strides with one option of `torch.empty_strided`.
type MakeTensor<'make, 'py> = dyn Fn(&str, Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> + 'make;

/// Place of the words in a tensor that hold its sizes, strides, type, device and dispatch keys. They follow one another.
#[derive(Clone, Copy, Debug)]
struct TypeFields {
    fields: TensorFields,
    /// Offset of the first word in the tensor.
    first: usize,
}

impl TypeFields {
    /// Returns the place, or `None` if the objects of this version of PyTorch have another layout.
    fn get(py: Python<'_>) -> Option<Self> {
        static FIELDS: PyOnceLock<Option<TypeFields>> = PyOnceLock::new();
        *FIELDS.get_or_init(py, || Self::find(py).ok().flatten())
    }

    fn find(py: Python<'_>) -> PyResult<Option<Self>> {
        let Some(fields) = TensorFields::get(py) else { return Ok(None) };
        let torch = py.import("torch")?;
        let make = |sizes: &[usize], strides: &[usize], option: &str, value: Bound<'_, PyAny>| {
            let options = PyDict::new(py);
            options.set_item(option, value)?;
            let (sizes, strides) = (PyTuple::new(py, sizes)?, PyTuple::new(py, strides)?);
            torch.getattr("empty_strided")?.call((sizes, strides), Some(&options))
        };
        let layouts: [(&[usize], &[usize]); 4] =
            [(&[3, 11, 7], &[5, 16, 176]), (&[2, 3, 4, 5, 6], &[720, 240, 60, 13, 2]), (&[9], &[4]), (&[], &[])];
        let plain = layouts
            .map(|(sizes, strides)| make(sizes, strides, "dtype", torch.getattr("float32")?))
            .into_iter()
            .collect::<PyResult<Vec<_>>>()?;
        let has_layouts = |first: &usize| {
            plain.iter().zip(layouts).all(|(tensor, (sizes, strides))| {
                let words = Self { fields, first: *first }.words(tensor);
                words.is_some_and(|words| {
                    words[0] == sizes.len() && words[1..].starts_with(sizes) && words[STRIDES..].starts_with(strides)
                })
            })
        };
        let Some(first) = (0..MOST_BEFORE * WORD).step_by(WORD).find(has_layouts) else { return Ok(None) };
        let place = Self { fields, first };
        let (sizes, strides) = layouts[0];
        let has_types = place.shows_each_type(py, &|option, value| make(sizes, strides, option, value))?;
        Ok(has_types.then_some(place))
    }

    /// Returns whether each change of type shows in the last two words of a tensor, and nothing else does except unused bits.
    fn shows_each_type<'py>(self, py: Python<'py>, make: &MakeTensor<'_, 'py>) -> PyResult<bool> {
        let torch = py.import("torch")?;
        let dtype = |name: &str| make("dtype", torch.getattr(name)?);
        let last = |tensor: &Bound<'_, PyAny>| Some(*self.words(tensor)?.last_chunk::<2>()?);
        // All are alive at the same time, so that each has its own memory.
        let alike = (0..ALIKE).map(|_| dtype("float32")).collect::<PyResult<Vec<_>>>()?;
        let Some(all) = alike.iter().map(last).collect::<Option<Vec<_>>>() else { return Ok(false) };
        let usual = all[0];
        let padding = all.iter().fold(0, |padding, [first, _]| padding | (first ^ usual[0]));
        let is_quiet = padding.count_ones() <= MOST_PADDING && all.iter().all(|[_, keys]| *keys == usual[1]);
        let kind = |tensor: &Bound<'_, PyAny>| Some(last(tensor)?[0] & !padding);
        let mut kinds = vec![kind(&alike[0]), kind(&make("device", "meta".into_pyobject(py)?.into_any())?)];
        for name in ["float64", "bfloat16", "int32", "bool"] {
            kinds.push(kind(&dtype(name)?));
        }
        let is_new = |(number, kind): (usize, &Option<usize>)| kind.is_some() && !kinds[..number].contains(kind);
        let negative = last(&torch.call_method1("_neg_view", (&alike[0],))?);
        let shows_keys = negative.is_some_and(|negative| negative[1] != usual[1]);
        Ok(is_quiet && shows_keys && kinds.iter().enumerate().all(is_new))
    }

    /// Returns the words of a tensor; `None` if it has no object of PyTorch.
    fn words(&self, tensor: &Bound<'_, PyAny>) -> Option<Words> {
        self.at(tensor.as_ptr() as usize).copied()
    }

    /// Returns the words of a tensor by the address of its Python object. The caller keeps the tensor alive and uses the words before
    /// any code of PyTorch runs.
    fn at<'now>(&self, python: usize) -> Option<&'now Words> {
        let object = self.fields.tensor_at(python)?;
        // SAFETY: the Python object keeps the object of PyTorch alive, and `find` has found that it has these words.
        #[expect(unsafe_code, reason = "fields are known by address")]
        unsafe {
            ((object + self.first) as *const Words).as_ref()
        }
    }
}

/// Returns whether words are equal. Without a branch per word, which would take longer than all comparisons.
fn are_equal(words: &Words, others: &Words) -> bool {
    words.iter().zip(others).fold(0, |difference, (word, other)| difference | (word ^ other)) == 0
}

/// Tensors by the addresses of their Python objects, with their words. Most tensors of a model share theirs with others, so a check reads
/// less memory if each is stored once.
#[derive(Debug, Default)]
struct Known {
    tensors: Vec<(usize, usize)>,
    words: Vec<Words>,
}

impl Known {
    /// Returns the present words of tensors; `None` if one has no object of PyTorch.
    fn of(fields: TypeFields, tensors: impl Iterator<Item = usize>) -> Option<Self> {
        let mut known = Self::default();
        for tensor in tensors {
            let now = fields.at(tensor)?;
            let place = known.words.iter().position(|words| words == now).unwrap_or_else(|| {
                known.words.push(*now);
                known.words.len() - 1
            });
            known.tensors.push((tensor, place));
        }
        Some(known)
    }

    fn holds(&self, fields: TypeFields) -> bool {
        self.tensors.iter().all(|(tensor, place)| {
            fields.at(*tensor).zip(self.words.get(*place)).is_some_and(|(now, words)| are_equal(now, words))
        })
    }
}

/// Types, sizes, strides and devices of tensors at the time of a capture.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct TensorTypes {
    tensors: Py<PyTuple>,
    /// PyTorch's check of all these tensors, which takes more time.
    check: Py<PyAny>,
    /// `None` if PyTorch has to check each call.
    fields: Option<TypeFields>,
    /// State at the last check by PyTorch.
    known: Mutex<Known>,
}

#[pymethods]
impl TensorTypes {
    /// `check` takes the tensors and returns whether they have the types of this time.
    #[new]
    fn new(py: Python<'_>, tensors: Bound<'_, PyTuple>, check: Py<PyAny>) -> PyResult<Self> {
        let mut fields = TypeFields::get(py);
        let kinds = py.import("torch")?;
        let kinds = [kinds.getattr("Tensor")?, kinds.getattr("nn")?.getattr("Parameter")?];
        for tensor in &tensors {
            let is_plain = kinds.iter().any(|kind| tensor.get_type().is(kind));
            // More sizes are in memory that the words only point to.
            let is_small = tensor.call_method0(intern!(py, "dim"))?.extract::<usize>()? <= MOST_DIMENSIONS;
            let layout = tensor.getattr(intern!(py, "layout"))?;
            let is_strided = layout.is(&py.import("torch")?.getattr("strided")?);
            if !(is_plain && is_small && is_strided) {
                fields = None;
            }
        }
        let known = fields.and_then(|fields| Known::of(fields, addresses(&tensors)));
        // Without the words of each tensor, PyTorch has to check each call.
        let fields = fields.filter(|_| known.is_some());
        Ok(Self { tensors: tensors.unbind(), check, fields, known: Mutex::new(known.unwrap_or_default()) })
    }

    /// Returns whether the tensors have the types of the time at which this object was made.
    fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        if let Some(fields) = self.fields
            && self.known.lock().unwrap_or_else(PoisonError::into_inner).holds(fields)
        {
            return Ok(true);
        }
        let tensors = self.tensors.bind(py);
        // Other words do not always mean another type: for example, they include the offset.
        let holds: bool = self.check.bind(py).call1(tensors)?.extract()?;
        let fields = self.fields.filter(|_| holds);
        if let Some(known) = fields.and_then(|fields| Known::of(fields, addresses(tensors))) {
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        }
        Ok(holds)
    }
}

/// Returns the addresses of Python objects, which are valid as long as the tuple is.
fn addresses(tensors: &Bound<'_, PyTuple>) -> impl Iterator<Item = usize> {
    tensors.iter().map(|tensor| tensor.as_ptr() as usize)
}
