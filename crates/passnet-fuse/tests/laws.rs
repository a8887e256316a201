//! Laws that hold for all passes.

#![allow(clippy::unwrap_used, reason = "a test program")]

mod common;

use passnet_fuse::{Choices, TunableKernel, tunable_kernels, write_passes};
use passnet_graph::{
    Graph, Target, Type, TypedGraph,
    ops::{OPS, Op},
};

use self::common::{text, typed_graph};

fn softmax(rows: i64, columns: i64, dtype: &str) -> TypedGraph {
    let ty = format!("{dtype}[{rows}, {columns}]");
    typed_graph(&format!(
        "inputs x: {ty}\n\
         y = operator.mul(x, 0.125): {ty}\n\
         z = torch.nn.functional.softmax(y, -1): {ty}\n\
         return z"
    ))
}

#[test]
fn equal_tasks_give_equal_passes() {
    let task = || [softmax(4, 128, "float32"), softmax(4, 96, "bfloat16")];
    for target in [Target::Cpu, Target::Cuda] {
        let write = || write_passes(&task(), target, &Choices::new());
        assert!(write() == write() && !write().files().is_empty());
    }
}

#[test]
fn kernels_are_printed_as_chosen() {
    let task = [softmax(4, 128, "float32"), softmax(9, 192, "float32"), softmax(4, 128, "float16")];
    for target in [Target::Cpu, Target::Cuda] {
        let kernels = tunable_kernels(&task, target);
        assert_eq!(kernels.iter().map(|kernel| kernel.graph).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(kernels[0].key != kernels[1].key && kernels[0].key != kernels[2].key);
        for TunableKernel { key, candidates, .. } in &kernels {
            assert!(!candidates.is_empty());
            let mut seen = vec![write_passes(&task, target, &Choices::new())];
            for &config in candidates {
                seen.push(write_passes(&task, target, &Choices::from([(key.clone(), config)])));
                assert!(!seen[..seen.len() - 1].contains(&seen[seen.len() - 1]), "{config}");
            }
        }
    }
    // The same kernel with other sizes.
    let cpu = tunable_kernels(&task, Target::Cpu);
    assert!(cpu[0].key.code == cpu[1].key.code && cpu[0].key.sizes != cpu[1].key.sizes);
}

#[test]
fn types_must_fit_the_graph() {
    let graph: Graph = Graph::builder().finish(&[]).unwrap();
    assert!(TypedGraph::new(graph, vec![Type::Unknown]).is_err());
}

#[test]
fn a_canonical_form_must_fit_the_graph() {
    let graph = softmax(4, 128, "float32");
    let other = Graph::builder().finish(&[]).unwrap();
    assert!(graph.clone().with_canonical(other, Vec::new()).is_err());
    assert!(graph.clone().with_canonical(graph.graph().clone(), Vec::new()).is_err());
}

#[test]
fn calls_with_one_canonical_form_share_a_pass() {
    let turned = |dims: &str, scale: i64| {
        let graph = |dims: &str| {
            typed_graph(&format!(
                "inputs x: float32[4, 8]\nturned = x.transpose({dims}): float32[8, 4]{{1, 8}}\n\
                 gate = torch.sigmoid(turned): float32[8, 4]\nscaled = operator.mul(gate, {scale}): float32[8, 4]\n\
                 return scaled"
            ))
        };
        let form = graph("dim0=0, dim1=1").graph().clone();
        let places = form.nodes().map(|node| graph(dims).places(node.id)).collect();
        graph(dims).with_canonical(form, places).unwrap()
    };
    let passes = text(&write_passes(&[turned("0, 1", 3), turned("0, dim1=1", 5)], Target::Cpu, &Choices::new()));
    assert_eq!(passes.matches("def pattern").count(), 1, "{passes}");
    assert!(passes.contains("def pattern(in0, c0)") && passes.contains("in0.transpose(0, 1)"), "{passes}");
}

/// Operations named in the table of the documentation, or by the front end, have a row in the table of properties.
#[test]
fn every_operation_is_in_the_table_of_properties() {
    let mut unknown: Vec<String> = Vec::new();
    let documentation = include_str!("../../../docs/reference/fuse.md");
    let table = documentation.split("| Treatment |").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let documented = table.split('`').skip(1).step_by(2).map(str::to_owned);
    let sources = [
        include_str!("../src/front/lower/backward.rs"),
        include_str!("../src/front/lower/derived.rs"),
        include_str!("../src/front/lower/norm.rs"),
        include_str!("../src/front/lower/normalize.rs"),
        include_str!("../src/front/lower/pointwise.rs"),
        include_str!("../src/front/lower/product.rs"),
        include_str!("../src/front/lower/rearrange.rs"),
        include_str!("../src/front/lower/resample.rs"),
        include_str!("../src/front/lower/shape.rs"),
    ];
    // Names are matched as `"add" | "sub" => ...`; comparisons of arguments use `==`.
    let is_pattern = |after: &str| after.starts_with("|") || after.starts_with("=>") || after.starts_with("if ");
    let matched = sources.iter().flat_map(|source| {
        let pieces: Vec<&str> = source.split('"').collect();
        let names: Vec<String> = (1..pieces.len())
            .step_by(2)
            .filter(|&place| pieces.get(place + 1).is_some_and(|after| is_pattern(after.trim_start())))
            .map(|place| pieces[place].to_owned())
            .collect();
        names
    });
    let names: Vec<String> = documented.chain(matched).collect();
    assert!(names.len() > 200, "the names were not found");
    // Arguments that are strings: forms of `gelu`, modes of `interpolate`.
    let is_argument = |name: &str| ["none", "tanh", "nearest", "bilinear"].contains(&name);
    unknown.extend(names.into_iter().filter(|name| Op::find(name).is_none() && !is_argument(name)));
    assert!(unknown.is_empty(), "not in passnet_graph::ops: {unknown:?}");
    assert!(OPS.len() > 150);
}

#[test]
fn passes_refuse_what_they_have_no_plan_for() {
    let passes = text(&write_passes(&[softmax(4, 128, "float32")], Target::Cpu, &Choices::new()));
    assert!(passes.contains("if plan is None") && passes.contains("raise ValueError"), "{passes}");
}
