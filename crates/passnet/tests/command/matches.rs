//! `passnet match` on a small dataset of three graphs.

use std::{fs, path::Path};

use serde_json::Value;

/// `relu(x + y)`, in a kernel that may be wrong and may refuse types other than float32.
fn write_pass(root: &Path, name: &str, guard: &str, factor: &str) {
    fs::create_dir_all(root).unwrap();
    let text = format!(
        r##"import torch
from passnet import kernels

KERNEL = kernels.cpp(
    "void f(const float* x, const float* y, float* out, int64_t n) {{ for (int64_t i = 0; i < n; i++) {{ float s = {factor} * (x[i] + y[i]); out[i] = s < 0 ? 0 : s; }} }}",
    "void f(const float* x, const float* y, float* out, int64_t n)",
)


def pattern(x, y):
    return torch.nn.functional.relu(x + y)


def replacement_args(x, y):
    return (x, y)


def {name}(x, y):
    {guard}
    out = torch.empty_like(x)
    KERNEL(x, y, out, x.numel())
    return out


def replacement_func():
    return {name}
"##
    );
    fs::write(root.join(format!("{name}.py")), text).unwrap();
    fs::write(root.join("sorted_output_pass_rule_names.json"), format!("[\"{name}\"]")).unwrap();
}

pub(crate) fn write_sample(folder: &Path, dtype: &str, body: &str) {
    fs::create_dir_all(folder).unwrap();
    let model = format!(
        "import torch\nclass GraphModule(torch.nn.Module):\n    def forward(self, a, b):\n{body}        return (r,)\n"
    );
    fs::write(folder.join("model.py"), model).unwrap();
    let meta = |name: &str| {
        format!(
            "class Program_weight_tensor_meta_{name}:\n    name = '{name}'\n    shape = [8, 8]\n    dtype = 'torch.{dtype}'\n    device = 'cpu'\n    mean = 0.0\n    std = 1.0\n"
        )
    };
    fs::write(folder.join("weight_meta.py"), format!("{}{}", meta("a"), meta("b"))).unwrap();
}

#[test]
fn coverage_conflicts_refusals_and_unsound_matches_are_counted() {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (passes, data) = (scratch.path().join("passes"), scratch.path().join("data"));
    let require = "kernels.require(x, y, dtype=torch.float32, like=x, contiguous=True)";
    write_pass(&passes.join("a"), "right", require, "1.0f");
    write_pass(&passes.join("b"), "wrong", require, "1.5f");
    let plain = "        s = a + b\n        r = torch.nn.functional.relu(s, inplace=False)\n";
    write_sample(&data.join("one/subgraph_0"), "float32", plain);
    write_sample(&data.join("one/subgraph_1"), "float64", plain);
    let flipped = "        t = a.t()\n        s = t + b\n        r = torch.nn.functional.relu(s, inplace=False)\n";
    write_sample(&data.join("two"), "float32", flipped);
    write_sample(&data.join("three"), "float32", "        r = a - b\n");
    let [passes, data] = [&passes, &data].map(|path| path.to_str().unwrap().to_owned());

    let output = crate::passnet(&["match", &passes, "--dataset", &data, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["graphs"], &found["models"]), (&4.into(), &3.into()));
    for pass in found["passes"].as_array().unwrap() {
        let counts = ["graphs", "models", "matches"].map(|field| pass[field].as_u64());
        assert_eq!(counts, [Some(3), Some(2), Some(3)], "{pass}");
    }
    assert_eq!(found["passes"][1]["same_as"], 0);
    assert_eq!((&found["conflicts"][0]["overlaps"], &found["conflicts"][0]["lost"]), (&3.into(), &3.into()));

    let output = crate::passnet(&["match", &passes, "--dataset", &data, "--check", "3", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let outcome = |pass: usize, types: &str| {
        let classes = found["passes"][pass]["types"].as_array().unwrap();
        let class = classes.iter().find(|class| class["types"].as_str() == Some(types));
        class.map(|class| class["outcome"].as_str().unwrap_or_default().to_owned())
    };
    for (pass, types, expected) in [
        (0, "x: float32 contiguous, y: float32 contiguous", "sound"),
        (0, "x: float64 contiguous, y: float64 contiguous", "refused"),
        (0, "x: float32 permuted, y: float32 contiguous", "refused"),
        (1, "x: float32 contiguous, y: float32 contiguous", "unsound"),
    ] {
        assert_eq!(outcome(pass, types).as_deref(), Some(expected), "{types}: {}", found["passes"][pass]["types"]);
    }

    // Subgraphs are searched before they are annotated.
    let dataset = scratch.path().join("dataset").to_str().unwrap().to_owned();
    assert!(crate::passnet(&["dataset", "import", &data, "--out", &dataset]).status.success());
    assert!(crate::passnet(&["dataset", "fold", &dataset, "--mode", "single-ops"]).status.success());
    let output = crate::passnet(&["match", &passes, "--dataset", &dataset, "--table", "subgraphs", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["graphs"].as_u64() > Some(2), "{found}");
    assert!(
        !String::from_utf8_lossy(&output.stderr).contains("warning:"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    assert_eq!(crate::passnet(&["match", &passes, "--dataset", "/nowhere/at/all"]).status.code(), Some(2));
}
