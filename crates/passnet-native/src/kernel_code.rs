//! Code of native kernels in memory: images of judged objects, which are placed without a linker or the system's loader.
//!
//! - `place`: bytes, addresses, protection.
//! - `libraries`: functions of libraries that kernels call.
//! - `call`: calls with a clean stack and clean registers.
//! - `containers`: memory of `std::vector`, which is empty again after each call.
//! - `stack`: stacks of kernels, apart from those of threads.
//! - `guard`: calls with closed pages around each tensor, for checks.
//! - `forked`: such calls in a process that has no other memory.
//! - `split`: calls whose range is split over the threads of PyTorch.
//! - `threads`: threads that a kernel starts with OpenMP, with clean stacks too.
//! - `copy`: a kernel of the launcher's own.
//!
//! Only an [`Image`](passnet_objects::Image) can be placed, and only a judged object becomes an image. The mapping has no other code, so
//! only judged code runs.

mod call;
mod containers;
mod copy;
mod entry;
#[cfg(target_arch = "x86_64")]
mod forked;
mod guard;
mod keep;
mod libraries;
mod memory_functions;
mod place;
mod split;
#[cfg(target_arch = "x86_64")]
mod stack;
#[cfg(target_arch = "x86_64")]
mod threads;

pub use call::{call, hide_state, hides_state};
pub use copy::copy_elements;
pub use entry::Entry;
pub use guard::{
    ALIGNMENT, GuardPlace, GuardedKernel, StrayAccess, TensorMemory, call_guarded, protect_inputs, set_side, side,
};
pub use keep::Access;
pub use place::{LoadError, PlacedImage};
pub use split::{Range, call_split};
