//! Contents of inputs in timed calls: windows of pools of values, and values that are added to them.

use passnet_native::cuda;
use passnet_record::{DType, add};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::errors::cuda_error;

/// Source of the contents of one input. Call `i` sees window number `(start + i * step) % windows`. The values of the addend, from number
/// `(addend_start + i * addend_step) % addends` on, are added to the window.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct ContentSource {
    /// Address of the first window.
    address: usize,
    /// Address of the tensor in each set of inputs.
    pub(super) places: Vec<usize>,
    /// Bytes of a window.
    nbytes: usize,
    /// Bytes from one window to the next.
    element: usize,
    windows: u64,
    start: u64,
    step: u64,
    /// Name of the element type.
    dtype: String,
    /// Address of the addend; 0 if there is none.
    addend: usize,
    /// Number of values of the addend.
    addends: u64,
    addend_start: u64,
    addend_step: u64,
    /// Lower bound of sums. `high` is the upper bound.
    low: Option<f64>,
    high: Option<f64>,
    /// Function that computes the content on the device. Its arguments are the number of the window, of the first addend value and of the
    /// set.
    sum: Option<Py<PyAny>>,
}

/// Bytes of a content that are computed and compared at a time, so that they fit into the cache.
const PART: usize = 1 << 14;

/// Returns whether the memory at `address` has the content of a call, for a source in the memory of the host.
#[pyfunction]
pub(super) fn has_content(source: ContentSource, call: usize, address: usize) -> PyResult<bool> {
    if source.nbytes == 0 {
        return Ok(true);
    }
    // SAFETY: the caller guarantees that the address is a storage of `nbytes` bytes that it keeps alive.
    #[expect(unsafe_code, reason = "tensors are known by address")]
    let now = unsafe { std::slice::from_raw_parts(address as *const u8, source.nbytes) };
    let (values, sum) = source.on_host(call)?;
    let Some(sum) = sum else { return Ok(now == values) };
    let (mut part, each) = ([0; PART], PART / source.element.max(1) * source.element.max(1));
    for (number, (now, values)) in now.chunks(each).zip(values.chunks(each)).enumerate() {
        sum.write(values, number * (each / source.element.max(1)), &mut part[..now.len()]);
        if now != &part[..now.len()] {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Values that are added to those of a window.
struct Sum<'s> {
    dtype: DType,
    addend: &'s [u8],
    shift: usize,
    bounds: (Option<f64>, Option<f64>),
}

impl Sum<'_> {
    /// Writes the sums for values from element number `first` of the window on.
    fn write(&self, values: &[u8], first: usize, out: &mut [u8]) {
        add(self.dtype, values, self.addend, (self.shift + first) as u64, self.bounds, out);
    }
}

impl ContentSource {
    /// Returns the numbers of the window and of the first addend of a call.
    fn place(&self, call: usize) -> (usize, usize) {
        let nth = |start: u64, step: u64, all: u64| {
            ((u128::from(start) + call as u128 * u128::from(step)) % u128::from(all.max(1))) as usize
        };
        (nth(self.start, self.step, self.windows), nth(self.addend_start, self.addend_step, self.addends))
    }

    /// Returns the window of a call, which must have at least one byte, and the addend, both in host memory.
    fn on_host(&self, call: usize) -> PyResult<(&[u8], Option<Sum<'_>>)> {
        let (number, shift) = self.place(call);
        // SAFETY: `passnet._worker.pools` vouches for the addresses: memory that holds all windows and addends, which it keeps alive.
        #[expect(unsafe_code, reason = "tensors are known by address")]
        let bytes = |address: usize, nbytes| unsafe { std::slice::from_raw_parts(address as *const u8, nbytes) };
        let values = bytes(self.address + number * self.element, self.nbytes);
        if self.addend == 0 {
            return Ok((values, None));
        }
        let dtype = self.dtype.parse().map_err(|_| PyValueError::new_err("an unknown element type"))?;
        let addend = bytes(self.addend, self.addends as usize * self.element);
        Ok((values, Some(Sum { dtype, addend, shift, bounds: (self.low, self.high) })))
    }

    /// Copies the content of a call to the tensor of a set, on the device of the timer or on the CPU.
    pub(super) fn fill(&self, py: Python<'_>, call: usize, set: usize, device: Option<&cuda::Timer>) -> PyResult<()> {
        if let Some(device) = device {
            let (number, shift) = self.place(call);
            if let Some(sum) = &self.sum {
                sum.call1(py, (number, shift, set))?;
                return Ok(());
            }
            // SAFETY: `passnet._worker.pools` vouches for the addresses: memory of the device that holds all windows, and
            // storages of `nbytes` bytes, which it keeps alive. They do not overlap.
            #[expect(unsafe_code, reason = "tensors are known by address")]
            unsafe {
                device.copy(self.places[set], self.address + number * self.element, self.nbytes).map_err(cuda_error)?;
            }
            return Ok(());
        }
        if self.nbytes == 0 {
            return Ok(());
        }
        let (values, sum) = self.on_host(call)?;
        // SAFETY: as above, in the memory of the host.
        #[expect(unsafe_code, reason = "tensors are known by address")]
        let out = unsafe { std::slice::from_raw_parts_mut(self.places[set] as *mut u8, self.nbytes) };
        match sum {
            Some(sum) => sum.write(values, 0, out),
            None => out.copy_from_slice(values),
        }
        Ok(())
    }
}
