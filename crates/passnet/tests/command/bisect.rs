//! `passnet bisect` on the failures of a run.

use std::fs;

use super::matches::write_sample;

/// A compiler whose results are wrong only for strict tolerances.
const COMPILER: &str =
    "def compile(module):\n    return lambda *args: tuple(value * 1.000001 for value in module(*args))\n";

#[test]
fn a_failure_of_a_run_is_repeated_with_the_settings_of_the_run() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    write_sample(&scratch.path().join("samples/model"), "float32", "        r = a + b\n");
    fs::write(path("own.py"), COMPILER).unwrap();
    let author = format!("compiler:{}", path("own.py"));
    let strict = ["--correct-at", "-8", "--paths", "direct", "--trials", "2", "--warmup", "1"];
    let run = ["bench", "run", &path("samples"), "--author", &author, "--out", &path("run")];
    let made = super::passnet(&[&run[..], &strict].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    let found = super::passnet(&["bisect", &path("samples"), "--run", &path("run"), "--out", &path("failing")]);
    let text = String::from_utf8_lossy(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&found.stderr));
    assert!(text.contains("accuracy"), "{text}");
}
