//! The user's cache directory.

use std::{env, ffi::OsString, path::PathBuf};

/// Returns the directory for everything that may be kept between runs and deleted at any time: compiled kernels, unpacked suites.
///
/// `PASSNET_CACHE` if it is set, else `passnet` in `XDG_CACHE_HOME`, else `.cache/passnet` in `HOME`. Returns `None` if
/// none of these variables is set; an empty variable counts as not set.
pub fn cache_directory() -> Option<PathBuf> {
    from_variables(|name| env::var_os(name))
}

fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    path("PASSNET_CACHE")
        .or_else(|| Some(path("XDG_CACHE_HOME")?.join("passnet")))
        .or_else(|| Some(path("HOME")?.join(".cache/passnet")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_variable_decides() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let found = from_variables(|name| {
                variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
            });
            assert_eq!(found, expected.map(PathBuf::from), "{variables:?}");
        };
        check(&[("PASSNET_CACHE", "/c"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/c"));
        check(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/x/passnet"));
        check(&[("PASSNET_CACHE", ""), ("HOME", "/h")], Some("/h/.cache/passnet"));
        check(&[], None);
    }
}
