//! Facts about a graph that need no measurement of the graph: types, bytes, and a bound on the time.

use std::{fmt::Write as _, sync::OnceLock, time::Instant};

use passnet_graph::{
    Arg, Callee, Node, Type, TypedGraph, ValueId,
    ops::{Memory, Op, OpName},
};

/// Maximum number of listed nodes.
const MAX_NODES: usize = 300;

/// Describes a graph.
pub(super) fn describe(name: &str, typed: &TypedGraph, on_cpu: bool) -> String {
    let graph = typed.graph();
    let mut text = format!("graph {name}\n");
    for value in graph.inputs() {
        let _ = writeln!(text, "  {} : {}", graph.name(value), type_text(typed.type_of(value)));
    }
    for node in graph.nodes().take(MAX_NODES) {
        let _ =
            writeln!(text, "  {} = {} : {}", node.name, graph.call_text(node.id), type_text(typed.type_of(node.value)));
    }
    if graph.num_nodes() > MAX_NODES {
        let _ = writeln!(text, "  ... {} more nodes", graph.num_nodes() - MAX_NODES);
    }
    let outputs: Vec<String> = graph.outputs().iter().map(|&arg| graph.arg_text(arg).to_string()).collect();
    let _ = writeln!(text, "  return {}", outputs.join(", "));
    let Traffic { eager, least, calls } = traffic(typed);
    let _ = writeln!(
        text,
        "\neager mode: {calls} calls that move data, {} read and written at least\none ideal kernel: {} (each input read once, each \
         output written once)",
        bytes_text(eager),
        bytes_text(least)
    );
    match products(typed) {
        0 => {}
        products => {
            let _ = writeln!(text, "floating-point operations: {:.3} million in products", products as f64 / 1e6);
        }
    }
    if on_cpu {
        let rate = copy_rate();
        let _ = writeln!(
            text,
            "one core of this machine copies {:.1} GB/s (measured): at that rate eager mode needs {:.1} us, an ideal kernel {:.1} us; \
             cached data moves faster; arithmetic and the overhead of calls take additional time",
            rate / 1e9,
            eager as f64 / rate * 1e6,
            least as f64 / rate * 1e6
        );
    }
    text
}

struct Traffic {
    eager: u64,
    least: u64,
    calls: usize,
}

fn traffic(typed: &TypedGraph) -> Traffic {
    let graph = typed.graph();
    let (mut eager, mut calls, mut used) = (0, 0, vec![false; graph.num_values()]);
    for node in graph.nodes() {
        let mut read: Vec<ValueId> = node.operands().collect();
        // A value that is read twice by one call comes from memory once.
        read.sort_unstable();
        read.dedup();
        read.iter().for_each(|value| used[value.index()] = true);
        if !is_view(typed, &node) {
            calls += 1;
            eager += read.iter().map(|&value| nbytes(typed, value)).sum::<u64>() + nbytes(typed, node.value);
        }
    }
    let mut returned: Vec<ValueId> = graph.output_values().collect();
    returned.sort_unstable();
    returned.dedup();
    // An input that no node reads costs an ideal kernel nothing.
    let inputs = graph.inputs().filter(|value| used[value.index()]).map(|value| nbytes(typed, value)).sum::<u64>();
    Traffic { eager, calls, least: inputs + returned.iter().map(|&value| nbytes(typed, value)).sum::<u64>() }
}

/// Returns whether a call moves no bytes: its result is a view of its first argument, or no tensor.
pub(crate) fn is_view(typed: &TypedGraph, node: &Node<'_>) -> bool {
    if matches!(typed.type_of(node.value), Type::Int { .. } | Type::Unknown) {
        return true;
    }
    let Some(name) = OpName::of(node.callee) else { return false };
    match Op::find(name.name).map(|op| op.memory) {
        Some(Memory::View) => true,
        Some(Memory::ViewAsMethod) => name.is_method,
        Some(Memory::ViewOrCopy) => {
            let operand = node.args.first().and_then(|arg| typed.tensor(arg.as_value()?));
            let pair = operand.zip(typed.tensor(node.value));
            pair.is_some_and(|(operand, result)| operand.dtype == result.dtype && operand.is_contiguous())
        }
        _ => false,
    }
}

/// Returns the last part of the callee: `relu` of `torch.nn.functional.relu`.
fn short_name<'g>(node: &Node<'g>) -> &'g str {
    let (Callee::Function(target) | Callee::Method(target)) = node.callee;
    target.rsplit('.').next().unwrap_or(target)
}

/// Returns the floating-point operations of the matrix products and convolutions of a graph; other operations need about one
/// per element.
fn products(typed: &TypedGraph) -> u64 {
    let graph = typed.graph();
    let tensor = |arg: Option<&Arg>| typed.tensor(arg?.as_value()?);
    let of_node = |node: Node<'_>| {
        // Per element of the result: the extent of the dimension that is summed over, times the window.
        let terms = match short_name(&node) {
            "conv1d" | "conv2d" | "conv3d" | "linear" => {
                let weight = tensor(node.args.get(1))?;
                weight.numel() / weight.shape.first().copied().unwrap_or(1).max(1)
            }
            // For products of matrices the sum runs over the last dimension of the left operand.
            "matmul" | "bmm" | "mm" => *tensor(node.args.first())?.shape.last()?,
            _ => return None,
        };
        Some((2 * terms * typed.tensor(node.value)?.numel()).max(0) as u64)
    };
    graph.nodes().filter_map(of_node).sum()
}

