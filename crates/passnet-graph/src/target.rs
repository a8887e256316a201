/// The kind of device that a graph runs on and kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A CPU; kernels are C++.
    Cpu,
    /// A CUDA device; kernels are Triton.
    Cuda,
}
