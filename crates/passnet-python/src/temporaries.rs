//! Memory that timed calls allocate and release.

use passnet_native::{cuda, heap::Session, timing::monotonic_ns};
use pyo3::prelude::*;

use crate::{errors::cuda_error, poison::overwrite_all};

/// Library of PyTorch that allocates the memory of tensors.
const LIBRARY: &str = "libc10.so";

/// Overwrites the memory that a call has allocated and released, before the next call.
///
/// On a CPU with glibc, free memory itself is overwritten. Elsewhere, blocks of the same sizes are allocated again and overwritten,
/// because an allocator mostly returns the same blocks. On a device, shared memory is overwritten too.
pub(super) struct Temporaries<'py> {
    /// Function that makes the same allocations as a call.
    allocations: Option<Bound<'py, PyAny>>,
    way: Way,
    on_device: bool,
    /// Time of overwriting so far, in nanoseconds.
    ns: u64,
}

/// Beginning of work that counts as overwriting.
pub(super) struct Mark {
    begin: u64,
    /// Nanoseconds of overwriting until then.
    ns: u64,
}

enum Way {
    /// Overwrite nothing.
    Nothing,
    /// Overwrite free memory; the session begins at the first call.
    Undecided,
    Free(Session),
    Again,
}

impl<'py> Temporaries<'py> {
    /// `allocations` is a function that makes the same allocations as a call; `None` if a call releases no memory. `on_device` is true if
    /// the allocations are on a device.
    pub(super) fn new(allocations: Option<Bound<'py, PyAny>>, on_device: bool) -> Self {
        let way = match (on_device, allocations.is_some()) {
            (_, false) => Way::Nothing,
            (true, true) => Way::Again,
            (false, true) => Way::Undecided,
        };
        Self { allocations, way, on_device, ns: 0 }
    }

    /// Returns the nanoseconds of overwriting so far.
    pub(super) fn ns(&self) -> u64 {
        self.ns
    }

    /// Begins other work that [`Self::count_since`] counts as overwriting.
    pub(super) fn mark(&self) -> Mark {
        Mark { begin: monotonic_ns(), ns: self.ns }
    }

    /// Counts the whole time since a mark as overwriting, once, including overwriting in between.
    pub(super) fn count_since(&mut self, mark: Mark) {
        self.ns = mark.ns + (monotonic_ns() - mark.begin);
    }

    /// Prepares free memory, before the first call.
    pub(super) fn begin(&mut self) {
        if let Way::Undecided = self.way {
            let begin = monotonic_ns();
            self.way = Session::begin(LIBRARY).map_or(Way::Again, Way::Free);
            self.ns += monotonic_ns() - begin;
        }
    }

    /// Overwrites the memory. Where free memory is not known, several `sets` of blocks at a time reach more free blocks.
    pub(super) fn overwrite(&mut self, sets: usize) -> PyResult<()> {
        if let Way::Nothing = self.way {
            return Ok(());
        }
        let begin = monotonic_ns();
        if let Way::Free(session) = &mut self.way
            && session.overwrite().is_none()
        {
            self.way = Way::Again;
        }
        if let (Way::Again, Some(allocations)) = (&self.way, &self.allocations) {
            let blocks = (0..sets).map(|_| allocations.call0()).collect::<PyResult<Vec<_>>>()?;
            for block in &blocks {
                overwrite_all(block);
            }
            if self.on_device {
                cuda::overwrite_shared_memory().and_then(|()| cuda::overwrite_stacks()).map_err(cuda_error)?;
            }
        }
        self.ns += monotonic_ns() - begin;
        Ok(())
    }

    /// Ends the overwriting after the last call. Returns the nanoseconds of overwriting.
    pub(super) fn end(&mut self) -> u64 {
        if let Way::Nothing = self.way {
            return 0;
        }
        let begin = monotonic_ns();
        self.way = Way::Nothing;
        let ns = monotonic_ns() - begin;
        self.ns += ns;
        ns
    }
}
