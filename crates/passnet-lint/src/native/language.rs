//! C++ or CUDA C++.

/// Language of a native kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum NativeLanguage {
    /// `passnet.kernels.cpp`.
    Cpp,
    /// `passnet.kernels.cuda`.
    Cuda,
}
