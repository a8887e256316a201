//! `passnet new`: the generated kernels are right.

use serde_json::Value;

use crate::{command, passnet};

/// Tasks of different kinds: elementwise, in place, integers, a reduction.
const TASKS: [&str; 4] = ["gpt2-gelu-tanh", "resnet-bn-add-relu", "roberta-position-ids", REDUCTION];
const REDUCTION: &str = "llama-rms-norm";

#[test]
fn a_new_pass_is_right_before_anyone_changes_it() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in TASKS {
        let task = format!("suites/demo/{name}");
        let out = folder.path().join(name);
        let path = out.to_str().unwrap();
        let output = passnet(&["new", &task, "--out", path]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(printed.contains("the generated kernels are correct"), "{name}: {printed}");
        assert!(passnet(&["lint", path]).status.success(), "{name}");
        let text = std::fs::read_to_string(out.join("my_pass.py")).unwrap_or_default();
        // The library of the built-in author alone has more.
        assert!(text.lines().count() < 300, "{name}: {} lines", text.lines().count());
    }
    // `new` has checked all of them. The referee agrees, also for a sum.
    let (task, path) = (format!("suites/demo/{REDUCTION}"), folder.path().join(REDUCTION));
    let path = path.to_str().unwrap();
    let flags = ["--trials", "10", "--warmup", "1", "--paths", "direct", "--json"];
    let output = command(&[&["eval", &task, "--passes", path], &flags[..]].concat()).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for verdict in found["verdicts"].as_array().unwrap() {
        // On a busy machine times vary, which is not a fault of the kernels.
        assert!(matches!(verdict["status"].as_str(), Some("correct" | "unstable")), "{verdict:#}");
    }
    assert!(found["reward"].as_f64().is_some_and(|reward| (0.0..=1.0).contains(&reward)));
}
