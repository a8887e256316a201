use crate::{Graph, NodeId, ValueId};

/// User of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// An argument of a node.
    Node(NodeId),
    /// An element of the returned tuple.
    Output,
}

/// The uses of each value, in program order (compressed sparse rows). A node that uses a value twice is listed twice.
#[derive(Clone, Debug)]
pub struct Uses {
    starts: Vec<u32>,
    uses: Vec<Use>,
}

impl Uses {
    /// Returns the uses of one value.
    ///
    /// # Panics
    /// If `value` is not of the graph that this was made from.
    pub fn of(&self, value: ValueId) -> &[Use] {
        &self.uses[self.starts[value.index()] as usize..self.starts[value.index() + 1] as usize]
    }
}

impl Graph {
    /// Returns the uses of every value. Uses as outputs come last.
    pub fn uses(&self) -> Uses {
        let mut starts = vec![0_u32; self.num_values() + 1];
        self.for_each_use(|value, _| starts[value.index() + 1] += 1);
        // Two passes with counts instead of a vector for each value: most values have one use, and an allocation for
        // each would dominate.
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut uses = vec![Use::Output; next.last().map_or(0, |&total| total as usize)];
        self.for_each_use(|value, user| {
            uses[next[value.index()] as usize] = user;
            next[value.index()] += 1;
        });
        Uses { starts, uses }
    }

    fn for_each_use(&self, mut visit: impl FnMut(ValueId, Use)) {
        for node in self.nodes() {
            for arg in node.all_args() {
                self.for_each_value(arg, &mut |value| visit(value, Use::Node(node.id)));
            }
        }
        for &output in self.outputs() {
            self.for_each_value(output, &mut |value| visit(value, Use::Output));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;

    #[test]
    fn uses_are_in_program_order_and_look_into_lists() {
        let mut builder = Graph::builder();
        let x = builder.input("x");
        let y = builder.input("y");
        let pair = builder.list(&[x.into(), x.into()]);
        let cat = builder.call_function("cat", "torch.cat", &[pair], &[]);
        let sum = builder.call_function("sum", "operator.add", &[cat.into(), x.into()], &[]);
        let graph = builder.finish(&[sum.into(), x.into()]).unwrap();
        let uses = graph.uses();
        assert_eq!(uses.of(x), [Use::Node(NodeId(0)), Use::Node(NodeId(0)), Use::Node(NodeId(1)), Use::Output]);
        assert_eq!(uses.of(y), []);
        assert_eq!(uses.of(sum), [Use::Output]);
    }
}
