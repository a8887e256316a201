//! Random graphs that obey the laws, for property tests.

use passnet_graph::{Arg, Builder, Graph, NodeId, ValueId};
use passnet_record::DType;
use proptest::prelude::*;

/// Choices that make one node.
type Choices = [u16; 6];

/// Any graph of up to 4 inputs and 12 nodes, with frees where `has_frees`.
pub(crate) fn any_graph(has_effects: bool) -> impl Strategy<Value = Graph> {
    let nodes = prop::collection::vec(any::<Choices>(), 0..12);
    (1..5_usize, nodes, prop::collection::vec(any::<u16>(), 0..4), any::<bool>())
        .prop_map(move |(inputs, nodes, outputs, has_frees)| build(inputs, &nodes, &outputs, has_frees, has_effects))
}

struct Maker {
    builder: Builder,
    /// Values that may be used.
    values: Vec<ValueId>,
    last_use: Vec<usize>,
}

fn build(inputs: usize, nodes: &[Choices], outputs: &[u16], has_frees: bool, has_effects: bool) -> Graph {
    let mut maker = Maker { builder: Graph::builder(), values: Vec::new(), last_use: Vec::new() };
    for name in &["L_x_", "in_1", "w_0", "device"][..inputs] {
        let value = maker.builder.input(name);
        maker.values.push(value);
        maker.last_use.push(0);
    }
    for (index, choices) in nodes.iter().enumerate() {
        maker.node(index, choices, has_effects);
    }
    let outputs: Vec<Arg> = outputs.iter().map(|&choice| maker.value(choice, nodes.len()).into()).collect();
    if has_frees {
        for (value, &last) in maker.last_use.iter().enumerate().filter(|&(_, &last)| last < nodes.len()) {
            maker.builder.free_after(NodeId(last as u32), ValueId(value as u32));
        }
    }
    maker.builder.finish(&outputs).expect("the graph obeys the laws")
}

impl Maker {
    fn value(&mut self, choice: u16, user: usize) -> ValueId {
        let value = self.values[usize::from(choice) % self.values.len()];
        self.last_use[value.index()] = user;
        value
    }

    fn arg(&mut self, choice: u16, user: usize) -> Arg {
        let inner = choice / 16;
        match choice % 16 {
            0..5 => self.value(inner, user).into(),
            5 => Arg::Int(i64::from(inner) - 100),
            6 => Arg::Float(f64::from(inner) / 7.0 - 10.0),
            7 => [Arg::Float(f64::INFINITY), Arg::Float(f64::NEG_INFINITY), Arg::Float(f64::NAN), Arg::Float(-0.0)]
                [usize::from(inner) % 4],
            8 => self.builder.str(["none", "it's", "\"\\\n\u{e9}\u{7f}", "cuda:0"][usize::from(inner) % 4]),
            9 => [Arg::None, Arg::Bool(true), Arg::Bool(false), Arg::Ellipsis][usize::from(inner) % 4],
            10 => Arg::DType(DType::ALL[usize::from(inner) % DType::ALL.len()]),
            11 => self.builder.device("cuda", [None, Some(1)][usize::from(inner) % 2]),
            12 => self.builder.attr("torch.strided"),
            13 => {
                let bounds = [self.arg(inner % 10, user), Arg::None, Arg::Int(2)];
                self.builder.slice(bounds[0], bounds[1], bounds[2])
            }
            kind => {
                let elements: Vec<Arg> = (0..inner % 3).map(|part| self.arg(inner / (3 + part), user)).collect();
                if kind == 14 { self.builder.list(&elements) } else { self.builder.tuple(&elements) }
            }
        }
    }

    fn node(&mut self, index: usize, &[op, a, b, c, name, extra]: &Choices, has_effects: bool) {
        let x: Arg = self.value(a, index).into();
        let (y, z) = (self.arg(b, index), self.arg(c, index));
        let name = format!("{}_{index}", ["x", "iadd", "value", "l_self_"][usize::from(name) % 4]);
        let attribute = self.builder.str(["T", "real"][usize::from(extra) % 2]);
        let kinds = if has_effects { 14 } else { 10 };
        let b = &mut self.builder;
        let value = match op % kinds {
            0 => b.call_function(&name, "torch.nn.functional.relu", &[x], &[("inplace", Arg::Bool(false))]),
            1 => b.call_function(&name, "torch.cat", &[x, y], &[("dim", Arg::Int(1)), ("another", z)]),
            2 => b.call_function(&name, "torch.ops.aten.sym_size.int", &[], &[]),
            3 => b.call_method(&name, "view", &[x, y, z], &[]),
            4 => b.call_method(&name, "to", &[x], &[("device", y)]),
            5 => b.call_function(&name, "operator.getitem", &[x, y], &[]),
            6 => b.call_function(&name, ["operator.neg", "operator.invert"][usize::from(extra) % 2], &[y], &[]),
            7 => b.call_function(&name, ["operator.lt", "operator.pow"][usize::from(extra) % 2], &[y, z], &[]),
            8 => b.call_function(&name, ["operator.sub", "operator.matmul"][usize::from(extra) % 2], &[x, y], &[]),
            9 => b.call_function(&name, "builtins.getattr", &[x, attribute], &[]),
            10 | 11 => b.call_function(&name, "operator.iadd", &[x, y], &[]),
            12 => b.call_method(&name, "add_", &[x, y], &[]),
            _ => b.call_function(&name, "operator.setitem", &[x, y, z], &[]),
        };
        self.last_use.push(index);
        if op % kinds != 13 {
            self.values.push(value);
        }
    }
}
