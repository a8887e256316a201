//! Samples of Paddle through the stages of a dataset.

use crate::passnet;

const MODEL: &str = r#"import paddle


class GraphModule(paddle.nn.Layer):
    def __init__(self):
        super().__init__()

    def forward(self, parameter_0, data_0):
        # pd_op.matmul: (-1x8xf32) <- (-1x4xf32, 4x8xf32)
        matmul_0 = paddle._C_ops.matmul(data_0, parameter_0, False, False)

        # pd_op.relu: (-1x8xf32) <- (-1x8xf32)
        relu_0 = paddle._C_ops.relu(matmul_0)
        del matmul_0
        return relu_0
"#;

fn meta(name: &str, shape: &str) -> String {
    format!(
        "class Program_weight_tensor_{name}:\n    name = \"{name}\"\n    shape = {shape}\n    dtype = \"float32\"\n    data = None\n"
    )
}

#[test]
fn samples_of_paddle_are_stored_deduplicated_folded_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    for model in ["first/subgraph_0", "second"] {
        let sample = folder.path().join("samples").join(model);
        std::fs::create_dir_all(&sample).unwrap();
        let files = [
            ("model.py", MODEL.to_owned()),
            ("weight_meta.py", meta("parameter_0", "[4, 8]")),
            ("input_meta.py", meta("data_0", "[2, 4]")),
            ("graph_net.json", r#"{"framework": "paddle", "model_name": "none"}"#.to_owned()),
        ];
        for (file, text) in files {
            std::fs::write(sample.join(file), text).unwrap();
        }
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (samples, dataset) = (path("samples"), path("dataset"));
    let printed = |arguments: &[&str]| {
        let output = passnet(arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {text}");
        text
    };
    assert!(printed(&["dataset", "import", &samples, "--out", &dataset]).contains("2 samples"));
    assert!(printed(&["dataset", "dedup", &dataset]).contains("1 of 2 kept"));
    assert!(printed(&["dataset", "stats", &dataset]).contains("paddle.matmul"));
    let text = printed(&["dataset", "fold", &dataset, "--mode", "single-ops"]);
    assert!(text.contains("2 distinct subgraphs"), "{text}");
    // They are not run, and say so.
    if std::env::var_os("PASSNET_PYTHON").is_some() {
        let output = passnet(&["dataset", "annotate", &dataset]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("`paddle.matmul` is an operator of Paddle"), "{text}");
    }
}
