//! Hashes under which samples are compared, from strict to loose.

use passnet_graph::{Arg, Builder, Graph, VerifyError, hash};
use passnet_graphnet::Sample;
use passnet_record::ContentId;

use crate::store::Hashes;

/// One rung of the ladder of equivalences. Samples are equal on a rung if they have the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Equal text of `model.py`.
    Text,
    /// Equal structure, and equal shapes and dtypes of inputs.
    Typed,
    /// Equal structure: the same calls with the same constants along the same data flow.
    Structure,
    /// Equal structure except for the values of integer constants, such as the same program at another length or width.
    Masked,
    /// Equal op names in program order.
    Ops,
}

impl Rung {
    /// All rungs, strict ones first.
    pub const ALL: [Self; 5] = [Self::Text, Self::Typed, Self::Structure, Self::Masked, Self::Ops];

    /// Returns the name of the rung on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Typed => "typed",
            Self::Structure => "structure",
            Self::Masked => "masked",
            Self::Ops => "ops",
        }
    }

    /// Returns the hash that is compared on this rung.
    pub fn of(self, hashes: &Hashes) -> Option<&str> {
        let hash = match self {
            Self::Text => &hashes.text,
            Self::Typed => &hashes.typed,
            Self::Structure => &hashes.structure,
            Self::Masked => &hashes.masked,
            Self::Ops => &hashes.ops,
        };
        hash.as_deref()
    }
}

/// Returns the first half of a hash. It is enough to distinguish samples, and needs a quarter of the memory of the text.
pub(crate) fn half(hash: &str) -> Option<u128> {
    u128::from_str_radix(hash.get(..32)?, 16).ok()
}

/// Returns all hashes of a sample; `text` is its `model.py`.
///
/// # Errors
/// If the graph with its integers replaced breaks a law of graphs.
pub fn hashes(sample: &Sample, text: &str) -> Result<Hashes, VerifyError> {
    let hex = |id: ContentId| Some(id.to_string());
    let ops = sample.graph.op_names();
    Ok(Hashes {
        text: hex(ContentId::of(text.as_bytes())),
        typed: hex(sample.typed_hash()),
        structure: hex(hash::structural(&sample.graph)),
        masked: hex(masked(&sample.graph)?),
        ops: hex(ContentId::of_parts(ops.iter().map(String::as_bytes))),
    })
}

/// Returns the structural hash of the graph without the values of its integers.
pub(crate) fn masked(graph: &Graph) -> Result<ContentId, VerifyError> {
    Ok(hash::structural(&without_integers(graph)?))
}

/// Returns the graph with every integer constant replaced by 0.
fn without_integers(graph: &Graph) -> Result<Graph, VerifyError> {
    // Inputs and nodes are added in their original order, so that values keep their numbers.
    let mut builder = Graph::builder();
    for name in graph.input_names() {
        builder.input(name);
    }
    for node in graph.nodes() {
        let args: Vec<Arg> = node.args.iter().map(|&arg| mask(graph, arg, &mut builder)).collect();
        let kwargs: Vec<(&str, Arg)> =
            node.kwargs.iter().map(|&(key, arg)| (graph.str(key), mask(graph, arg, &mut builder))).collect();
        builder.call(node.name, node.callee, &args, &kwargs);
    }
    let outputs: Vec<Arg> = graph.outputs().iter().map(|&arg| mask(graph, arg, &mut builder)).collect();
    builder.finish(&outputs)
}

fn mask(graph: &Graph, arg: Arg, builder: &mut Builder) -> Arg {
    let mut elements =
        |range| -> Vec<Arg> { graph.elements(range).iter().map(|&element| mask(graph, element, builder)).collect() };
    match arg {
        Arg::Int(_) => Arg::Int(0),
        Arg::List(range) => {
            let elements = elements(range);
            builder.list(&elements)
        }
        Arg::Tuple(range) => {
            let elements = elements(range);
            builder.tuple(&elements)
        }
        Arg::Slice(range) => match elements(range)[..] {
            [start, stop, step] => builder.slice(start, stop, step),
            // By the laws of graphs, a slice has three elements.
            _ => Arg::None,
        },
        // Floats and Booleans stay, because they are rarely sizes and often distinguish operations.
        _ => builder.copy_arg(graph, arg, &mut |value| value),
    }
}

#[cfg(test)]
mod tests {
    use passnet_graphnet::{GraphNetMeta, graph_module};

    use super::*;

    fn hashes_of(body: &str) -> Hashes {
        let text = format!(
            "import torch\nclass GraphModule(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n{}",
            body.lines().map(|line| format!("        {line}\n")).collect::<String>()
        );
        let graph = graph_module::parse("model.py", &text).unwrap();
        let sample = Sample {
            graph,
            tensors: Vec::new(),
            meta: GraphNetMeta::default(),
            constraints: String::new(),
            graph_hash: None,
        };
        hashes(&sample, &text).unwrap()
    }

    /// Returns the rungs on which two graphs are equal.
    fn equal(a: &str, b: &str) -> Vec<Rung> {
        let (a, b) = (hashes_of(a), hashes_of(b));
        Rung::ALL.into_iter().filter(|rung| rung.of(&a) == rung.of(&b)).collect()
    }

    #[test]
    fn each_rung_forgives_more() {
        use Rung::{Masked, Ops, Structure, Text, Typed};
        let base = "y = x.view(2, 3)\nz = torch.relu(y)\nreturn (z,)";
        assert_eq!(equal(base, base), [Text, Typed, Structure, Masked, Ops]);
        assert_eq!(equal(base, "a = x.view(2, 3)\nb = torch.relu(a)\nreturn (b,)"), [Typed, Structure, Masked, Ops]);
        assert_eq!(equal(base, "y = x.view(4, 5)\nz = torch.relu(y)\nreturn (z,)"), [Masked, Ops]);
        assert_eq!(equal(base, "y = x.view(2, 3)\nz = torch.relu(x)\nreturn (z,)"), [Ops]);
        assert_eq!(equal(base, "y = x.view(2, 3)\nreturn (y,)"), []);
    }

    #[test]
    fn integers_are_masked_at_any_depth() {
        let graph = |n| format!("y = x[(slice(None, {n}, None), {n})]\nz = torch.cat([y, y], dim={n})\nreturn (z,)");
        assert_eq!(equal(&graph(1), &graph(2)), [Rung::Masked, Rung::Ops]);
    }
}
