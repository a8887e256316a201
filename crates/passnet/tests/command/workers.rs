//! Limits of the workers of dataset stages, with the real PyTorch: number, memory, interruption.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    command,
    interrupt::{descendants, is_running},
};

/// Far above what an interruption takes: this machine may be busy.
const BOUND: Duration = Duration::from_secs(60);

/// A graph `body` of a column `a` and a row `b` of `extent` elements.
fn write_sample(folder: &Path, extent: u32, body: &[&str]) {
    std::fs::create_dir_all(folder).unwrap();
    let last = body.last().unwrap().split(' ').next().unwrap();
    let model = format!(
        "import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, a: torch.Tensor, b: torch.Tensor):\n        \
         {}\n        return ({last},)\n",
        body.join("\n        ")
    );
    let meta = |name: &str, shape: [u32; 2]| {
        format!(
            "class Program_weight_tensor_meta_{name}:\n    name = \"{name}\"\n    shape = {shape:?}\n    dtype = \"torch.float32\"\n    \
             device = \"cpu\"\n    mean = 0.0\n    std = 1.0\n    data = None\n"
        )
    };
    let metas = meta("a", [extent, 1]) + &meta("b", [1, extent]);
    for (name, text) in [("model.py", model.as_str()), ("weight_meta.py", &metas), ("graph_net.json", "{}")] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

const PRODUCT: [&str; 4] = ["x = a * b", "y = torch.relu(x)", "z = y + b", "w = torch.tanh(z)"];

/// Runs the command. Returns stdout and stderr.
fn passnet(arguments: &[&str], code: i32) -> (String, String) {
    let output = crate::passnet(arguments);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
    (out, err)
}

fn has_python() -> bool {
    let is_set = std::env::var_os("PASSNET_PYTHON").is_some();
    if !is_set {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
    }
    is_set
}

#[test]
fn a_graph_over_the_memory_limit_is_reported_and_tried_again_with_another_limit() {
    if !has_python() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (samples, data) = (scratch.path().join("samples"), scratch.path().join("data"));
    write_sample(&samples.join("first"), 8, &PRODUCT);
    // 1 GiB for each value.
    write_sample(&samples.join("large"), 16_384, &PRODUCT);
    write_sample(&samples.join("last"), 16, &PRODUCT);
    let (samples, data) = (samples.to_str().unwrap(), data.to_str().unwrap());
    passnet(&["dataset", "import", samples, "--out", data], 0);
    let annotate = |memory| ["dataset", "annotate", data, "--jobs", "2", "--memory-gib", memory];
    let (out, err) = passnet(&annotate("0.8"), 1);
    assert!(out.starts_with("2 graphs annotated, 2 of them by running"), "{out}\n{err}");
    assert!(err.contains("large: over the memory limit: more than 0.8 GiB") && err.contains("--memory-gib"), "{err}");
    let (out, _) = passnet(&annotate("6"), 0);
    assert!(out.starts_with("1 graph annotated, 1 of them by running them; 2 already were"), "{out}");

    passnet(&["dataset", "fold", data], 0);
    let kernels = |memory| ["dataset", "kernels", data, "--exhaustive", "--jobs", "1", "--memory-gib", memory];
    let (out, err) = passnet(&kernels("0.001"), 1);
    assert!(out.starts_with("0 subgraphs") && err.contains("over the memory limit"), "{out}\n{err}");
    let (out, _) = passnet(&kernels("5"), 0);
    assert!(out.starts_with("3 subgraphs of 12 ops counted") && out.ends_with("; 0 were counted before\n"), "{out}");
    let (out, _) = passnet(&kernels("5"), 0);
    assert!(out.starts_with("0 subgraphs") && out.contains("3 were counted before"), "{out}");
    let (_, err) = passnet(&["dataset", "annotate", data, "--jobs", "0"], 2);
    assert!(err.contains("--jobs"), "{err}");
}

#[test]
fn an_interrupted_stage_leaves_no_process_and_can_be_continued() {
    if !has_python() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (samples, data) = (scratch.path().join("samples"), scratch.path().join("data"));
    let products: Vec<String> = (1..200).map(|index| format!("x{index} = torch.matmul(x{}, x0)", index - 1)).collect();
    let mut slow = vec!["x0 = a * b"];
    slow.extend(products.iter().map(String::as_str));
    write_sample(&samples.join("slow"), 2_048, &slow);
    let (samples, data) = (samples.to_str().unwrap(), data.to_str().unwrap());
    passnet(&["dataset", "import", samples, "--out", data], 0);
    let mut child = command(&["dataset", "annotate", data, "--jobs", "2"])
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The helper, and the process of the graph below it.
    while descendants(child.id()).len() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "the stage ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(20));
    }
    let below = descendants(child.id());
    let group = format!("-{}", child.id());
    // Not SIGINT: a shell that starts the tests in the background has it ignored, and processes inherit that.
    assert!(Command::new("kill").args(["-TERM", "--", &group]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    let begin = Instant::now();
    while below.iter().any(|&pid| is_running(pid)) {
        assert!(begin.elapsed() < BOUND, "processes are left: {below:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (out, err) = passnet(&["dataset", "annotate", data, "--seconds", "1"], 1);
    assert!(out.starts_with("0 graphs annotated") && err.contains("slow: not done after 1 s"), "{out}\n{err}");
}
