//! Environment variables that processes with untrusted code may see.

use std::ffi::{OsStr, OsString};

/// Variables for the location of programs, libraries and devices, and for the encoding of text. The list has no variable that can contain
/// a secret, and none that changes how PyTorch, Triton or Python behave.
const KEPT: &[&str] = &[
    "PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "HOME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "CC",
    "CXX",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "TRITON_LIBCUDA_PATH",
    "TRITON_PTXAS_PATH",
    "PASSNET_SANDBOX_SKIP",
];

/// Returns the variables of this process that are kept.
pub(crate) fn clean() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_kept(name))
}

/// Returns whether a variable is on the list.
pub(crate) fn is_kept(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| KEPT.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_list_is_kept() {
        assert!(is_kept("PATH".as_ref()) && is_kept("CUDA_VISIBLE_DEVICES".as_ref()));
        for name in [
            "OPENAI_API_KEY",
            "HF_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "LD_PRELOAD",
            "PYTHONPATH",
            "TRITON_INTERPRET",
            "path",
        ] {
            assert!(!is_kept(name.as_ref()), "{name}");
        }
        assert!(clean().all(|(name, _)| is_kept(&name)));
    }
}
