//! `passnet doctor --quick` reports parts that do not work.

use crate::{command, has_torch};

/// Runs the checks of the installation with some variables; returns the table.
fn check(variables: &[(&str, &str)], code: i32, expected: &[&str]) -> String {
    let output = command(&["doctor", "--quick"]).envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{variables:?}\n{text}");
    for part in expected {
        assert!(text.contains(part), "{variables:?} lacks `{part}`\n{text}");
    }
    text
}

#[test]
fn an_interpreter_that_does_not_run_is_unfit() {
    let missing = ("PASSNET_PYTHON", "/nonexistent/python");
    let text = check(&[missing], 3, &["interpreter   unfit", "cannot run /nonexistent/python", "set PASSNET_PYTHON"]);
    assert!(!text.contains("packages"), "{text}");
    // A program that is no Python.
    check(&[("PASSNET_PYTHON", "/bin/true")], 3, &["interpreter   unfit", "it does not run Python programs"]);
}

#[test]
fn a_package_without_its_native_module_is_unfit() {
    if !has_torch() {
        return;
    }
    check(&[], 0, &["interpreter   ok", "packages      ok"]);
    let site = tempfile::tempdir().unwrap();
    std::fs::create_dir(site.path().join("passnet")).unwrap();
    std::fs::write(site.path().join("passnet/__init__.py"), "").unwrap();
    let parts =
        ["packages      unfit", "passnet._native cannot be imported (ModuleNotFoundError", "install the package"];
    check(&[("PASSNET_SITE", site.path().to_str().unwrap())], 3, &parts);
}
