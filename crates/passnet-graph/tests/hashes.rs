//! Differences that canonical hashes ignore, and differences that they do not.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

#[path = "support/random_graph.rs"]
mod random_graph;

use passnet_graph::{Arg, Builder, Callee, Graph, Node, NodeId, ValueId, hash};
use passnet_record::{DType, TensorMeta};
use proptest::prelude::*;
use random_graph::any_graph;

/// Builds a graph again with other names, inputs in the order `inputs`, nodes in the order `nodes`, and no frees.
fn rebuilt(graph: &Graph, inputs: &[usize], nodes: &[usize]) -> Graph {
    let mut builder = Graph::builder();
    let mut map = vec![ValueId(u32::MAX); graph.num_values()];
    for (position, &input) in inputs.iter().enumerate() {
        map[input] = builder.input(&format!("renamed_{position}"));
    }
    for (position, &index) in nodes.iter().enumerate() {
        let node = graph.node(NodeId(index as u32));
        let value = copy(&mut builder, graph, &node, &format!("t_{position}"), &map, node.callee.target());
        map[node.value.index()] = value;
    }
    let outputs: Vec<Arg> =
        graph.outputs().iter().map(|&arg| builder.copy_arg(graph, arg, &mut |value| map[value.index()])).collect();
    builder.finish(&outputs).unwrap()
}

fn copy(builder: &mut Builder, graph: &Graph, node: &Node<'_>, name: &str, map: &[ValueId], target: &str) -> ValueId {
    let mut arg = |arg| builder.copy_arg(graph, arg, &mut |value| map[value.index()]);
    let args: Vec<Arg> = node.args.iter().map(|&each| arg(each)).collect();
    let kwargs: Vec<(&str, Arg)> = node.kwargs.iter().rev().map(|&(key, each)| (graph.str(key), arg(each))).collect();
    let callee = match node.callee {
        Callee::Function(_) => Callee::Function(target),
        Callee::Method(_) => Callee::Method(target),
    };
    builder.call(name, callee, &args, &kwargs)
}

/// Returns a random order of the nodes in which each node comes after its operands and no node moves across an effect.
fn shuffled(graph: &Graph, seeds: &[u16]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..graph.num_nodes()).collect();
    for (step, &seed) in seeds.iter().enumerate().take(order.len() * 8) {
        let at = (usize::from(seed) + step) % order.len().max(1);
        if at + 1 < order.len() && may_swap(graph, order[at], order[at + 1]) {
            order.swap(at, at + 1);
        }
    }
    order
}

fn may_swap(graph: &Graph, first: usize, second: usize) -> bool {
    let nodes = [first, second].map(|index| graph.node(NodeId(index as u32)));
    let has_effect = |node: &Node<'_>| {
        matches!(node.callee, Callee::Function("operator.iadd" | "operator.setitem") | Callee::Method("add_"))
    };
    let mut is_used = false;
    for arg in nodes[1].all_args() {
        graph.for_each_value(arg, &mut |value| is_used |= value == nodes[0].value);
    }
    !is_used && !nodes.iter().any(has_effect)
}

fn tensor(graph: &Graph, input: usize, extent: u64) -> TensorMeta {
    TensorMeta {
        name: graph.name(ValueId(input as u32)).to_owned(),
        original_name: None,
        shape: vec![extent, 8],
        dtype: DType::Float32,
        device: "cpu".to_owned(),
        mean: None,
        std: None,
        data: None,
        min_val: None,
        max_val: None,
    }
}

proptest! {
    #[test]
    fn names_order_and_frees_do_not_matter(
        graph in any_graph(true),
        seeds in prop::collection::vec(any::<u16>(), 64),
    ) {
        let mut inputs: Vec<usize> = (0..graph.num_inputs()).collect();
        inputs.sort_by_key(|&input| seeds[input]);
        let other = rebuilt(&graph, &inputs, &shuffled(&graph, &seeds));
        prop_assert_eq!(hash::structural(&graph), hash::structural(&other), "{}{}", graph, other);
        let tensors: Vec<_> = (0..graph.num_inputs()).map(|input| tensor(&graph, input, input as u64)).collect();
        let permuted: Vec<_> = inputs.iter().map(|&input| tensors[input].clone()).collect();
        prop_assert_eq!(hash::typed(&graph, &tensors), hash::typed(&other, &permuted), "{}{}", graph, other);
    }

    #[test]
    fn every_op_matters(graph in any_graph(true), choice in any::<u16>()) {
        prop_assume!(graph.num_nodes() > 0);
        let victim = NodeId(u32::from(choice) % graph.num_nodes() as u32);
        let Some(other) = with_other_op(&graph, victim) else { return Ok(()) };
        prop_assert_ne!(hash::structural(&graph), hash::structural(&other), "{}{}", graph, other);
    }

    #[test]
    fn every_shape_matters(graph in any_graph(true), choice in any::<u16>()) {
        let tensors: Vec<_> = (0..graph.num_inputs()).map(|input| tensor(&graph, input, 4)).collect();
        let mut changed = tensors.clone();
        changed[usize::from(choice) % graph.num_inputs()].shape[0] = 5;
        prop_assert_ne!(hash::typed(&graph, &tensors), hash::typed(&graph, &changed));
        prop_assert_ne!(hash::typed(&graph, &tensors), hash::structural(&graph));
    }
}

