//! Properties of a graph that define families and that verdicts do not contain.

use passnet_graph::{
    Graph,
    ops::{Memory, Op, OpName},
};

/// Properties of a graph, for results by family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphTraits {
    /// Field of use of the model, such as `computer vision`; empty if unknown.
    pub domain: String,
    /// Kind of the most expensive operation.
    pub operation: OperationKind,
    /// Number of operations for which eager mode starts a computation: all but views and questions about shapes. At least 1.
    pub launches: usize,
}

/// Kinds of operations, most expensive first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationKind {
    /// Scaled dot-product attention, or softmax together with a product of matrices.
    Attention,
    Convolution,
    /// Product of matrices.
    Product,
    /// Normalisation by the statistics of a layer, batch or group.
    Normalisation,
    /// Other sums over many elements, softmax and pooling included.
    Reduction,
    /// Gathers by index, embeddings included.
    Indexing,
    /// Element by element.
    Elementwise,
    /// Views and copies alone.
    Layout,
}

impl OperationKind {
    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Convolution => "convolution",
            Self::Product => "matrix product",
            Self::Normalisation => "normalisation",
            Self::Reduction => "reduction",
            Self::Indexing => "indexing",
            Self::Elementwise => "element-wise",
            Self::Layout => "views and copies",
        }
    }

    /// Returns whether a graph has to do arithmetic that grows faster than the memory it reads.
    pub fn is_arithmetic(self) -> bool {
        matches!(self, Self::Attention | Self::Convolution | Self::Product)
    }
}

impl GraphTraits {
    /// Finds the properties of a graph. `domain` is the field of use of its model.
    pub fn of(graph: &Graph, domain: &str) -> Self {
        let names = graph.nodes().filter_map(|node| OpName::of(node.callee)).map(|op| op.name);
        let names: Vec<&str> = names.filter(|name| computes(name)).collect();
        let has = |name: &str| names.contains(&name);
        let kind = |name: &&str| match operation(name) {
            OperationKind::Product if has("softmax") => OperationKind::Attention,
            // Many models write out an RMS norm as single operations.
            OperationKind::Reduction if has("rsqrt") => OperationKind::Normalisation,
            kind => kind,
        };
        Self {
            domain: domain.to_owned(),
            operation: names.iter().map(kind).min().unwrap_or(OperationKind::Layout),
            launches: names.len().max(1),
        }
    }
}

/// Returns whether eager mode starts a computation for an operation.
fn computes(name: &str) -> bool {
    let memory = Op::find(name).map(|op| op.memory);
    match name {
        "size" | "dim" | "numel" | "device" | "__getitem__" => false,
        // For a model in evaluation mode and a contiguous tensor, these functions return their argument.
        "contiguous" | "dropout" | "reshape" | "reshape_as" | "flatten" => false,
        _ => !matches!(memory, Some(Memory::View | Memory::ViewAsMethod)),
    }
}

fn operation(name: &str) -> OperationKind {
    let has = |property: fn(&Op) -> bool| Op::find(name).is_some_and(property);
    match name {
        "scaled_dot_product_attention" | "multi_head_attention_forward" => OperationKind::Attention,
        _ if name.starts_with("conv") => OperationKind::Convolution,
        "mm" | "mv" | "addmv" | "bilinear" => OperationKind::Product,
        _ if has(|op| op.is_product) => OperationKind::Product,
        _ if name.ends_with("_norm") || name == "normalize" => OperationKind::Normalisation,
        "prod" | "cumsum" | "max" | "min" | "amax" | "amin" | "argmax" | "argmin" | "any" | "all" | "topk" | "sort" => {
            OperationKind::Reduction
        }
        _ if has(|op| op.is_reduction) || name.contains("_pool") => OperationKind::Reduction,
        "index_add" | "index_put" | "scatter" | "scatter_add" | "take_along_dim" => OperationKind::Indexing,
        _ if has(|op| op.is_gather) => OperationKind::Indexing,
        "cat" | "concat" | "stack" | "pad" | "roll" | "clone" | "copy" | "repeat" | "repeat_interleave" | "tile"
        | "flip" | "to" | "type_as" | "float" | "half" | "bfloat16" | "long" | "int" | "bool" | "pixel_shuffle"
        | "pixel_unshuffle" => OperationKind::Layout,
        _ => OperationKind::Elementwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Properties of a chain of functions of `torch.nn.functional` and of methods, the latter with a leading dot.
    fn check(calls: &[&str], operation: OperationKind, launches: usize) {
        let mut builder = Graph::builder();
        let mut value = builder.input("x");
        for (at, call) in calls.iter().enumerate() {
            let name = format!("v{at}");
            value = match call.strip_prefix('.') {
                Some(method) => builder.call_method(&name, method, &[value.into()], &[]),
                None => builder.call_function(&name, &format!("torch.nn.functional.{call}"), &[value.into()], &[]),
            };
        }
        let traits = GraphTraits::of(&builder.finish(&[value.into()]).unwrap(), "audio");
        assert_eq!((traits.operation, traits.launches), (operation, launches), "{calls:?}");
    }

    #[test]
    fn the_most_expensive_kind_of_operation_names_a_graph() {
        check(&["relu", "conv2d", "batch_norm"], OperationKind::Convolution, 3);
        check(&["linear", "gelu"], OperationKind::Product, 2);
        check(&[".matmul", "softmax"], OperationKind::Attention, 2);
        check(&["scaled_dot_product_attention", ".transpose"], OperationKind::Attention, 1);
        check(&[".pow", ".mean", ".rsqrt"], OperationKind::Normalisation, 3);
        check(&["softmax"], OperationKind::Reduction, 1);
        check(&["adaptive_avg_pool2d"], OperationKind::Reduction, 1);
        check(&["embedding", ".add"], OperationKind::Indexing, 2);
        check(&[".add_", "silu"], OperationKind::Elementwise, 2);
    }

    #[test]
    fn views_start_no_computation() {
        check(&[".view", ".transpose", ".contiguous", ".size"], OperationKind::Layout, 1);
        check(&[".view", ".clone"], OperationKind::Layout, 1);
    }
}
