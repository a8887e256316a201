//! Printing and reading on random graphs and metas; no panic on damaged texts.

#[path = "support/agreement.rs"]
mod agreement;
#[path = "../../passnet-graph/tests/support/random_graph.rs"]
mod random_graph;

use agreement::reads_quickly;
use passnet_graphnet::{GraphNetMeta, graph_module, metas, rename, unparse};
use passnet_record::{DType, TensorMeta, TensorValue};
use proptest::prelude::*;
use random_graph::any_graph;

fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("NaN is not equal to itself", |value| !value.is_nan()), Just(1e-5), Just(-0.0)]
}

fn any_tensor() -> impl Strategy<Value = TensorMeta> {
    let value = prop_oneof![
        any::<bool>().prop_map(TensorValue::Bool),
        any::<i64>().prop_map(TensorValue::Int),
        any_float().prop_map(TensorValue::Float)
    ];
    let data = prop::option::of(prop::collection::vec(value, 0..5));
    let shape = prop::collection::vec(0..1_000_u64, 0..4);
    let dtype = prop::sample::select(&DType::ALL[..]);
    let numbers = prop::array::uniform4(prop::option::of(any_float()));
    (shape, dtype, data, numbers, "[a-zA-Z_.é'\"\\\\ ]{1,8}").prop_map(|(shape, dtype, data, numbers, name)| {
        let [mean, std, min_val, max_val] = numbers;
        // Bounds of integer tensors are integers.
        let bound = |bound: Option<f64>| if dtype.is_int() { bound.map(|_| 7.0) } else { bound };
        TensorMeta {
            original_name: (name.len() > 4).then(|| name.clone()),
            name,
            shape: data.as_ref().map_or(shape, |data| vec![data.len() as u64]),
            dtype,
            device: "cuda:0".to_owned(),
            mean,
            std,
            data,
            min_val: bound(min_val),
            max_val: bound(max_val),
        }
    })
}

const MODEL: &str = r#"import torch
from torch import device


class GraphModule(torch.nn.Module):
    def forward(self, L_x_: torch.Tensor, w: torch.nn.parameter.Parameter, s0: torch.SymInt):
        l_x_ = L_x_
        y = torch.conv2d(l_x_, w, None, (1, 1), -1, 1e-05)
        l_x_ = None
        y += s0 * 2
        z = y
        y = None
        z[(slice(None, -1, None), Ellipsis)] = 0.0
        setitem = z
        setitem = None
        a = z.to(device=device(type="cuda", index=0), dtype=torch.float32).T ** -1
        b = c = None
        return (a, torch._C._nn.linear(a, [w, None], scale=-inf))
"#;

const METAS: &str = r#"class Program_weight_tensor_meta_x:
    name = "x"
    shape = [1, 2]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = -0.000
    std = float("nan")
    data = [1.5, -2]


class Program_weight_tensor_meta_s0:
    name = "s0"
    shape = []
    dtype = "torch.int64"
    min_val = 0
    max_val = 9
"#;

/// Pieces that meet the grammar where it is interesting.
const TOKENS: [&str; 24] = [
    "(",
    ")",
    "[",
    "]",
    "'",
    "\"\"\"",
    "\\",
    "\n",
    "    ",
    "None",
    " = ",
    ",",
    "-",
    "lambda x: ",
    "f'",
    ":",
    "return ",
    "99999999999999999999",
    "é",
    "\0",
    "#",
    "torch",
    "y = y\n        ",
    "...",
];

/// Texts near `text`: some ranges are removed, repeated, or replaced by a token.
fn damaged(text: &'static str) -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((any::<u16>(), 0..12_usize, 0..3 * TOKENS.len()), 1..6);
    edits.prop_map(move |edits| {
        let mut text = text.to_owned();
        for (at, len, choice) in edits {
            let start = text.floor_char_boundary(usize::from(at) % text.len().max(1));
            let end = text.floor_char_boundary((start + len).min(text.len())).max(start);
            let new = match choice / TOKENS.len() {
                0 => TOKENS[choice].to_owned(),
                1 => text[start..end].repeat(3),
                _ => String::new(),
            };
            text.replace_range(start..end, &new);
        }
        text
    })
}

fn read_everything(text: &str) {
    reads_quickly(text);
    let _ = graph_module::parse("model.py", text).map(|graph| {
        let printed = graph_module::print(&graph);
        assert!(graph_module::parse("printed", &printed).is_ok_and(|again| again == graph), "{printed}");
        printed
    });
    let _ = unparse::unparse("model.py", text).map(|normal| {
        assert_eq!(unparse::unparse("normal", &normal).ok().as_ref(), Some(&normal));
    });
    let _ = rename::alpha_renamed("model.py", text);
    let _ = metas::parse("weight_meta.py", text);
    let _ = GraphNetMeta::parse("graph_net.json", text);
}

#[test]
fn undamaged_texts_are_read() {
    assert_eq!(graph_module::parse("model.py", MODEL).map(|graph| graph.num_nodes()), Ok(8));
    assert_eq!(metas::parse("weight_meta.py", METAS).map(|tensors| tensors.len()), Ok(2));
}

proptest! {
    #[test]
    fn graphs_survive_printing(graph in any_graph(true)) {
        let text = graph_module::print(&graph);
        // Strings with escapes are for the parser.
        prop_assert!(reads_quickly(&text) || text.contains('\\'), "{}", text);
        let again = graph_module::parse("model.py", &text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(again == graph, "{}\n{}\n{}", text, graph, again);
        prop_assert_eq!(unparse::unparse("model.py", &text).unwrap(), text);
    }

    #[test]
    fn tensors_survive_printing(tensor in any_tensor()) {
        let text = metas::print(std::slice::from_ref(&tensor));
        prop_assert_eq!(metas::parse("weight_meta.py", &text), Ok(vec![tensor]), "{}", text);
    }

    #[test]
    fn damaged_models_do_not_panic(text in damaged(MODEL)) {
        read_everything(&text);
    }

    #[test]
    fn damaged_metas_do_not_panic(text in damaged(METAS)) {
        read_everything(&text);
    }

    #[test]
    fn any_text_does_not_panic(text in any::<String>()) {
        read_everything(&text);
    }
}
