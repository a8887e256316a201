//! The native part of the Python package: code that cannot be Python because of timing, system calls or trust.
//!
//! - [`timing`]: calls between two readings of the monotonic clock, which enclose the device synchronisation.
//! - [`cuda`]: the functions of the CUDA driver that timing and launches need, loaded at run time from the user's driver.
//! - [`cache`]: size of the last-level cache and a sweep that empties it.
//! - [`census`]: number of kernels that a pass has launched, and a switch that makes kernels do nothing.
//! - [`gate`]: shows the beginning and the end of a block of calls to another process.
//! - [`heap`]: overwrites free memory of the allocator between timed calls.
//! - [`input_memory`]: memory for the inputs of timed calls, whose margins show stray writes.
//! - [`kernel_code`]: loads code of native kernels from judged objects.
//! - [`process`]: process control that Python's standard library lacks.
//! - [`random`]: random numbers of the operating system.
//! - [`ranges`]: ranges of memory that meet.
//! - [`sandbox`]: confinement of a worker by the kernel.
//! - [`violations`]: observations of the interception layer. Code can add and read observations, but never clear them.
//!
//! The crate never decides a verdict and never loads code that `passnet-objects` has not judged. The Python module
//! `passnet._native` is a thin layer over it, in `passnet-python`.
//!
//! ```
//! use passnet_native::{cache, timing};
//!
//! let start = timing::monotonic_ns();
//! assert!(cache::last_level_bytes() > 0);
//! assert!(timing::monotonic_ns() >= start);
//! ```

pub mod cache;
pub mod census;
pub mod cuda;
pub mod gate;
pub mod heap;
pub mod input_memory;
pub mod kernel_code;
pub mod process;
pub mod random;
pub mod ranges;
pub mod sandbox;
pub mod timing;
pub mod violations;
