//! Offsets of a few fields in PyTorch's objects, found with tensors whose values are known.
//!
//! Between two timed calls, the memory of each result has to be found, and asking Python for it would take longer than a short call.

use std::ptr;

use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyType},
};

pub(super) const WORD: usize = size_of::<usize>();
/// Bytes of the objects that are searched. The objects are larger than this in each version of PyTorch 2.
const PYTHON_BYTES: usize = 4 * WORD;
const TENSOR_BYTES: usize = 16 * WORD;
/// Bytes of a tensor in which its offset is searched: the offset follows the sizes and strides.
const OFFSET_BYTES: usize = 23 * WORD;
const STORAGE_BYTES: usize = 8 * WORD;
/// Bytes from the address of the data to the device in a storage. Between them are the address, the owner of the data and its release
/// function.
const DEVICE: usize = 3 * WORD;
/// Kinds of devices.
const CPU: u8 = 0;
const CUDA: u8 = 1;
const META: u8 = 14;

/// Offsets of fields in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TensorFields {
    /// The fields that [`TensorFields::address`] reads in addition, if they were found.
    place: Option<PlaceFields>,
    /// Offset of the tensor in the Python object.
    tensor: usize,
    /// Offset of the storage in the tensor.
    storage: usize,
    /// Offsets in the storage: address and bytes of the data, and the number of references.
    data: usize,
    nbytes: usize,
    references: usize,
}

/// Fields that decide at which address the elements of a tensor begin.
#[derive(Clone, Copy, Debug)]
struct PlaceFields {
    /// Offset, in the tensor, of the distance of its first element from the beginning of the storage, in elements.
    offset: usize,
    /// Offset in the storage of the function that releases the data.
    release: usize,
    /// The release function of data that several storages share until one of them is written.
    shared: usize,
    /// Addresses of the types `torch.Tensor` and `torch.nn.Parameter`. Objects of other types may have other fields.
    types: [usize; 2],
}

/// Storage of a tensor in the memory of the host or of a CUDA device.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainStorage {
    pub(super) address: usize,
    pub(super) nbytes: usize,
    pub(super) references: usize,
    pub(super) is_on_cuda: bool,
}

/// A tensor with the values that Python has for it.
struct Known<'py> {
    tensor: Bound<'py, PyAny>,
    storage: usize,
    data: usize,
    nbytes: usize,
    references: usize,
}

/// Returns whether an object is of the type `torch.Tensor` itself.
pub(super) fn is_plain_tensor(value: &Bound<'_, PyAny>) -> bool {
    static TENSOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    TENSOR.import(value.py(), "torch", "Tensor").is_ok_and(|tensor| value.get_type().is(tensor))
}

impl TensorFields {
    /// Returns the fields, or `None` if the objects of this version of PyTorch have another layout.
    pub(super) fn get(py: Python<'_>) -> Option<Self> {
        static FIELDS: PyOnceLock<Option<TensorFields>> = PyOnceLock::new();
        *FIELDS.get_or_init(py, || Self::find(py).ok().flatten())
    }

    fn find(py: Python<'_>) -> PyResult<Option<Self>> {
        let empty = py.import("torch")?.getattr("empty")?;
        let (tensors, _views) = probes(&empty)?;
        let known = tensors.iter().map(Known::of).collect::<PyResult<Vec<_>>>()?;
        let Some(fields) = Self::search(&known) else { return Ok(None) };
        // The storages of these tensors have no Python objects, like the storages of results.
        let (tensors, _views) = probes(&empty)?;
        let mut is_right = true;
        for (views, tensor) in tensors.iter().enumerate() {
            let Some(PlainStorage { address, nbytes, references, .. }) = fields.read(tensor) else { return Ok(None) };
            is_right &= references == views + 1;
            is_right &= address == tensor.call_method0("data_ptr")?.extract::<usize>()?;
            is_right &= nbytes == tensor.getattr("nbytes")?.extract::<usize>()?;
        }
        let on_meta = PyDict::new(py);
        on_meta.set_item("device", "meta")?;
        let meta = empty.call((3,), Some(&on_meta))?;
        let is_meta = fields.storage_of(&meta).is_some_and(|storage| byte(storage + fields.data + DEVICE) == META);
        // Not every version of PyTorch 2 has shared data.
        let place = fields.find_place(&empty).ok().flatten();
        Ok((is_right && is_meta).then_some(Self { place, ..fields }))
    }