/// Returns the graph with another callee at one node; `None` where no other callee fits the arguments.
fn with_other_op(graph: &Graph, victim: NodeId) -> Option<Graph> {
    let mut builder = Graph::builder();
    let map: Vec<ValueId> = (0..graph.num_values() as u32).map(ValueId).collect();
    for name in graph.input_names() {
        builder.input(name);
    }
    for node in graph.nodes() {
        let target = match node.callee.target() {
            target if node.id != victim => target.to_owned(),
            "operator.setitem" => return None,
            "operator.neg" => "operator.pos".to_owned(),
            "operator.invert" => "operator.neg".to_owned(),
            target if target.starts_with("torch.") || !target.contains('.') => format!("{target}x"),
            _ => "operator.mul".to_owned(),
        };
        copy(&mut builder, graph, &node, node.name, &map, &target);
    }
    let outputs: Vec<Arg> =
        graph.outputs().iter().map(|&arg| builder.copy_arg(graph, arg, &mut |value| value)).collect();
    Some(builder.finish(&outputs).expect("only a target changed"))
}

/// The structural hash of a graph with inputs `a`, `b`, `c`.
fn hash_of(build: impl FnOnce(&mut Builder, [Arg; 3]) -> Vec<Arg>) -> String {
    let mut builder = Graph::builder();
    let inputs = ["a", "b", "c"].map(|name| builder.input(name).into());
    let outputs = build(&mut builder, inputs);
    hash::structural(&builder.finish(&outputs).unwrap()).to_string()
}

fn relu(builder: &mut Builder, name: &str, x: Arg) -> Arg {
    builder.call_function(name, "torch.relu", &[x], &[]).into()
}

fn binary(builder: &mut Builder, name: &str, target: &str, x: Arg, y: Arg) -> Arg {
    builder.call_function(name, target, &[x, y], &[]).into()
}

#[test]
fn edges_and_constants_matter() {
    let sub = |x: usize, y: usize| {
        hash_of(|b, inputs| {
            let r = relu(b, "r", inputs[0]);
            let values = [inputs[0], r, Arg::Int(1), Arg::Float(1.0), Arg::Bool(true)];
            vec![binary(b, "s", "operator.sub", values[x], values[y])]
        })
    };
    let pairs: Vec<(usize, usize)> = (0..5).flat_map(|x| (0..5).map(move |y| (x, y))).collect();
    let mut hashes: Vec<String> = pairs.into_iter().map(|(x, y)| sub(x, y)).collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 25);
}

#[test]
fn sharing_is_not_repetition() {
    let shared = hash_of(|b, [a, ..]| {
        let r = relu(b, "r", a);
        vec![r, r]
    });
    let repeated = hash_of(|b, [a, ..]| vec![relu(b, "r", a), relu(b, "s", a)]);
    let other_input = hash_of(|b, [a, c, _]| vec![relu(b, "r", a), relu(b, "s", c)]);
    assert!(shared != repeated && repeated != other_input && shared != other_input);
}

#[test]
fn a_read_before_a_change_is_not_one_after() {
    let order = |reads_first: bool| {
        hash_of(|b, [a, c, _]| {
            let before = if reads_first { relu(b, "before", a) } else { Arg::None };
            let sum = binary(b, "sum", "operator.iadd", a, c);
            let after = if reads_first { before } else { relu(b, "after", a) };
            vec![sum, after]
        })
    };
    assert_ne!(order(true), order(false));
    let two = |swapped: bool| {
        hash_of(|b, [a, c, _]| {
            let targets = if swapped { ["operator.imul", "operator.iadd"] } else { ["operator.iadd", "operator.imul"] };
            binary(b, "p", targets[0], a, c);
            binary(b, "q", targets[1], a, c);
            vec![a]
        })
    };
    assert_ne!(two(true), two(false));
}

#[test]
fn changes_of_different_tensors_commute() {
    let order = |swapped: bool| {
        hash_of(|b, [a, c, d]| {
            let [first, second] = if swapped { [c, a] } else { [a, c] };
            binary(b, "p", "operator.iadd", first, d);
            binary(b, "q", "operator.iadd", second, d);
            vec![a, c]
        })
    };
    assert_eq!(order(true), order(false));
}

#[test]
fn what_only_asserts_counts_and_keeps_its_place() {
    let graph = |asserts: bool, last: bool| {
        hash_of(|b, [a, ..]| {
            let set = |b: &mut Builder| _ = b.call_function("set", "torch._C._set_grad_enabled", &[Arg::None], &[]);
            if asserts && !last {
                set(b);
            }
            let r = relu(b, "r", a);
            if asserts && last {
                set(b);
            }
            vec![r]
        })
    };
    assert!(graph(false, false) != graph(true, false) && graph(true, false) != graph(true, true));
}

#[test]
fn unreached_nodes_differ_by_what_they_share() {
    let chain = |swapped: bool| {
        hash_of(|b, [a, c, d]| {
            let [first, second] = if swapped { [(c, d), (a, c)] } else { [(a, c), (c, d)] };
            binary(b, "p", "operator.add", first.0, first.1);
            binary(b, "q", "operator.add", second.0, second.1);
            vec![]
        })
    };
    assert_eq!(chain(true), chain(false));
    let star = hash_of(|b, [a, c, d]| {
        binary(b, "p", "operator.add", a, c);
        binary(b, "q", "operator.add", a, d);
        vec![]
    });
    assert_ne!(chain(false), star);
}

/// A change of the specification must raise [`hash::HASH_VERSION`].
#[test]
fn hashes_are_pinned() {
    let hash = hash_of(|b, [a, c, _]| {
        let shape = b.tuple(&[Arg::Int(-1), Arg::Float(0.5)]);
        let r = b.call_method("r", "view", &[a, shape], &[("device", Arg::None), ("copy", Arg::Bool(true))]).into();
        vec![binary(b, "s", "operator.iadd", r, c)]
    });
    insta::assert_snapshot!(hash);
}
