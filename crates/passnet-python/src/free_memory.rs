//! Overwriting of the free memory of PyTorch's allocator on a CUDA device.

use passnet_native::cuda;
use pyo3::{intern, prelude::*};

use crate::errors::cuda_error;

/// Free memory on a device, which a kernel can reach, and other memory that keeps values from one launch to the next.
///
/// PyTorch takes longer than a short call to list the blocks of its allocator. Most calls leave free blocks of the same sizes, so the sizes
/// of the last list are allocated again. The allocator's count of free bytes then shows if other memory is free.
pub(super) struct FreeMemory<'py> {
    /// Returns sizes whose allocation, in their order, takes all free memory.
    sizes: Bound<'py, PyAny>,
    /// Returns the number of free bytes.
    free_bytes: Bound<'py, PyAny>,
    /// Allocates a number of bytes on a stream, and returns the address.
    allocate: Bound<'py, PyAny>,
    /// Releases the memory at an address.
    release: Bound<'py, PyAny>,
    stream: usize,
    known: Option<Known>,
}

/// Sizes of free blocks, and the number of bytes that are free after their allocation, because they are for other streams or CUDA graphs.
struct Known {
    sizes: Vec<usize>,
    rest: u64,
}

impl<'py> FreeMemory<'py> {
    /// Takes the functions of `passnet._monitor.allocations.FreeMemory`.
    pub(super) fn of(free: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = free.py();
        Ok(Self {
            sizes: free.getattr(intern!(py, "sizes"))?,
            free_bytes: free.getattr(intern!(py, "free_bytes"))?,
            allocate: free.getattr(intern!(py, "allocate"))?,
            release: free.getattr(intern!(py, "release"))?,
            stream: free.getattr(intern!(py, "stream"))?.extract()?,
            known: None,
        })
    }

    /// Overwrites all free memory, shared memory and stacks, in the order of the legacy default stream. `has_changed` is true if other
    /// blocks are free than at the last call.
    pub(super) fn overwrite(&mut self, has_changed: bool) -> PyResult<()> {
        if has_changed {
            self.known = None;
        }
        let blocks = self.take_all()?;
        // SAFETY: the blocks were allocated for this, and the allocator gives them to no other code until they are released below.
        #[expect(unsafe_code, reason = "memory is known by address")]
        let overwritten = unsafe { cuda::overwrite_ranges(&blocks) };
        self.release(&blocks)?;
        let overwritten = overwritten.and_then(|()| cuda::overwrite_shared_memory());
        overwritten.and_then(|()| cuda::overwrite_stacks()).map_err(cuda_error)
    }

    /// Allocates all free memory. Returns the addresses and the sizes of the blocks.
    fn take_all(&mut self) -> PyResult<Vec<(usize, usize)>> {
        if let Some(Known { sizes, rest }) = &self.known {
            let blocks = self.allocate(sizes)?;
            if self.left()? == *rest {
                return Ok(blocks);
            }
            self.release(&blocks)?;
        }
        let sizes: Vec<usize> = self.sizes.call0()?.extract()?;
        let blocks = self.allocate(&sizes)?;
        self.known = Some(Known { sizes, rest: self.left()? });
        Ok(blocks)
    }

    fn left(&self) -> PyResult<u64> {
        self.free_bytes.call0()?.extract()
    }

    fn allocate(&self, sizes: &[usize]) -> PyResult<Vec<(usize, usize)>> {
        let block = |&size: &usize| Ok((self.allocate.call1((size, self.stream))?.extract()?, size));
        sizes.iter().map(block).collect()
    }

    fn release(&self, blocks: &[(usize, usize)]) -> PyResult<()> {
        blocks.iter().try_for_each(|(address, _)| self.release.call1((*address,)).map(|_| ()))
    }
}
