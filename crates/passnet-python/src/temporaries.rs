//! Memory that timed calls allocate and release.

use passnet_native::{heap::Session, timing::monotonic_ns};
use pyo3::prelude::*;

use crate::{free_memory::FreeMemory, poison::overwrite_all};

/// Library of PyTorch that allocates the memory of tensors.
const LIBRARY: &str = "libc10.so";

/// Overwrites the memory that a call has allocated and released, before the next call.
///
/// On a CPU with glibc and on a CUDA device, free memory itself is overwritten. Elsewhere, blocks of the same sizes are allocated again and
/// overwritten, because an allocator mostly returns the same blocks.
pub(super) struct Temporaries<'py> {
    way: Way<'py>,
    /// Time of overwriting so far, in nanoseconds.
    ns: u64,
}

/// Beginning of work that counts as overwriting.
pub(super) struct Mark {
    begin: u64,
    /// Nanoseconds of overwriting until then.
    ns: u64,
}

enum Way<'py> {
    /// Overwrite nothing.
    Nothing,
    /// Overwrite free memory; the session begins at the first call. The function makes the same allocations as a call.
    Undecided(Bound<'py, PyAny>),
    Free(Session, Bound<'py, PyAny>),
    Again(Bound<'py, PyAny>),
    OnDevice(FreeMemory<'py>),
}

impl<'py> Temporaries<'py> {
    /// `allocations` is a function that makes the same allocations as a call, or the free memory of a device if `on_device` is true; `None`
    /// if a call releases no memory.
    ///
    /// # Errors
    ///
    /// If `allocations` lacks the functions of free memory.
    pub(super) fn new(allocations: Option<Bound<'py, PyAny>>, on_device: bool) -> PyResult<Self> {
        let way = match allocations {
            None => Way::Nothing,
            Some(free) if on_device => Way::OnDevice(FreeMemory::of(&free)?),
            Some(allocations) => Way::Undecided(allocations),
        };
        Ok(Self { way, ns: 0 })
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
        if let Way::Undecided(allocations) = &self.way {
            let (begin, allocations) = (monotonic_ns(), allocations.clone());
            self.way = match Session::begin(LIBRARY) {
                Some(session) => Way::Free(session, allocations),
                None => Way::Again(allocations),
            };
            self.ns += monotonic_ns() - begin;
        }
    }

    /// Overwrites the memory. `is_kept` is true if the results that are kept have changed, and other blocks are free than after earlier
    /// calls. Where free memory is not known, two sets of blocks then reach more of them.
    pub(super) fn overwrite(&mut self, is_kept: bool) -> PyResult<()> {
        if let Way::Nothing = self.way {
            return Ok(());
        }
        let begin = monotonic_ns();
        if let Way::Free(session, allocations) = &mut self.way
            && session.overwrite().is_none()
        {
            self.way = Way::Again(allocations.clone());
        }
        match &mut self.way {
            Way::Again(allocations) => {
                let sets = if is_kept { 2 } else { 1 };
                let blocks = (0..sets).map(|_| allocations.call0()).collect::<PyResult<Vec<_>>>()?;
                for block in &blocks {
                    overwrite_all(block);
                }
            }
            Way::OnDevice(free) => free.overwrite(is_kept)?,
            Way::Nothing | Way::Undecided(_) | Way::Free(..) => {}
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
