//! Calls in canonical form: arguments by name, defaults filled in, and one name for each function.

use std::fmt::Write as _;

use passnet_graph::{Arg, Callee, Graph, Node, NodeId, ValueId, VerifyError, wire};
use passnet_record::services::{CanonicalReply, CanonicalRequest};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::corpus::Corpus;
use crate::annotate::Runner;

/// Number of calls in one question to PyTorch.
const CALLS_PER_QUESTION: usize = 4000;

/// Calls in canonical form, as PyTorch returned them. The inputs of each graph are the values that the calls refer to, in the
/// order of their first use.
struct Forms {
    graphs: Vec<Graph>,
}

impl Corpus {
    /// Returns the graphs with all calls in canonical form. Nodes and values have the numbers that they have in the samples.
    ///
    /// # Errors
    /// One sentence: the error of the runner, or the law of graphs that its answer breaks.
    pub fn canonical(&self, runner: &dyn Runner) -> Result<Vec<Graph>, String> {
        let graphs: Vec<Graph> =
            self.graphs.par_iter().map(|graph| graph.sample.graph.with_device("cpu", None)).collect();
        let (numbers, examples) = distinct(&graphs);
        let forms = Forms::ask(&graphs, &examples, runner)?;
        let pairs = graphs.par_iter().zip(&numbers);
        let rebuilt = pairs.map(|(graph, calls)| forms.rebuild(graph, calls).map_err(|error| error.to_string()));
        rebuilt.collect()
    }
}

/// Returns, for each node of each graph, the number of its call, and for each number a node that makes the call.
fn distinct(graphs: &[Graph]) -> (Vec<Vec<u32>>, Vec<(usize, usize)>) {
    let keys: Vec<Vec<String>> =
        graphs.par_iter().map(|graph| graph.nodes().map(|node| key(graph, &node)).collect()).collect();
    let mut known: FxHashMap<String, u32> = FxHashMap::default();
    let mut examples = Vec::new();
    let mut numbers = Vec::with_capacity(graphs.len());
    for (graph, keys) in keys.into_iter().enumerate() {
        let mut calls = Vec::with_capacity(keys.len());
        for (node, key) in keys.into_iter().enumerate() {
            let next = examples.len() as u32;
            let number = *known.entry(key).or_insert(next);
            if number == next {
                examples.push((graph, node));
            }
            calls.push(number);
        }
        numbers.push(calls);
    }
    (numbers, examples)
}

/// Returns the values to which a call refers, in the order of their first use in the call.
fn operands(node: &Node<'_>) -> Vec<ValueId> {
    let mut operands = Vec::new();
    for value in node.operands() {
        if !operands.contains(&value) {
            operands.push(value);
        }
    }
    operands
}

/// Returns a text that is equal for calls that differ only in the values they refer to.
fn key(graph: &Graph, node: &Node<'_>) -> String {
    let operands = operands(node);
    let mut text = String::with_capacity(64);
    text.push(if matches!(node.callee, Callee::Method(_)) { '.' } else { ' ' });
    text.push_str(node.callee.target());
    for &arg in node.args {
        text.push('(');
        write_arg(graph, arg, &operands, &mut text);
    }
    for &(key, arg) in node.kwargs {
        text.push(')');
        text.push_str(graph.str(key));
        text.push('=');
        write_arg(graph, arg, &operands, &mut text);
    }
    text
}

fn write_arg(graph: &Graph, arg: Arg, operands: &[ValueId], text: &mut String) {
    // Writing to a string cannot fail.
    let _ = match arg {
        Arg::Value(value) => write!(text, "%{}", operands.iter().position(|&known| known == value).unwrap_or(0)),
        // By bits, because 0.0 and -0.0 are different constants and NaN does not equal itself.
        Arg::Float(value) => write!(text, "f{:x}", value.to_bits()),
        Arg::Str(id) => write!(text, "{:?}", graph.str(id)),
        Arg::Attr(id) => write!(text, "a{:?}", graph.str(id)),
        Arg::Device(device) => write!(text, "d{:?}{:?}", graph.str(device.kind), device.index),
        Arg::List(range) | Arg::Tuple(range) | Arg::Slice(range) => {
            text.push(match arg {
                Arg::List(_) => '[',
                Arg::Tuple(_) => '<',
                _ => ':',
            });
            for &element in graph.elements(range) {
                write_arg(graph, element, operands, text);
                text.push(',');
            }
            text.push(']');
            Ok(())
        }
        Arg::None | Arg::Bool(_) | Arg::Int(_) | Arg::Ellipsis | Arg::DType(_) => write!(text, "{arg:?}"),
    };
}

