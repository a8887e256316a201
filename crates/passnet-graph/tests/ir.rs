//! The IR as other crates see it: laws, wire form, text form, device replacement.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use passnet_graph::{Arg, Builder, Graph, NodeId, ValueId, VerifyError, wire};
use passnet_record::DType;
use serde_json::{Value, json};

/// A graph with one argument of every kind.
fn everything() -> Graph {
    let mut b = Graph::builder();
    let x = b.input("in_0");
    let w = b.input("w_0");
    let ones = b.tuple(&[Arg::Int(1)]);
    let conv = b.call_function("conv", "torch.conv2d", &[x.into(), w.into(), Arg::None, ones], &[]);
    let relu = b.call_function("relu", "torch.nn.functional.relu", &[conv.into()], &[("inplace", Arg::Bool(true))]);
    b.free_after(NodeId(1), conv);
    let slice = b.slice(Arg::None, Arg::Int(-1), relu.into());
    let index = b.tuple(&[Arg::Ellipsis, slice, Arg::None]);
    let item = b.call_function("item", "operator.getitem", &[relu.into(), index], &[]);
    let cpu = b.device("cuda", Some(0));
    let strided = b.attr("torch.strided");
    let kwargs = [("dtype", Arg::DType(DType::BFloat16)), ("device", cpu), ("layout", strided)];
    let full = b.call_method("full", "new_full", &[item.into(), Arg::Float(1e-5), Arg::Float(f64::INFINITY)], &kwargs);
    let text = b.str("cuda:1");
    let to = b.call_method("to", "to", &[full.into(), text], &[]);
    let name = b.str("T");
    let transposed = b.call_function("transposed", "builtins.getattr", &[to.into(), name], &[]);
    let pair = b.list(&[transposed.into(), Arg::Float(2.0)]);
    b.call_function("setitem", "operator.setitem", &[transposed.into(), Arg::Int(0), pair], &[]);
    b.free_after(NodeId(6), to);
    b.free_after(NodeId(6), full);
    b.finish(&[transposed.into(), Arg::None]).unwrap()
}

#[test]
fn text_form() {
    insta::assert_snapshot!(everything());
}

#[test]
fn wire_form_round_trips_and_tells_integers_from_floats() {
    let graph = everything();
    let value = wire::to_value(&graph);
    assert_eq!(wire::from_value(&value).unwrap(), graph);
    assert_eq!(wire::from_json(&value.to_string()).unwrap(), graph);
    insta::assert_snapshot!(value["nodes"][4].to_string());
    assert_eq!(value["frees"], json!([[], [2], [], [], [], [], [6, 5]]));
}

#[test]
fn device_replacement_reaches_constants_and_strings() {
    let graph = everything().with_device("cpu", None);
    let text = graph.to_string();
    assert!(text.contains("device=device(cpu)") && text.contains("full.to('cpu')"), "{text}");
    assert!(!text.contains("cuda"), "{text}");
    let indexed = everything().with_device("cuda", Some(3)).to_string();
    assert!(indexed.contains("device=device(cuda:3)") && indexed.contains("full.to('cuda:3')"), "{indexed}");
}

#[test]
fn equality_is_of_structure_not_of_pools() {
    let build = |early: bool| {
        let mut b = Graph::builder();
        let x = b.input("x");
        if early {
            b.str("unused");
        }
        let y = b.call_function("y", "torch.relu", &[x.into()], &[]);
        b.finish(&[y.into()]).unwrap()
    };
    assert_eq!(build(false), build(true));
    assert_ne!(build(false), everything());
}

