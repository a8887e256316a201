//! `--confirm` with the real command on a CPU. The tests print a reason and skip if `PASSNET_PYTHON` is not set.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{fs, path::Path};

use crate::{has_torch, passnet};

/// Writes the graph `relu(linear(x, w))` with four rows and 65,536 columns: on many machines a library is
/// faster than loops.
fn write_task(place: &Path) {
    let meta = |name: &str, shape: &str| {
        format!(
            "class Program_weight_tensor_meta_{name}:\n    name = \"{name}\"\n    shape = {shape}\n    \
             dtype = \"torch.float32\"\n    device = \"cpu\"\n    mean = 0.0\n    std = 1.0\n    data = None\n"
        )
    };
    let model = "import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, x, w):\n        \
                 a = torch.nn.functional.linear(x, w)\n        b = torch.nn.functional.relu(a)\n        return (b,)\n";
    fs::create_dir_all(place).unwrap();
    fs::write(place.join("model.py"), model).unwrap();
    fs::write(place.join("weight_meta.py"), "").unwrap();
    fs::write(place.join("input_meta.py"), meta("x", "[4, 32]") + "\n" + &meta("w", "[65536, 32]")).unwrap();
    fs::write(place.join("graph_net.json"), "{\"framework\": \"torch\", \"model_name\": \"thin\"}").unwrap();
}

/// The pass that `passnet fuse` writes, and its messages.
fn fuse(home: &Path, flags: &[&str]) -> (String, String) {
    let said = crate::fuse(home, "thin", "out", flags);
    (fs::read_to_string(home.join("out/thin/fuse_0.py")).unwrap(), said)
}

#[test]
fn a_product_is_left_to_the_library_where_it_loses() {
    if !has_torch() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    write_task(&home.path().join("thin/000"));
    let (model, _) = fuse(home.path(), &[]);
    assert!(model.contains("torch.nn.functional.linear"), "{model}");
    let (confirmed, said) = fuse(home.path(), &["--confirm"]);
    assert!(said.contains("timing the passes of 1 task against eager mode"), "{said}");
    // Which of the two is faster depends on the machine; the test requires that the passes agree with the measurement.
    if said.contains("thin: fuse_0 is ") {
        assert!(!confirmed.contains("torch.nn.functional.linear") && confirmed.contains("relu"), "{said}\n{confirmed}");
    } else {
        assert!(said.contains("1 pass timed against eager mode, 0 dropped"), "{said}");
        assert_eq!(confirmed, model);
    }
}

/// Before, the command was silent for as long as the passes were timed.
#[test]
fn bench_says_that_it_times_the_passes() {
    if !has_torch() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let flags =
        ["--filter", "gpt2-gelu-tanh", "--graphs-per-task", "1", "--trials", "10", "--paths", "direct", "--out"];
    let bench = ["bench", "run", "suites/demo", "--author", "fuse"];
    let output = passnet(&[bench.as_slice(), &flags, &[out.to_str().unwrap()]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    let (begun, done) = ("timing the passes of 1 task against eager mode", "1 pass timed against eager mode");
    assert!(said.find(begun).unwrap() < said.find(done).unwrap(), "{said}");
}
