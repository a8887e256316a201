//! Objects of the CUDA driver that several blocks of timed calls share.

use passnet_native::cuda::{Gather, Timer, prepare_ranges, prepare_shared_memory};
use pyo3::prelude::*;

use crate::errors::cuda_error;

/// Largest number of elements on a device that are sampled in a block. The limit is the same for both sides.
const MOST_SAMPLED: usize = 1 << 15;

/// Events, and memory of a device, for blocks of timed calls ([`crate::timed::time_calls`]).
///
/// They are made before the blocks. While other processes use the device, an allocation or a release of its memory waits for the driver, on
/// a busy machine for more than 100 ms. The referee counts the time of a block, so it would charge the candidate for this wait.
// One thread makes all timed calls of a worker.
#[pyclass(unsendable)]
pub(super) struct DeviceTimer {
    pub(super) timer: Timer,
    /// Copies of sampled elements. If there is no memory, no elements on a device are sampled.
    pub(super) gather: Option<Gather>,
}

#[pymethods]
impl DeviceTimer {
    /// Makes the objects for the current CUDA context, and loads the kernels that overwrite memory between calls.
    #[new]
    fn new() -> PyResult<Self> {
        prepare_ranges().and_then(|()| prepare_shared_memory()).map_err(cuda_error)?;
        Ok(Self { timer: Timer::new().map_err(cuda_error)?, gather: Gather::new(MOST_SAMPLED).ok() })
    }
}

impl DeviceTimer {
    /// Prepares the objects for a block of calls. With `cold`, the L2 cache is overwritten before each call.
    pub(super) fn begin(&mut self, cold: bool) -> PyResult<()> {
        if let Some(gather) = &mut self.gather {
            gather.clear();
        }
        if cold { self.timer.prepare_flush().map_err(cuda_error) } else { Ok(()) }
    }
}
