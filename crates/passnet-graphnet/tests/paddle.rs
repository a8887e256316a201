//! Samples of Paddle become graphs like those of PyTorch.

use std::fmt::Write as _;

use passnet_graph::ValueId;
use passnet_graphnet::{Sample, graph_module, paddle, sample::SampleTexts};

/// Every form that samples of Paddle have.
const MODEL: &str = r#"import paddle


class GraphModule(paddle.nn.Layer):
    def __init__(self):
        super().__init__()

    def forward(
        self,
        parameter_0,
        parameter_1,
        data_0,
        data_1,
    ):
        # pd_op.full: (1xf32) <- ()
        full_0 = paddle._C_ops.full(
            [1], float("0.25"), paddle.float32, paddle.core.CPUPlace()
        )

        # pd_op.matmul: (-1x4x8xf32) <- (-1x4x6xf32, 6x8xf32)
        matmul_0 = paddle._C_ops.matmul(data_0, parameter_0, False, True)
        del parameter_0

        # pd_op.scale: (-1x4x8xf32) <- (-1x4x8xf32, 1xf32)
        scale_0 = paddle._C_ops.scale(matmul_0, full_0, float("-1e-05"), True)

        # pd_op.dropout: (-1x4x8xf32, -1x4x8xui8) <- (-1x4x8xf32, None, 1xf32)
        dropout_0, dropout_1 = (lambda x, f: f(x))(
            paddle._C_ops.dropout(scale_0, None, full_0, True, "upscale_in_train", 0, False),
            lambda out: out if isinstance(out, (list, tuple)) else (out, None),
        )

        # pd_op.full_int_array: (2xi64) <- ()
        full_int_array_0 = [-1, 8]

        # pd_op.reshape: (-1x8xf32) <- (-1x4x8xf32, 2xi64)
        reshape_0 = paddle._C_ops.reshape(dropout_0, full_int_array_0)
        del dropout_0, full_int_array_0

        # builtin.combine: ([-1x8xf32, 3x8xf32]) <- (-1x8xf32, 3x8xf32)
        combine_0 = [reshape_0, data_1]
        del data_1, reshape_0

        # pd_op.full: (1xi32) <- ()
        full_1 = paddle._C_ops.full(
            [1], float("0"), paddle.int32, paddle.framework._current_expected_place()
        )

        # pd_op.concat: (-1x8xf32) <- ([-1x8xf32, 3x8xf32], 1xi32)
        concat_0 = paddle._C_ops.concat(combine_0, full_1)
        del combine_0

        # pd_op.split_with_num: ([-1x4xf32, -1x4xf32]) <- (-1x8xf32, 1xi32)
        split_with_num_0 = paddle._C_ops.split_with_num(concat_0, 2, full_1)

        # builtin.split: (-1x4xf32, -1x4xf32) <- ([-1x4xf32, -1x4xf32])
        (
            split_0,
            split_1,
        ) = split_with_num_0
        del split_with_num_0

        # pd_op.arange: (4xf32) <- (1xf32, 1xf32, 1xf32)
        arange_0 = paddle.arange(full_0, full_0, full_0, dtype="float32")

        # pd_op.add_: (-1x4xf32) <- (-1x4xf32, 4xf32)
        add__0 = paddle._C_ops.add_(split_0, parameter_1)
        assign_0 = add__0

        # pd_op.multiply: (-1x4xf32) <- (-1x4xf32, 4xf32)
        multiply_0 = paddle._C_ops.multiply(assign_0, arange_0)

        # pd_op.one_hot: (-1x4x5xf32) <- (-1x4xf32, 1xi32)
        one_hot_0 = paddle._C_ops.one_hot(
            multiply_0 % paddle.cast(full_1, multiply_0.dtype), full_1
        )

        # pd_op.assign_value_: (2xf32) <- (2xf32)
        assign_value__0 = paddle._C_ops.assign_value_(
            full_0,
            [2],
            paddle.float32,
            [float("0"), float("-inf")],
            paddle.framework._current_expected_place(),
        )
        return one_hot_0, split_1, assign_value__0
"#;

const WEIGHTS: &str = r#"class Program_weight_tensor_parameter_0:
    name = "parameter_0"
    original_name = "linear_0.w_0"
    shape = [8, 6]
    dtype = "float32"
    low = 0
    high = 0.5
    data = None


class Program_weight_tensor_parameter_1:
    name = "parameter_1"
    shape = [4]
    dtype = "float32"
    min_val = float("-inf")
    max_val = 0.5
    mean = 0.1
    std = 0.2
    data = None
"#;

