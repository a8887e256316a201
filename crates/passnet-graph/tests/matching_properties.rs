//! Laws of matching on random graphs.
#![allow(clippy::unwrap_used)]

use std::ops::Range;

use passnet_graph::{
    Arg, Graph, NodeId, SliceOrder, Use, ValueId,
    matching::{MatchError, Occurrences, Pattern, PatternError, PreparedGraph, SearchLimits},
};
use proptest::{prelude::*, test_runner::TestCaseError};

/// One random node: which call, and where its arguments come from.
type Choice = (u8, u16, u16);

/// A graph of pure calls in which all values without users are returned.
fn build(num_inputs: usize, choices: &[Choice], prefix: &str) -> Graph {
    let mut b = Graph::builder();
    let mut values: Vec<ValueId> = (0..num_inputs).map(|index| b.input(&format!("{prefix}in{index}"))).collect();
    let mut used = vec![false; num_inputs + choices.len()];
    for (index, &(call, left, right)) in choices.iter().enumerate() {
        let (left, right) = (left as usize % values.len(), right as usize % values.len());
        used[left] = true;
        let (x, y) = (Arg::Value(values[left]), Arg::Value(values[right]));
        let name = format!("{prefix}n{index}");
        let value = match call % 6 {
            0 => b.call_function(&name, "torch.relu", &[x], &[]),
            1 => b.call_method(&name, "mean", &[x], &[("dim", Arg::Int(i64::from(call) / 128))]),
            2 => b.call_function(&name, "operator.mul", &[x, Arg::Float(0.5)], &[]),
            3 => {
                used[right] = true;
                let pair = b.list(&[x, y]);
                b.call_function(&name, "torch.cat", &[pair], &[])
            }
            _ => {
                used[right] = true;
                b.call_function(&name, "operator.add", &[x, y], &[])
            }
        };
        values.push(value);
    }
    let outputs: Vec<Arg> =
        (num_inputs..values.len()).filter(|&value| !used[value]).map(|value| values[value].into()).collect();
    b.finish(&outputs).unwrap()
}

fn random_graph(nodes: Range<usize>) -> impl Strategy<Value = Graph> {
    (1_usize..4, prop::collection::vec(any::<Choice>(), nodes))
        .prop_map(|(num_inputs, choices)| build(num_inputs, &choices, "g_"))
}

/// The nodes `range` as a pattern.
fn window(graph: &Graph, range: Range<usize>) -> Graph {
    graph.slice(range, SliceOrder::ByDefinition).unwrap().graph
}

fn find(target: &Graph, pattern: &Graph) -> Result<Occurrences, MatchError> {
    PreparedGraph::new(target).find(&Pattern::new(pattern).unwrap(), SearchLimits { comparisons: 2_000_000 })
}

/// The properties of a match, checked from its definition.
fn check_matches(target: &Graph, pattern: &Graph, found: &Occurrences) -> Result<(), TestCaseError> {
    let uses = target.uses();
    let mut taken = vec![false; target.num_nodes()];
    for found in &found.matches {
        let members: Vec<NodeId> = found.nodes.iter().copied().flatten().collect();
        for &node in &members {
            prop_assert!(!std::mem::replace(&mut taken[node.index()], true), "{} is in two matches", node);
        }
        let partner = |value: ValueId| match pattern.node_of(value) {
            None => found.inputs[value.index()].and_then(Arg::as_value),
            Some(node) => found.nodes[node.index()].map(|node| target.value_of(node)),
        };
        for node in pattern.nodes() {
            let theirs = target.node(found.nodes[node.id.index()].unwrap());
            prop_assert_eq!(node.callee, theirs.callee);
            let is_same = node.all_args().zip(theirs.all_args()).all(|(ours, arg)| {
                pattern.args_match(ours, target, arg, &mut |ours, value| partner(ours) == Some(value))
            });
            prop_assert!(is_same, "{} and {} differ", node.name, theirs.name);
            let is_output = pattern.outputs().iter().any(|output| output.as_value() == Some(node.value));
            let mut users = uses.of(theirs.value).iter();
            prop_assert!(
                is_output || users.all(|user| matches!(user, Use::Node(user) if members.contains(user))),
                "{} escapes",
                theirs.name
            );
        }
        for input in found.inputs.iter().flatten().filter_map(|arg| arg.as_value()) {
            let is_computed_before = target.node_of(input).is_none_or(|node| !members.contains(&node));
            prop_assert!(is_computed_before, "an input is inside");
        }
    }
    prop_assert!(replaced_order_exists(target, pattern, found), "the replacements have no order");
    Ok(())
}

/// Returns whether everything is computed before it is used, with each match as one node at its place.
fn replaced_order_exists(target: &Graph, pattern: &Graph, found: &Occurrences) -> bool {
    let mut place: Vec<(u32, usize)> = (0..target.num_nodes() as u32).map(|node| (node, 0)).collect();
    for (number, found) in found.matches.iter().enumerate() {
        for node in found.nodes.iter().flatten() {
            place[node.index()] = (found.insert_after.0, number + 1);
        }
    }
    let is_before =
        |value: ValueId, user: (u32, usize)| target.node_of(value).is_none_or(|node| place[node.index()] < user);
    let mut is_ordered = true;
    for node in target.nodes().filter(|node| place[node.id.index()].1 == 0) {
        for arg in node.all_args() {
            target.for_each_value(arg, &mut |value| is_ordered &= is_before(value, place[node.id.index()]));
        }
    }
    for (number, found) in found.matches.iter().enumerate() {
        for &arg in found.inputs.iter().take(pattern.num_inputs()).flatten() {
            target.for_each_value(arg, &mut |value| is_ordered &= is_before(value, (found.insert_after.0, number + 1)));
        }
    }
    is_ordered
}

proptest! {
    #[test]
    fn a_window_is_found_in_its_graph(graph in random_graph(1..40), start in any::<usize>(), length in 1_usize..12) {
        let start = start % graph.num_nodes();
        let end = (start + length).min(graph.num_nodes());
        let pattern = window(&graph, start..end);
        match find(&graph, &pattern) {
            Ok(found) => {
                prop_assert!(!found.matches.is_empty(), "{graph}\n{pattern}\n{:?}", found.nearest);
                check_matches(&graph, &pattern, &found)?;
            }
            Err(MatchError::TooAmbiguous { .. }) => {}
        }
    }

    #[test]
    fn names_do_not_matter(choices in prop::collection::vec(any::<Choice>(), 1..30), length in 1_usize..6) {
        let (one, other) = (build(2, &choices, "a_"), build(2, &choices, "zz_"));
        let length = length.min(one.num_nodes());
        let found = |graph: &Graph| find(graph, &window(&one, 0..length)).map(|found| {
            found.matches.into_iter().map(|found| (found.nodes, found.insert_after)).collect::<Vec<_>>()
        });
        prop_assert_eq!(found(&one), found(&other));
    }

    #[test]
    fn any_pair_ends_with_sound_matches_or_a_reason(target in random_graph(1..60), pattern in random_graph(1..6)) {
        if let Ok(found) = find(&target, &pattern) {
            prop_assert_eq!(found.matches.is_empty(), found.nearest.is_some());
            check_matches(&target, &pattern, &found)?;
            let is_possible = Pattern::new(&pattern).unwrap().may_occur_in(&target);
            prop_assert!(is_possible || found.matches.is_empty());
        }
    }
}

#[test]
fn an_empty_pattern_is_refused() {
    assert_eq!(Pattern::new(&Graph::default()).unwrap_err(), PatternError::Empty);
}
