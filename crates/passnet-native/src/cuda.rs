//! The few functions of the CUDA driver that timing and launching take.
//!
//! The library is opened at run time, so that the module loads on machines without a GPU. All calls act on the context
//! that is current on the calling thread, which is the one PyTorch made. Timing uses the legacy default stream, which
//! waits for all other blocking streams; kernels go to the stream they are given.

mod driver;
mod gather;
mod launch;
mod timer;

pub use driver::CudaError;
pub use gather::Gather;
pub use launch::{Grid, Kernel, Module, ParameterWords, current_device};
pub use timer::{Timer, overwrite};