    fn search(known: &[Known<'_>]) -> Option<Self> {
        let offsets = |bytes: usize| (0..bytes).step_by(WORD);
        let python = offsets(PYTHON_BYTES).skip(2);
        let pairs = python.flat_map(|tensor| offsets(TENSOR_BYTES).map(move |storage| (tensor, storage)));
        let is_storage = |&(tensor, storage): &(usize, usize)| {
            known.iter().all(|known| {
                let object = word(known.tensor.as_ptr() as usize + tensor);
                is_address(object) && word(object + storage) == known.storage
            })
        };
        let (tensor, storage) = pairs.into_iter().find(is_storage)?;
        let find = |value: fn(&Known<'_>) -> usize, mask: usize| {
            offsets(STORAGE_BYTES)
                .find(|offset| known.iter().all(|known| word(known.storage + offset) & mask == value(known)))
        };
        Some(Self {
            tensor,
            storage,
            data: find(|known| known.data, usize::MAX)?,
            nbytes: find(|known| known.nbytes, usize::MAX)?,
            // The upper half of the word counts other references.
            references: find(|known| known.references, u32::MAX as usize)?,
            place: None,
        })
    }

    /// Finds the fields of [`TensorFields::address`] with views whose offsets are known, and with data that is shared until it is
    /// written.
    fn find_place(&self, empty: &Bound<'_, PyAny>) -> PyResult<Option<PlaceFields>> {
        let lazy_clone = empty.py().import("torch")?.getattr("_lazy_clone")?;
        let (mut views, mut clones) = (Vec::new(), Vec::new());
        for offset in [0_usize, 7, 1234, 99_991] {
            let whole = empty.call1((offset + 3,))?;
            views.push((whole.call_method1("narrow", (0, offset, 2))?, offset));
            // Cloning changes the storage of the original as well.
            let other = empty.call1((offset + 3,))?;
            clones.push((lazy_clone.call1((&other,))?, other));
        }
        let tensor = |value: &Bound<'_, PyAny>| word(value.as_ptr() as usize + self.tensor);
        let is_offset = |at: &usize| views.iter().all(|(view, offset)| word(tensor(view) + at) == *offset);
        let storages: Vec<usize> = clones.iter().filter_map(|(clone, _)| self.storage_of(clone)).collect();
        let plain: Vec<usize> = views.iter().filter_map(|(view, _)| self.storage_of(view)).collect();
        let (Some(&first), Some(&other)) = (storages.first(), plain.first()) else { return Ok(None) };
        let is_release = |at: &usize| {
            let shared = word(first + at);
            storages.iter().all(|storage| word(storage + at) == shared)
                && plain.iter().all(|storage| word(storage + at) == word(other + at))
                && word(other + at) != shared
        };
        let offset = (0..OFFSET_BYTES).step_by(WORD).find(is_offset);
        let release = (self.data + WORD..self.data + DEVICE).step_by(WORD).find(is_release);
        let torch = empty.py().import("torch")?;
        let types = [torch.getattr("Tensor")?, torch.getattr("nn")?.getattr("Parameter")?];
        let types = types.map(|of| of.as_ptr() as usize);
        let fields = |(offset, release)| PlaceFields { offset, release, shared: word(first + release), types };
        Ok(offset.zip(release).map(fields))
    }

    /// Returns the address of the first element of a strided tensor, on any device. Returns `None` if PyTorch has to be asked: for
    /// an object that is not of the type `torch.Tensor` or `torch.nn.Parameter` itself, and for shared data, which it copies before
    /// it returns an address.
    pub(super) fn address(&self, value: &Bound<'_, PyAny>, itemsize: usize) -> Option<u64> {
        let PlaceFields { offset, release, shared, types } = self.place?;
        types.contains(&(value.get_type_ptr() as usize)).then_some(())?;
        let storage = self.storage_of(value)?;
        let start = word(storage + self.data);
        let tensor = word(value.as_ptr() as usize + self.tensor);
        let is_plain = start != 0 && word(storage + release) != shared;
        is_plain.then(|| (start + word(tensor + offset) * itemsize) as u64)
    }

    /// Returns the storage of an object of the type `torch.Tensor` itself, if it is in the memory of the host or of a CUDA device.
    pub(super) fn read(&self, tensor: &Bound<'_, PyAny>) -> Option<PlainStorage> {
        let storage = self.storage_of(tensor)?;
        let device = byte(storage + self.data + DEVICE);
        [CPU, CUDA].contains(&device).then(|| PlainStorage {
            address: word(storage + self.data),
            nbytes: word(storage + self.nbytes),
            references: word(storage + self.references) & u32::MAX as usize,
            is_on_cuda: device == CUDA,
        })
    }

    /// Returns the first address of a tensor's storage and the address after its end, on any device. `None` for a tensor without storage.
    pub(super) fn memory(&self, tensor: &Bound<'_, PyAny>) -> Option<(usize, usize)> {
        let storage = self.storage_of(tensor)?;
        let start = word(storage + self.data);
        Some((start, start.saturating_add(word(storage + self.nbytes))))
    }

    /// Returns the address of PyTorch's own object of a tensor, by the address of its Python object, which is alive.
    pub(super) fn tensor_at(&self, python: usize) -> Option<usize> {
        Some(word(python + self.tensor)).filter(|object| is_address(*object))
    }

    /// Returns the word that holds the address of the storage in a tensor, by the address of PyTorch's own object.
    pub(super) fn storage_in(&self, tensor: usize) -> usize {
        word(tensor + self.storage)
    }

    fn storage_of(&self, tensor: &Bound<'_, PyAny>) -> Option<usize> {
        // Sparse tensors have none, nor do those inside of `torch.vmap`.
        Some(word(word(tensor.as_ptr() as usize + self.tensor) + self.storage)).filter(|storage| is_address(*storage))
    }
}

impl<'py> Known<'py> {
    fn of(tensor: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = tensor.py();
        let storage = tensor.call_method0(intern!(py, "untyped_storage"))?;
        let address: usize = storage.getattr(intern!(py, "_cdata"))?.extract()?;
        let count = py.import("torch._C")?.getattr("_storage_Use_Count")?;
        Ok(Self {
            tensor: tensor.clone(),
            storage: address,
            data: tensor.call_method0("data_ptr")?.extract()?,
            nbytes: storage.call_method0("nbytes")?.extract()?,
            references: count.call1((address,))?.extract()?,
        })
    }
}

type Tensors<'py> = Vec<Bound<'py, PyAny>>;

/// Returns tensors and their views. The first tensor has no views, the second has one view, and so on.
fn probes<'py>(empty: &Bound<'py, PyAny>) -> PyResult<(Tensors<'py>, Tensors<'py>)> {
    let (mut tensors, mut views) = (Vec::new(), Vec::new());
    for (number, count) in [3, 1000, 77, 5000].into_iter().enumerate() {
        let tensor = empty.call1((count,))?;
        for _ in 0..number {
            views.push(tensor.call_method1("view", (-1,))?);
        }
        tensors.push(tensor);
    }
    Ok((tensors, views))
}

/// Returns whether a word can be the address of an object. Programs have addresses of 47 bits on x86-64, and of 48 bits on Arm.
pub(super) fn is_address(word: usize) -> bool {
    (1 << 16..1 << 48).contains(&word) && word.is_multiple_of(WORD)
}

/// Reads a word of an object of PyTorch.
pub(super) fn word(address: usize) -> usize {
    // SAFETY: the callers pass addresses in objects that are alive, and checked offsets.
    #[expect(unsafe_code, reason = "fields are known by address")]
    unsafe {
        ptr::read_volatile(address as *const usize)
    }
}

/// Reads a number of 32 bits of an object of PyTorch.
pub(super) fn count(address: usize) -> u32 {
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "fields are known by address")]
    unsafe {
        ptr::read_volatile(address as *const u32)
    }
}

fn byte(address: usize) -> u8 {
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "fields are known by address")]
    unsafe {
        ptr::read_volatile(address as *const u8)
    }
}
