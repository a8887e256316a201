//! Samples of the results of timed calls: a few elements of the outputs of many calls.

use passnet_native::cuda::Gather;
use passnet_record::{DType, SampleRule};
use pyo3::{exceptions::PyRuntimeError, intern, prelude::*, types::PyDict};

use super::poison::values;

/// Largest number of outputs of a call that are sampled.
const MOST_OUTPUTS: usize = 64;

/// [`SampleRule`] as a request has it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct RequestedRule {
    seed: u64,
    every: u32,
    elements: u32,
}

/// Elements that were sampled so far in a block.
pub(super) struct Samples {
    rule: SampleRule,
    outputs: Vec<SampledElements>,
    /// For each copy of an element on a device: its output, the place of its bytes there, and its size.
    gathered: Vec<(usize, usize, usize)>,
    dtypes: Dtypes,
}

/// Element types by PyTorch's objects for them. The objects are compared because Python makes a new text for each request of a name.
#[derive(Default)]
struct Dtypes(Vec<(Py<PyAny>, Option<DType>)>);

impl Dtypes {
    fn of(&mut self, object: &Bound<'_, PyAny>) -> Option<DType> {
        if let Some((_, dtype)) = self.0.iter().find(|(known, _)| known.is(object)) {
            return *dtype;
        }
        let name = object.str().ok()?;
        let dtype = name.to_str().ok().and_then(|name| name.strip_prefix("torch.")?.parse().ok());
        self.0.push((object.clone().unbind(), dtype));
        dtype
    }
}

struct SampledElements {
    index: usize,
    dtype: String,
    count: u64,
    bytes: Vec<u8>,
}

impl Samples {
    /// Makes an empty collection.
    pub(super) fn new(RequestedRule { seed, every, elements }: RequestedRule) -> Self {
        Self {
            rule: SampleRule { seed, every, elements },
            outputs: Vec::new(),
            gathered: Vec::new(),
            dtypes: Dtypes::default(),
        }
    }

    /// Samples elements of the result of a timed call, counted from 0, if the rule selects the call. Elements on a device are copied to
    /// `gather`; without it, only elements in host memory are sampled.
    pub(super) fn take(&mut self, call: u64, result: &Bound<'_, PyAny>, mut gather: Option<&mut Gather>) {
        if !self.rule.takes(call) {
            return;
        }
        for (index, value) in values(result).iter().enumerate().take(MOST_OUTPUTS) {
            // Values without plain elements are skipped; they are checked when whole outputs are compared.
            if let Some(elements) = Elements::of(value, gather.is_some(), &mut self.dtypes) {
                self.note(call, index, &elements, gather.as_deref_mut());
            }
        }
        // An error of the device is sticky: the next synchronisation reports it.
        let _ = gather.map(Gather::launch);
    }

    fn note(&mut self, call: u64, index: usize, elements: &Elements, mut gather: Option<&mut Gather>) {
        let count = elements.count();
        let known = self.outputs.iter().position(|output| output.index == index);
        let place = known.unwrap_or_else(|| {
            let dtype = elements.dtype.to_string();
            self.outputs.push(SampledElements { index, dtype, count, bytes: Vec::new() });
            self.outputs.len() - 1
        });
        let output = &mut self.outputs[place];
        for number in 0..if count == 0 { 0 } else { self.rule.elements } {
            let element = self.rule.element(call, index as u32, number, count);
            if !elements.is_on_device {
                output.bytes.extend_from_slice(elements.read(element));
                continue;
            }
            let (address, size) = (elements.address_of(element) as u64, elements.dtype.size());
            // SAFETY: an element of a result that is alive; it is released in the order of the stream.
            #[expect(unsafe_code, reason = "tensors are known by address")]
            let is_taken = gather.as_mut().is_some_and(|gather| unsafe { gather.push(address, size) } == Ok(true));
            if is_taken {
                self.gathered.push((place, output.bytes.len(), size));
                output.bytes.resize(output.bytes.len() + size, 0);
            }
        }
    }

    /// Reads the elements that were copied on the device.
    fn collect(&mut self, gather: &Gather) -> PyResult<()> {
        let copies = gather.read().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        for (slot, (output, start, size)) in copies.chunks(Gather::slot()).zip(self.gathered.drain(..)) {
            self.outputs[output].bytes[start..start + size].copy_from_slice(&slot[..size]);
        }
        Ok(())
    }

    /// Returns the samples in the form of the reply. `gather` has those on a device.
    pub(super) fn reply(mut self, py: Python<'_>, gather: Option<&Gather>) -> PyResult<Vec<Py<PyDict>>> {
        gather.map_or(Ok(()), |gather| self.collect(gather))?;
        let described = |output: &SampledElements| {
            let reply = PyDict::new(py);
            reply.set_item("index", output.index)?;
            reply.set_item("dtype", &output.dtype)?;
            reply.set_item("count", output.count)?;
            reply.set_item("values", hexadecimal(&output.bytes))?;
            Ok(reply.unbind())
        };
        self.outputs.iter().map(described).collect()
    }
}

/// Returns bytes as hexadecimal digits. A block has thousands of bytes, and a formatter takes longer for them than a call.
fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Elements of a tensor.
struct Elements {
    address: usize,
    is_on_device: bool,
    dtype: DType,
    shape: Vec<u64>,
    stride: Vec<u64>,
}

impl Elements {
    /// Returns the elements of a strided tensor of real numbers on the CPU, or on a CUDA device if `on_device` is true.
    fn of(value: &Bound<'_, PyAny>, on_device: bool, dtypes: &mut Dtypes) -> Option<Self> {
        let py = value.py();
        let call = |name| value.call_method0(name).ok();
        let is = |name| value.getattr(name).ok()?.is_truthy().ok();
        let is_on_device = on_device && is(intern!(py, "is_cuda"))?;
        if !is_on_device && !is(intern!(py, "is_cpu"))? || call(intern!(py, "is_neg"))?.is_truthy().ok()? {
            return None;
        }
        let dtype = dtypes.of(&value.getattr(intern!(py, "dtype")).ok()?)?;
        if matches!(dtype, DType::Complex64 | DType::Complex128) {
            return None;
        }
        Some(Self {
            is_on_device,
            address: call(intern!(py, "data_ptr"))?.extract().ok()?,
            dtype,
            shape: value.getattr(intern!(py, "shape")).ok()?.extract().ok()?,
            stride: call(intern!(py, "stride"))?.extract().ok()?,
        })
    }

    fn count(&self) -> u64 {
        if self.address == 0 { 0 } else { self.shape.iter().product() }
    }

    /// Returns the address of an element, by its flat row-major index.
    fn address_of(&self, mut element: u64) -> usize {
        let mut offset = 0;
        for (extent, stride) in self.shape.iter().zip(&self.stride).rev() {
            offset += element % (*extent).max(1) * stride;
            element /= (*extent).max(1);
        }
        self.address + offset as usize * self.dtype.size()
    }

    /// Returns the bytes of an element in the memory of the host.
    fn read(&self, element: u64) -> &[u8] {
        // SAFETY: the element is one of the tensor's, which is alive while it is read.
        #[expect(unsafe_code, reason = "tensors are known by address")]
        unsafe {
            std::slice::from_raw_parts(self.address_of(element) as *const u8, self.dtype.size())
        }
    }
}
