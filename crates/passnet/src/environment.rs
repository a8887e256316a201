//! Environment variables that child processes must not inherit.
#![expect(unsafe_code, reason = "the standard library marks changes of the environment as unsafe")]

/// Removes variables from the environment of this process, and so of every process that it starts later. Call it
/// before any thread is started.
pub(crate) fn forget(variables: &[&str]) {
    for variable in variables {
        // SAFETY: the commands that call this have not started a thread yet, so no other thread reads the environment.
        unsafe { std::env::remove_var(variable) };
    }
}