const INPUTS: &str = r#"class Program_weight_tensor_data_0:
    name = "data_0"
    shape = [2, 4, 6]
    dtype = "float32"
    data = None


class Program_weight_tensor_data_1:
    name = "data_1"
    shape = [3, 8]
    dtype = "float32"
    data = None
"#;

#[test]
fn a_sample_becomes_a_graph_with_types() {
    let read = paddle::read("model.py", MODEL).unwrap();
    let mut shown = graph_module::print(&read.graph) + "\n\n";
    for (value, found) in (0..).map(ValueId).zip(&read.types) {
        if let Some(found) = found {
            let dims = found.dims.iter().map(|dim| dim.map_or("?".to_owned(), |extent| extent.to_string()));
            let dims = dims.collect::<Vec<_>>().join(", ");
            writeln!(shown, "{}: {}[{dims}]", read.graph.name(value), found.dtype.name()).unwrap();
        }
    }
    insta::assert_snapshot!(shown);
    assert_eq!(graph_module::parse("model.py", MODEL).unwrap(), read.graph);
    // The printed form is read as any other graph.
    let printed = graph_module::print(&read.graph);
    assert_eq!(graph_module::parse("printed", &printed).unwrap(), read.graph);
}

#[test]
fn the_folder_is_read_with_its_metas() {
    let sample = Sample::parse(&SampleTexts {
        path: "sample",
        model: MODEL,
        weight_meta: WEIGHTS,
        input_meta: Some(INPUTS),
        graph_net: Some(r#"{"framework": "paddle", "model_name": "none", "num_devices_required": 1}"#),
        constraints: None,
        graph_hash: Some("0123"),
    })
    .unwrap();
    assert_eq!(sample.meta.framework.as_deref(), Some("paddle"));
    let shapes: Vec<&[u64]> = sample.tensors.iter().map(|tensor| tensor.shape.as_slice()).collect();
    assert_eq!(shapes, [&[8, 6][..], &[4], &[2, 4, 6], &[3, 8]]);
    assert_eq!((sample.tensors[0].min_val, sample.tensors[0].max_val), (Some(0.0), Some(0.5)));
    assert_eq!((sample.tensors[1].min_val, sample.tensors[1].mean), (Some(f64::NEG_INFINITY), Some(0.1)));
    let names = sample.graph.op_names();
    assert!(
        names.iter().all(|name| name.starts_with("paddle.") || ["getitem", "getattr", "mod"].contains(&name.as_str())),
        "{names:?}"
    );
}

#[test]
fn what_is_no_graph_is_an_error_with_its_place() {
    let body = |text: &str| {
        format!("import paddle\n\nclass GraphModule(paddle.nn.Layer):\n    def forward(self, x):\n        {text}\n")
    };
    let cases = [
        ("branch", body("if x: y = x")),
        ("loop", body("while x: pass")),
        ("method", body("return x.cast('float32')")),
        ("foreign call", body("return os.system('true')")),
        ("other lambda", body("return (lambda a: a)(x)")),
        ("text that is no number", body("return paddle._C_ops.full([1], float('one'))")),
        ("conditional", body("return x if x else x")),
        ("unbound name", body("return paddle._C_ops.relu(y)")),
        ("submodule", body("return self.conv(x)")),
        ("nested targets", body("(a, (b, c)) = paddle._C_ops.split(x)\n        return a")),
        ("reserved name", body("torch = paddle._C_ops.relu(x)\n        return x")),
        ("huge integer", body("return paddle._C_ops.full([123456789012345678901234567890])")),
        ("no return", body("y = paddle._C_ops.relu(x)")),
        ("default value", body("return x").replace("self, x", "self, x=None")),
        (
            "init with content",
            body("return x").replace("    def", "    def __init__(self):\n        self.x = 1\n    def"),
        ),
    ];
    let mut messages = String::new();
    for (name, text) in &cases {
        match graph_module::parse("model.py", text) {
            Ok(graph) => panic!("{name} is accepted: {graph:?}"),
            Err(error) => writeln!(messages, "== {name}\n{error}\n").unwrap(),
        }
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn damaged_texts_never_panic() {
    for at in (0..MODEL.len()).filter(|&at| MODEL.is_char_boundary(at)) {
        let _ = graph_module::parse("model.py", &MODEL[..at]);
        let without = format!("{}{}", &MODEL[..at], MODEL.get(at + 7..).unwrap_or_default());
        let _ = graph_module::parse("model.py", &without);
    }
    let deep =
        format!("{}return {}x{}\n", MODEL.split("# pd_op").next().unwrap(), "[".repeat(50_000), "]".repeat(50_000));
    assert!(graph_module::parse("model.py", &deep).is_err());
}
