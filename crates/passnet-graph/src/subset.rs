use crate::{Arg, Graph, NodeId, Slice, Use, ValueId, VerifyError};

impl Graph {
    /// Cuts out some nodes, which need not be neighbours. Inputs are the values that the nodes use and do not define. Outputs are the
    /// values that they define, that something else uses, and for which `returns` is true. Inputs and outputs are in order of definition.
    ///
    /// # Errors
    /// If the slice breaks a law, although this graph does not.
    ///
    /// # Panics
    /// If a node is not of this graph.
    pub fn subset(&self, nodes: &[NodeId], returns: impl Fn(ValueId) -> bool) -> Result<Slice, VerifyError> {
        let mut nodes = nodes.to_vec();
        // Operands have to be added before their users, so the nodes have to be in program order.
        nodes.sort_unstable();
        nodes.dedup();
        let is_inside = |node: NodeId| nodes.binary_search(&node).is_ok();
        let mut inputs: Vec<ValueId> = nodes.iter().flat_map(|&node| self.node(node).operands()).collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|&value| self.node_of(value).is_none_or(|node| !is_inside(node)));
        let uses = self.uses();
        let is_used_outside = |value: ValueId| {
            uses.of(value).iter().any(|user| match user {
                Use::Node(node) => !is_inside(*node),
                Use::Output => true,
            })
        };
        let defined = nodes.iter().map(|&node| self.value_of(node));
        let outputs: Vec<ValueId> = defined.filter(|&value| is_used_outside(value) && returns(value)).collect();
        let mut builder = Self::builder();
        let mut map: Vec<Option<ValueId>> = vec![None; self.num_values()];
        for &input in &inputs {
            map[input.index()] = Some(builder.input(self.name(input)));
        }
        // Every value that is used is an input or was added before. The verifier would report the fallback.
        let mapped = |map: &[Option<ValueId>], value: ValueId| map[value.index()].unwrap_or(ValueId(u32::MAX));
        for node in nodes.iter().map(|&node| self.node(node)) {
            let mut copy = |arg| builder.copy_arg(self, arg, &mut |value| mapped(&map, value));
            let args: Vec<Arg> = node.args.iter().map(|&arg| copy(arg)).collect();
            let kwargs: Vec<(&str, Arg)> = node.kwargs.iter().map(|&(key, arg)| (self.str(key), copy(arg))).collect();
            map[node.value.index()] = Some(builder.call(node.name, node.callee, &args, &kwargs));
        }
        let returned: Vec<Arg> = outputs.iter().map(|&value| mapped(&map, value).into()).collect();
        Ok(Slice { graph: builder.finish(&returned)?, inputs, outputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_left_out_become_inputs() {
        let mut b = Graph::builder();
        let x = b.input("x");
        let a = b.call_function("a", "torch.relu", &[x.into()], &[]);
        let c = b.call_function("c", "torch.exp", &[a.into()], &[]);
        let d = b.call_function("d", "operator.add", &[c.into(), a.into()], &[]);
        let graph = b.finish(&[d.into()]).unwrap();
        let cut = graph.subset(&[NodeId(2), NodeId(0)], |_| true).unwrap();
        assert_eq!((cut.inputs, cut.outputs), (vec![x, c], vec![a, d]));
        assert_eq!(cut.graph.num_nodes(), 2);
        assert!(graph.subset(&[NodeId(1)], |_| false).unwrap().outputs.is_empty());
    }
}
