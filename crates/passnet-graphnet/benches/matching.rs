//! Time to match one pattern against all public samples: `cargo bench -p passnet-graphnet --bench matching`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use passnet_graph::{
    Arg, Graph,
    matching::{Pattern, PreparedGraph, SearchLimits},
};
use passnet_graphnet::graph_module;

/// The output projection of a transformer's feed-forward part: `linear(gelu(x))`, as captured.
fn gelu_linear() -> Graph {
    let mut b = Graph::builder();
    let [x, weight, bias] = ["x", "weight", "bias"].map(|name| b.input(name));
    let gelu = b.call_function("gelu", "torch._C._nn.gelu", &[x.into()], &[]);
    let args: [Arg; 3] = [gelu.into(), weight.into(), bias.into()];
    let linear = b.call_function("linear", "torch._C._nn.linear", &args, &[]);
    b.finish(&[linear.into()]).unwrap()
}

#[derive(Default)]
struct Total {
    graphs: usize,
    nodes: usize,
    prefiltered: usize,
    matches: usize,
    prepare: Duration,
    find: Duration,
    slowest: Duration,
}

fn main() {
    let pattern = gelu_linear();
    let pattern = Pattern::new(&pattern).unwrap();
    let mut total = Total::default();
    support::for_each_sample("graphnet-public.tar.zst", 1, |name, files| {
        let graph = graph_module::parse(name, &files["model.py"]).unwrap();
        total.graphs += 1;
        total.nodes += graph.num_nodes();
        total.prefiltered += usize::from(!pattern.may_occur_in(&graph));
        let start = Instant::now();
        let target = PreparedGraph::new(&graph);
        let prepared = Instant::now();
        total.matches += target.find(&pattern, SearchLimits::default()).unwrap().matches.len();
        let end = Instant::now();
        total.prepare += prepared - start;
        total.find += end - prepared;
        total.slowest = total.slowest.max(end - start);
    });
    if total.graphs == 0 {
        return;
    }
    let Total { graphs, nodes, prefiltered, matches, prepare, find, slowest } = total;
    println!("{graphs} graphs, {nodes} nodes, {matches} matches; {prefiltered} graphs lack an op of the pattern");
    println!("prepare {:.1} us per graph, {:.1} ns per node", micros(prepare, graphs), micros(prepare, nodes) * 1e3);
    println!("find    {:.1} us per graph; slowest graph {slowest:.1?} in all", micros(find, graphs));
}

fn micros(duration: Duration, count: usize) -> f64 {
    duration.as_secs_f64() * 1e6 / count as f64
}
