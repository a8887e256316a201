//! Kernel launches with little work on the host, for `passnet.kernels`.

mod argument;
mod collecting;
mod cpp;
mod cuda;
mod function;
mod library;
mod prepared;
mod recording;
mod signature;
mod traced;
mod triton;

pub(super) use self::collecting::collect_launches;
pub(super) use self::cpp::{CppLauncher, guard_kernels, protect_inputs, set_kernel_hook};
pub(super) use self::cuda::CudaLauncher;
pub(super) use self::library::{
    KernelLibrary, judge_device_code, judge_kernel_source, judge_kernel_text, judge_kernels, kernel_flags, kernel_text,
    kernels_are_judged,
};
pub(super) use self::prepared::PreparedFunction;
pub(super) use self::triton::TritonLauncher;
