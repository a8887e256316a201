use std::ops::Range;

use crate::{Arg, Graph, NodeId, Use, ValueId, VerifyError};

/// Some nodes of a graph as a separate graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The graph. Values keep the names they have in the parent.
    pub graph: Graph,
    /// For each input, the value of the parent that it stands for.
    pub inputs: Vec<ValueId>,
    /// For each output, the value of the parent that it stands for.
    pub outputs: Vec<ValueId>,
}

/// Order of the inputs and outputs of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceOrder {
    /// Inputs and outputs are sorted by name, as in GraphNet's decomposition. Outputs of a range that reaches the end of the parent keep
    /// the order of the parent's outputs.
    ByName,
    /// Inputs and outputs are in order of definition.
    ByDefinition,
}

/// Reason why a slice cannot be cut out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// The range is empty, or goes beyond the end.
    #[error("ops {start}..{end} are not a range of a graph of {nodes} ops; use 0 <= start < end <= {nodes}")]
    Range {
        /// First op index.
        start: usize,
        /// Op index after the last.
        end: usize,
        /// Number of nodes of the graph.
        nodes: usize,
    },
    /// The slice breaks a law, although the parent does not.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

impl Graph {
    /// Cuts out the nodes whose op index is in `range`.
    ///
    /// Inputs are the values that are defined before the range and used in it. Outputs are the values that are defined in the range and
    /// used after it, by a node or by the parent's outputs. A tensor that the range changes in place is an input, not an output, unless
    /// the value of the changing call itself is used after the range.
    ///
    /// # Errors
    /// If the range is empty or goes beyond the end, or the slice breaks a law.
    pub fn slice(&self, range: Range<usize>, order: SliceOrder) -> Result<Slice, SliceError> {
        let nodes = self.num_nodes();
        if range.start >= range.end || range.end > nodes {
            return Err(SliceError::Range { start: range.start, end: range.end, nodes });
        }
        let (inputs, outputs) = self.boundary(&range, order);
        let mut builder = Self::builder();
        let mut map: Vec<Option<ValueId>> = vec![None; self.num_values()];
        for &input in &inputs {
            map[input.index()] = Some(builder.input(self.name(input)));
        }
        // Every value that is used inside is an input or was added before. The verifier would report the fallback.
        let mapped = |map: &[Option<ValueId>], value: ValueId| map[value.index()].unwrap_or(ValueId(u32::MAX));
        for (position, index) in range.enumerate() {
            let node = self.node(NodeId(index as u32));
            let mut copy = |arg| builder.copy_arg(self, arg, &mut |value| mapped(&map, value));
            let args: Vec<Arg> = node.args.iter().map(|&arg| copy(arg)).collect();
            let kwargs: Vec<(&str, Arg)> = node.kwargs.iter().map(|&(key, arg)| (self.str(key), copy(arg))).collect();
            map[node.value.index()] = Some(builder.call(node.name, node.callee, &args, &kwargs));
            for free in node.frees.iter().filter_map(|value| map[value.index()]) {
                builder.free_after(NodeId(position as u32), free);
            }
        }
        let returned: Vec<Arg> = outputs.iter().map(|&value| mapped(&map, value).into()).collect();
        Ok(Slice { graph: builder.finish(&returned)?, inputs, outputs })
    }

    fn boundary(&self, range: &Range<usize>, order: SliceOrder) -> (Vec<ValueId>, Vec<ValueId>) {
        let first = self.value_of(NodeId(range.start as u32));
        let mut inputs = Vec::new();
        for index in range.clone() {
            for arg in self.node(NodeId(index as u32)).all_args() {
                self.for_each_value(arg, &mut |value| inputs.extend((value < first).then_some(value)));
            }
        }
        inputs.sort_unstable();
        inputs.dedup();
        let uses = self.uses();
        let is_after = |user: &Use| match user {
            Use::Node(node) => node.index() >= range.end,
            Use::Output => true,
        };
        let inside = range.clone().map(|index| self.value_of(NodeId(index as u32)));
        let mut outputs: Vec<ValueId> = inside.filter(|&value| uses.of(value).iter().any(is_after)).collect();
        if order == SliceOrder::ByName {
            inputs.sort_by_key(|&value| self.name(value));
            if range.end < self.num_nodes() {
                outputs.sort_by_key(|&value| self.name(value));
            } else {
                outputs.sort_by_key(|&value| self.outputs().iter().position(|output| output.as_value() == Some(value)));
            }
        }
        (inputs, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> Graph {
        let mut b = Graph::builder();
        let (z, a) = (b.input("z"), b.input("a"));
        let r = b.call_function("r", "torch.relu", &[z.into()], &[]);
        let c = b.call_function("c", "operator.add", &[r.into(), a.into()], &[]);
        b.free_after(NodeId(1), a);
        let s = b.call_function("s", "operator.mul", &[c.into(), r.into()], &[]);
        b.free_after(NodeId(2), c);
        b.finish(&[s.into(), r.into()]).unwrap()
    }

    #[test]
    fn boundaries_are_what_crosses_the_range() {
        let parent = parent();
        let text = |range, order| parent.slice(range, order).unwrap().graph.to_string();
        insta::assert_snapshot!(text(0..2, SliceOrder::ByName));
        insta::assert_snapshot!(text(0..2, SliceOrder::ByDefinition));
        insta::assert_snapshot!(text(0..3, SliceOrder::ByName));
        let one = parent.slice(2..3, SliceOrder::ByName).unwrap();
        assert_eq!((one.inputs, one.outputs), (vec![ValueId(3), ValueId(2)], vec![ValueId(4)]));
    }

    #[test]
    fn bad_ranges_are_errors() {
        for range in [1..1, 2..4, 3..3] {
            assert!(matches!(parent().slice(range, SliceOrder::ByName), Err(SliceError::Range { .. })));
        }
    }
}