#[test]
fn wire_errors_name_the_place() {
    let good = wire::to_value(&everything());
    let broken = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        wire::from_value(&bad).unwrap_err().to_string()
    };
    let deep = (0..100).fold(json!(null), |inner, _| json!({"list": [inner]}));
    let messages = [
        broken("/version", json!(2)),
        broken("/inputs/0", json!(7)),
        broken("/nodes/0/op", json!("call_module")),
        broken("/nodes/0/args/3", json!([1, 1])),
        broken("/nodes/0/args/3", json!({"ref": 9})),
        broken("/nodes/0/args/3", json!({"ref": -1})),
        broken("/nodes/0/args/3", json!({"dtype": "float8"})),
        broken("/nodes/0/args/3", deep),
        broken("/nodes/0/args/3", json!(u64::MAX)),
        broken("/nodes/0/target", json!("os.system")),
        broken("/nodes/1/kwargs/0", json!(["inplace"])),
        broken("/nodes/1/name", json!("conv")),
        broken("/outputs/0", json!({"ref": 8})),
        broken("/frees/0", json!([3])),
        broken("/frees", json!([])),
        wire::from_json("{").unwrap_err().to_string(),
        wire::from_json(r#"["\"-1\\", 1e30, -7, 100000000000000000000]"#).unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn each_law_is_checked() {
    type Case = (&'static str, fn(&mut Builder, ValueId) -> Vec<Arg>);
    let cases: [Case; 17] = [
        ("late input", |b, x| {
            b.call_function("y", "torch.relu", &[x.into()], &[]);
            b.input("z");
            vec![]
        }),
        ("later value", |b, _| {
            b.call_function("y", "torch.relu", &[ValueId(1).into()], &[]);
            vec![]
        }),
        ("unknown output", |_, _| vec![ValueId(5).into()]),
        ("foreign list", |b, x| {
            let mut other = Graph::builder();
            other.list(&[Arg::None; 8]);
            let foreign = other.list(&[Arg::None; 8]);
            b.call_function("y", "torch.relu", &[x.into(), foreign], &[]);
            vec![]
        }),
        ("foreign string", |_, _| {
            let mut other = Graph::builder();
            let texts = (0..9).map(|n| n.to_string());
            texts.for_each(|text| _ = other.str(&text));
            vec![other.str("text")]
        }),
        ("deep", |b, _| vec![(0..40).fold(Arg::None, |inner, _| b.tuple(&[inner]))]),
        ("keyword as name", |b, x| vec![b.call_function("class", "torch.relu", &[x.into()], &[]).into()]),
        ("duplicate name", |b, x| vec![b.call_function("x", "torch.relu", &[x.into()], &[]).into()]),
        ("unknown operator", |b, x| vec![b.call_function("y", "operator.pos_", &[x.into()], &[]).into()]),
        ("method", |b, x| vec![b.call_method("y", "a.b", &[x.into()], &[]).into()]),
        ("receiver", |b, _| vec![b.call_method("y", "view", &[Arg::Int(1)], &[]).into()]),
        ("arity", |b, x| vec![b.call_function("y", "operator.add", &[x.into()], &[]).into()]),
        ("getattr", |b, x| vec![b.call_function("y", "builtins.getattr", &[x.into(), x.into()], &[]).into()]),
        ("keyword twice", |b, x| {
            let kwargs = [("p", Arg::None), ("p", Arg::None)];
            vec![b.call_function("y", "torch.relu", &[x.into()], &kwargs).into()]
        }),
        ("dtype as constant", |b, _| vec![b.attr("torch.float32")]),
        ("device", |b, _| vec![b.device("cuda:0", None)]),
        ("setitem used", |b, x| {
            vec![b.call_function("y", "operator.setitem", &[x.into(), Arg::Int(0), Arg::Int(0)], &[]).into()]
        }),
    ];
    let mut messages = String::new();
    for (name, build) in cases {
        let mut builder = Graph::builder();
        let x = builder.input("x");
        let outputs = build(&mut builder, x);
        let error = builder.finish(&outputs).expect_err(name);
        messages += &format!("{name}: {error}\n");
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn frees_are_checked() {
    let graph = |free_x_at: usize, twice: bool| {
        let mut b = Graph::builder();
        let x = b.input("x");
        for index in 0..2 {
            b.call_function(["y", "z"][index], "torch.relu", &[x.into()], &[]);
            if index == free_x_at {
                b.free_after(NodeId(index as u32), x);
                if twice {
                    b.free_after(NodeId(index as u32), x);
                }
            }
        }
        b.finish(&[])
    };
    assert!(graph(1, false).is_ok());
    assert!(matches!(graph(0, false), Err(VerifyError::BadFree { .. })));
    assert!(matches!(graph(1, true), Err(VerifyError::BadFree { .. })));
}
