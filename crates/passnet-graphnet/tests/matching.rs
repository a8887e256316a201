//! Windows of public graphs are found in the graphs they were cut from: 1 in 150 samples by default, all with
//! `PASSNET_FULL=1`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use passnet_graph::{
    Graph, NodeId, SliceOrder,
    matching::{Match, MatchError, Pattern, PreparedGraph, SearchLimits},
};
use passnet_graphnet::graph_module;
use support::for_each_sample;

const STRIDE: usize = 150;

/// At most that many windows of each length per graph, spread evenly.
const WINDOWS: usize = 10;

#[derive(Default)]
struct Count {
    windows: u32,
    /// The slice's own place is one of the matches; else another match took a part of it before.
    at_origin: u32,
    ambiguous: u32,
}

fn check_windows(name: &str, graph: &Graph, length: usize, count: &mut Count) {
    let target = PreparedGraph::new(graph);
    let starts = 0..graph.num_nodes().saturating_sub(length - 1);
    for start in starts.clone().step_by((starts.len() / WINDOWS).max(1)) {
        let window = start..start + length;
        // A pattern has no use for dead nodes, but slices keep them.
        if !window.clone().all(|node| target.is_live(NodeId(node as u32))) {
            continue;
        }
        let slice = graph.slice(window.clone(), SliceOrder::ByDefinition).unwrap().graph;
        let pattern = Pattern::new(&slice).unwrap_or_else(|error| panic!("{name}, nodes {window:?}: {error}"));
        count.windows += 1;
        match target.find(&pattern, SearchLimits { comparisons: 300_000 }) {
            Ok(found) => {
                assert!(!found.matches.is_empty(), "{name}, nodes {window:?}: {:?}", found.nearest);
                let is_origin =
                    |found: &Match| found.nodes.iter().flatten().map(|node| node.index()).eq(window.clone());
                count.at_origin += u32::from(found.matches.iter().any(is_origin));
            }
            Err(MatchError::TooAmbiguous { .. }) => count.ambiguous += 1,
        }
    }
}

#[test]
fn windows_are_found_where_they_come_from() {
    let mut count = Count::default();
    let is_there = for_each_sample("graphnet-public.tar.zst", STRIDE, |name, files| {
        let graph = graph_module::parse(name, &files["model.py"]).unwrap();
        for length in [1, 2, 4, 8, 16] {
            check_windows(name, &graph, length, &mut count);
        }
    });
    if is_there {
        let Count { windows, at_origin, ambiguous } = count;
        eprintln!("{windows} windows, {at_origin} found at their origin, {ambiguous} too ambiguous");
        assert!(windows > 0 && ambiguous * 100 <= windows, "too many windows are ambiguous");
    }
}