/// Estimates the time of eager mode in nanoseconds, from round rates of one core. It serves to sort tasks, shortest first.
pub(crate) fn rough_time(typed: &TypedGraph) -> u64 {
    const NS_PER_CALL: u64 = 3_000;
    const BYTES_PER_NS: u64 = 8;
    const TERMS_PER_NS: u64 = 40;
    let Traffic { eager, calls, .. } = traffic(typed);
    calls as u64 * NS_PER_CALL + eager / BYTES_PER_NS + products(typed) / TERMS_PER_NS
}

fn nbytes(typed: &TypedGraph, value: ValueId) -> u64 {
    fn of(kind: &Type) -> u64 {
        match kind {
            Type::Tensor(tensor) | Type::Host { host: tensor } => tensor.nbytes().max(0) as u64,
            Type::List { list } => list.iter().map(of).sum(),
            Type::Int { .. } | Type::Unknown => 0,
        }
    }
    of(typed.type_of(value))
}

fn type_text(kind: &Type) -> String {
    match kind {
        Type::Tensor(tensor) if tensor.is_contiguous() => format!("{}{:?}", tensor.dtype, tensor.shape),
        Type::Tensor(tensor) => format!("{}{:?} strides {:?}", tensor.dtype, tensor.shape, tensor.stride),
        Type::Host { host } => format!("{}{:?} in host memory", host.dtype, host.shape),
        Type::List { list } => format!("({})", list.iter().map(type_text).collect::<Vec<_>>().join(", ")),
        Type::Int { int } => format!("int {int}"),
        Type::Unknown => "?".to_owned(),
    }
}

fn bytes_text(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Returns the bytes that one core reads and writes per second when it copies memory: the best of a few copies, measured once
/// per process.
fn copy_rate() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    // Larger than the caches of common CPUs, so that memory is measured.
    const BYTES: usize = 32 << 20;
    *RATE.get_or_init(|| {
        let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
        let once = |to: &mut Vec<u8>| {
            let begin = Instant::now();
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&to);
            begin.elapsed().as_secs_f64()
        };
        let best = (0..5).map(|_| once(&mut to)).fold(f64::INFINITY, f64::min);
        // Each byte is read and written.
        2.0 * BYTES as f64 / best.max(1e-9)
    })
}

#[cfg(test)]
mod tests {
    use passnet_graph::Graph;
    use passnet_graph::TensorType;
    use passnet_record::DType;

    use super::*;

    #[test]
    fn products_count_their_terms() {
        let flops = |function: &str, shapes: [&[i64]; 3]| {
            let mut builder = Graph::builder();
            let (a, b) = (builder.input("a"), builder.input("b"));
            let c = builder.call_function("c", function, &[a.into(), b.into()], &[]);
            let types = shapes.map(|shape| Type::Tensor(TensorType::contiguous(shape, DType::Float32)));
            products(&TypedGraph::new(builder.finish(&[c.into()]).unwrap(), types.to_vec()).unwrap())
        };
        assert_eq!(flops("torch.conv2d", [&[1, 3, 8, 8], &[16, 3, 3, 3], &[1, 16, 6, 6]]), 2 * 27 * 16 * 36);
        assert_eq!(flops("torch.nn.functional.linear", [&[4, 10], &[7, 10], &[4, 7]]), 2 * 10 * 28);
        assert_eq!(flops("torch.matmul", [&[2, 5, 6], &[2, 6, 4], &[2, 5, 4]]), 2 * 6 * 40);
        assert_eq!(flops("torch.add", [&[4], &[4], &[4]]), 0);
    }

    #[test]
    fn calls_that_move_no_bytes_are_views() {
        let check = |shape: &[i64], stride: &[i64], method: &str, dtype, expected| {
            let mut builder = Graph::builder();
            let a = builder.input("a");
            let b = builder.call_method("b", method, &[a.into()], &[]);
            let input = TensorType { stride: stride.to_vec(), ..TensorType::contiguous(shape, DType::Float32) };
            let output = TensorType::contiguous(shape, dtype);
            let types = vec![Type::Tensor(input), Type::Tensor(output)];
            let typed = TypedGraph::new(builder.finish(&[b.into()]).unwrap(), types).unwrap();
            let node = typed.graph().nodes().next().unwrap();
            assert_eq!(is_view(&typed, &node), expected, "{method}");
        };
        check(&[2, 3], &[1, 2], "transpose", DType::Float32, true);
        check(&[2, 3], &[3, 1], "reshape", DType::Float32, true);
        check(&[2, 3], &[1, 2], "reshape", DType::Float32, false);
        check(&[2, 3], &[3, 1], "to", DType::Float32, true);
        check(&[2, 3], &[3, 1], "half", DType::Float16, false);
        check(&[2, 3], &[3, 1], "relu", DType::Float32, false);
        check(&[2, 3], &[3, 1], "unheard_of", DType::Float32, false);
    }
}
