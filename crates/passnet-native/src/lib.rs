//! The native part of the Python package: everything that must not run in the interpreter.
//!
//! - [`timing`]: calls between two readings of the monotonic clock, which enclose the device synchronisation.
//! - [`cuda`]: the few driver functions that this takes, loaded at run time from the user's own driver.
//! - [`cache`]: size of the last-level cache and a sweep that empties it.
//! - [`census`]: how many kernels a pass has launched, and a switch that makes them do nothing.
//! - [`kernel_code`]: code of native kernels, loaded from objects that were judged.
//! - [`process`]: process control that Python's standard library lacks.
//! - [`sandbox`]: confinement of a worker by the kernel.
//! - [`violations`]: what the interception layer saw; can be added to and read, never cleared.
//!
//! The Python module `passnet._native` is a thin layer over them and exists only with the feature `python`.

pub mod cache;
pub mod census;
pub mod cuda;
pub mod kernel_code;
pub mod process;
pub mod sandbox;
pub mod timing;
pub mod violations;

#[cfg(feature = "python")]
mod python;