impl Forms {
    fn ask(graphs: &[Graph], examples: &[(usize, usize)], runner: &dyn Runner) -> Result<Self, String> {
        let questions: Vec<_> = examples.chunks(CALLS_PER_QUESTION).collect();
        let answers = questions.into_par_iter().map(|examples| {
            let asked = joined(graphs, examples).map_err(|error| error.to_string())?;
            let question = serde_json::to_value(CanonicalRequest { graph: wire::to_value(&asked) });
            let answer = runner.ask(&question.map_err(|error| error.to_string())?)?;
            let reply: CanonicalReply = serde_json::from_value(answer).map_err(|error| error.to_string())?;
            let form = wire::from_value(&reply.graph).map_err(|error| format!("canonical form: {error}"))?;
            if form.num_nodes() == examples.len() {
                Ok(form)
            } else {
                Err(format!("canonical form: {} calls for {}", form.num_nodes(), examples.len()))
            }
        });
        Ok(Self { graphs: answers.collect::<Result<_, String>>()? })
    }

    fn rebuild(&self, graph: &Graph, calls: &[u32]) -> Result<Graph, VerifyError> {
        let mut builder = Graph::builder();
        for name in graph.input_names() {
            builder.input(name);
        }
        for (node, &call) in graph.nodes().zip(calls) {
            let form = &self.graphs[call as usize / CALLS_PER_QUESTION];
            let said = form.node(NodeId((call as usize % CALLS_PER_QUESTION) as u32));
            let operands = operands(&node);
            // If the call does not have the value, the verifier reports an error.
            let mut value = |local: ValueId| operands.get(local.index()).copied().unwrap_or(ValueId(u32::MAX));
            let args: Vec<Arg> = said.args.iter().map(|&arg| builder.copy_arg(form, arg, &mut value)).collect();
            let kwargs: Vec<(&str, Arg)> = said
                .kwargs
                .iter()
                .map(|&(key, arg)| (form.str(key), builder.copy_arg(form, arg, &mut value)))
                .collect();
            builder.call(node.name, said.callee, &args, &kwargs);
        }
        let outputs: Vec<Arg> =
            graph.outputs().iter().map(|&output| builder.copy_arg(graph, output, &mut |value| value)).collect();
        builder.finish(&outputs)
    }
}

/// Returns one graph that makes all the calls, each on inputs of the graph.
fn joined(graphs: &[Graph], examples: &[(usize, usize)]) -> Result<Graph, VerifyError> {
    let nodes = || examples.iter().map(|&(graph, node)| (&graphs[graph], graphs[graph].node(NodeId(node as u32))));
    // The calls share inputs, because the canonical form of a call does not depend on its values.
    let most = nodes().map(|(_, node)| operands(&node).len()).max().unwrap_or(0);
    let mut builder = Graph::builder();
    let inputs: Vec<ValueId> = (0..most).map(|input| builder.input(&format!("value_{input}"))).collect();
    for (number, (graph, node)) in nodes().enumerate() {
        let operands = operands(&node);
        let mut value = |value: ValueId| inputs[operands.iter().position(|&known| known == value).unwrap_or(0)];
        let args: Vec<Arg> = node.args.iter().map(|&arg| builder.copy_arg(graph, arg, &mut value)).collect();
        let kwargs: Vec<(&str, Arg)> =
            node.kwargs.iter().map(|&(key, arg)| (graph.str(key), builder.copy_arg(graph, arg, &mut value))).collect();
        builder.call(&format!("call_{number}"), node.callee, &args, &kwargs);
    }
    builder.finish(&[])
}

#[cfg(test)]
mod tests {
    use passnet_graphnet::Sample;
    use serde_json::Value;

    use super::*;
    use crate::coverage::CorpusGraph;

    fn graph(name: &str) -> Graph {
        let mut b = Graph::builder();
        let (x, y) = (b.input("x"), b.input("y"));
        let sum = b.call_function("sum", "operator.add", &[x.into(), x.into()], &[]);
        let sizes = b.tuple(&[Arg::Int(1), sum.into(), Arg::Float(0.5)]);
        let both = b.call_function(name, "torch.cat", &[sizes, y.into()], &[("dim", Arg::Int(-1))]);
        b.finish(&[both.into(), sum.into()]).unwrap()
    }

    /// Calls that differ only in their values are asked for once. Each node gets the answer with its own values.
    #[test]
    fn a_graph_is_what_it_was_where_every_call_is_in_its_form_already() {
        let corpus = |graphs: [Graph; 2]| Corpus {
            graphs: graphs
                .into_iter()
                .map(|graph| CorpusGraph {
                    path: String::new(),
                    models: Vec::new(),
                    sample: Sample {
                        graph,
                        tensors: Vec::new(),
                        meta: passnet_graphnet::GraphNetMeta::default(),
                        constraints: String::new(),
                        graph_hash: None,
                    },
                })
                .collect(),
            failures: Vec::new(),
        };
        let echo = |question: &Value| {
            assert_eq!(question["graph"]["nodes"].as_array().map(Vec::len), Some(2), "{question}");
            Ok(question.clone())
        };
        let forms = corpus([graph("a"), graph("b")]).canonical(&echo).unwrap();
        assert_eq!(forms, [graph("a"), graph("b")]);
        let refused = corpus([graph("a"), graph("b")]).canonical(&|_: &Value| Err("no PyTorch".to_owned()));
        assert_eq!(refused, Err("no PyTorch".to_owned()));
    }
}
