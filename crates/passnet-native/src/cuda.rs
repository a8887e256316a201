//! The few functions of the CUDA driver that timing and launches need.
//!
//! The library is opened at run time, so that the module loads on machines without a GPU. All calls use the current context of the
//! calling thread, which PyTorch has made. Timing uses the legacy default stream, which waits for all other blocking streams. Kernels are
//! launched on the stream that the caller chooses.

mod driver;
mod gather;
mod global_memory;
mod launch;
mod shared_memory;
mod stacks;
mod timer;

pub use driver::CudaError;
pub use gather::Gather;
pub use global_memory::{overwrite_ranges, prepare_ranges};
pub use launch::{Grid, Kernel, Module, ParameterWords, current_device};
pub use shared_memory::{overwrite_shared_memory, prepare_shared_memory};
pub use stacks::{note_stack, overwrite_stacks};
pub use timer::{Timer, overwrite, synchronize};
