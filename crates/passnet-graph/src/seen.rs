//! Calls whose results are visible outside of the graph.
//!
//! A graph can be a task only if its work is visible in its outputs, or in inputs that it changes. A compiler may remove all other calls,
//! and the speed-up would then have no limit.

use std::fmt;

use crate::{
    Graph, Node, NodeId, Slice, VerifyError,
    effects::{AliasClasses, mutated, touches_global_state},
};

/// Reason why a graph cannot be a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// The graph returns nothing that it computes, and changes no input.
    Everything,
    /// More than half of its calls contribute neither to an output nor to a changed input.
    Most {
        /// Calls that contribute nothing.
        dead: usize,
        /// All calls, except those that only set global state.
        calls: usize,
    },
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("the graph returns nothing that it computes and changes no input"),
            Self::Most { dead, calls } => {
                write!(f, "{dead} of {calls} calls of the graph contribute neither to an output nor to a changed input")
            }
        }
    }
}

impl Graph {
    /// Returns why the work of this graph cannot be judged by its results; `None` if it can, and for a graph without calls.
    pub fn unseen(&self) -> Option<Unseen> {
        let seen = self.seen();
        let counts = |index: &usize| !touches_global_state(&self.node(NodeId(*index as u32)));
        let (mut calls, mut dead) = (0, 0);
        for index in (0..self.num_nodes()).filter(counts) {
            calls += 1;
            dead += usize::from(!seen[index]);
        }
        match (calls, dead) {
            (0, _) => None,
            (calls, dead) if dead == calls => Some(Unseen::Everything),
            // A few dead calls are normal in captured graphs. Where they are the majority, removing them is most of
            // the speed-up.
            (calls, dead) if 2 * dead > calls => Some(Unseen::Most { dead, calls }),
            _ => None,
        }
    }

    /// Returns for each node whether its result is visible. In doubt, the result counts as visible.
    fn seen(&self) -> Vec<bool> {
        self.reached(|_| false)
    }

    /// Returns for each node whether it is needed: it is one of `roots`, its result is visible, or another needed node uses it.
    fn reached(&self, roots: impl Fn(&Node<'_>) -> bool) -> Vec<bool> {
        let storage = AliasClasses::new(self);
        // Classes of storage that are read after the call.
        let mut watched = vec![false; self.num_values()];
        for value in self.inputs().chain(self.output_values()) {
            watched[storage.class(value) as usize] = true;
        }
        let mut seen = vec![false; self.num_nodes()];
        for value in self.output_values() {
            if let Some(node) = self.node_of(value) {
                seen[node.index()] = true;
            }
        }
        for node in self.nodes().rev() {
            let changes_watched = mutated(self, &node).into_iter().any(|arg| {
                let mut any = false;
                self.for_each_value(arg, &mut |value| any |= watched[storage.class(value) as usize]);
                any
            });
            if !(seen[node.id.index()] || changes_watched || roots(&node)) {
                continue;
            }
            seen[node.id.index()] = true;
            for value in node.operands() {
                watched[storage.class(value) as usize] = true;
                if let Some(node) = self.node_of(value) {
                    seen[node.index()] = true;
                }
            }
        }
        seen
    }
}

impl Slice {
    /// Returns the slice without its dead calls: those that contribute neither to an output nor to a changed input.
    /// Inputs that only dead calls use are removed, too. A slice without dead calls is returned as it is.
    ///
    /// # Errors
    /// If the remaining graph breaks a law.
    pub fn without_dead_calls(self) -> Result<Self, VerifyError> {
        // Values that an assertion reads have to stay.
        let lives = self.graph.reached(touches_global_state);
        let kept: Vec<NodeId> = (0..lives.len() as u32).map(NodeId).filter(|node| lives[node.index()]).collect();
        if kept.len() == lives.len() {
            return Ok(self);
        }
        let rest = self.graph.subset(&kept, |value| self.graph.output_values().any(|output| output == value))?;
        // The first values of a graph are its inputs. Outputs are in order of definition in both slices.
        let inputs = rest.inputs.iter().map(|value| self.inputs[value.index()]).collect();
        let place = |value| self.graph.output_values().position(|output| output == value);
        let outputs = rest.outputs.iter().filter_map(|&value| place(value)).map(|index| self.outputs[index]).collect();
        Ok(Self { graph: rest.graph, inputs, outputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, SliceOrder};

    #[test]
    fn dead_calls_of_a_slice_are_removed_with_their_inputs() {
        let mut b = Graph::builder();
        let (x, y) = (b.input("x"), b.input("y"));
        let a = b.call_function("a", "torch.exp", &[y.into()], &[]);
        let c = b.call_function("c", "torch.relu", &[x.into()], &[]);
        b.call_function("d", "operator.add", &[a.into(), c.into()], &[]);
        b.call_method("e", "mul_", &[x.into(), c.into()], &[]);
        let e = b.call_function("f", "torch.exp", &[c.into()], &[]);
        let graph = b.finish(&[e.into()]).unwrap();
        let whole = graph.slice(0..5, SliceOrder::ByDefinition).unwrap();
        let live = whole.without_dead_calls().unwrap();
        assert_eq!(live.graph.op_names(), ["relu", "Tensor.mul_", "exp"]);
        assert_eq!((live.inputs.as_slice(), live.outputs.as_slice()), ([x].as_slice(), [e].as_slice()));
        // `d` is unused, and so is everything that only `d` reads.
        let dead = graph.slice(2..3, SliceOrder::ByDefinition).unwrap().without_dead_calls().unwrap();
        assert_eq!(dead.graph.num_nodes(), 0);
        let untouched = graph.slice(1..2, SliceOrder::ByDefinition).unwrap();
        assert_eq!(untouched.clone().without_dead_calls().unwrap(), untouched);
    }

    #[test]
    fn calls_that_an_assertion_reads_are_not_dead() {
        let mut b = Graph::builder();
        let (x, y) = (b.input("x"), b.input("y"));
        let a = b.call_function("a", "torch.all", &[y.into()], &[]);
        b.call_function("b", "torch._assert", &[a.into()], &[]);
        let c = b.call_function("c", "torch.relu", &[x.into()], &[]);
        b.call_function("d", "torch.exp", &[x.into()], &[]);
        let graph = b.finish(&[c.into()]).unwrap();
        let live = graph.slice(0..4, SliceOrder::ByDefinition).unwrap().without_dead_calls().unwrap();
        assert_eq!(live.graph.op_names(), ["all", "_assert", "relu"]);
        assert_eq!(live.inputs, [x, y]);
    }

    fn check(build: impl FnOnce(&mut Builder) -> Vec<crate::Arg>, expected: Option<Unseen>) {
        let mut builder = Graph::builder();
        let outputs = build(&mut builder);
        let graph = builder.finish(&outputs).unwrap();
        assert_eq!(graph.unseen(), expected, "{graph:?}");
    }

    #[test]
    fn graphs_whose_results_are_returned_are_tasks() {
        check(
            |g| {
                let x = g.input("x");
                let y = g.call_function("y", "torch.relu", &[x.into()], &[]);
                let z = g.call_function("z", "torch.exp", &[y.into()], &[]);
                vec![z.into()]
            },
            None,
        );
        check(|g| vec![g.input("x").into()], None);
    }

    #[test]
    fn unused_results_are_not_a_task() {
        let relu = |g: &mut Builder| {
            let x = g.input("x");
            g.call_function("y", "torch.relu", &[x.into()], &[]);
            x
        };
        check(
            |g| {
                relu(g);
                vec![]
            },
            Some(Unseen::Everything),
        );
        check(|g| vec![relu(g).into()], Some(Unseen::Everything));
        // A change in place of a value that is not used afterwards.
        check(
            |g| {
                let x = g.input("x");
                let y = g.call_function("y", "torch.relu", &[x.into()], &[]);
                g.call_method("z", "add_", &[y.into(), y.into()], &[]);
                vec![]
            },
            Some(Unseen::Everything),
        );
    }

    #[test]
    fn most_calls_must_contribute() {
        let graph = |dead: u32| {
            move |g: &mut Builder| {
                let x = g.input("x");
                let y = g.call_function("y", "torch.relu", &[x.into()], &[]);
                for number in 0..dead {
                    g.call_function(&format!("dead_{number}"), "torch.exp", &[y.into()], &[]);
                }
                vec![y.into()]
            }
        };
        check(graph(1), None);
        check(graph(2), Some(Unseen::Most { dead: 2, calls: 3 }));
    }

    #[test]
    fn changes_of_inputs_and_of_outputs_are_seen() {
        check(
            |g| {
                let x = g.input("x");
                let y = g.call_function("y", "torch.relu", &[x.into()], &[]);
                g.call_method("z", "add_", &[x.into(), y.into()], &[]);
                vec![]
            },
            None,
        );
        // A change of a view of an input changes the input. A change of a value that is returned later is visible.
        check(
            |g| {
                let x = g.input("x");
                let v = g.call_method("v", "view", &[x.into()], &[]);
                g.call_method("z", "zero_", &[v.into()], &[]);
                vec![]
            },
            None,
        );
        check(
            |g| {
                let x = g.input("x");
                let y = g.call_function("y", "torch.relu", &[x.into()], &[]);
                let v = g.call_method("v", "view", &[y.into()], &[]);
                g.call_method("z", "zero_", &[v.into()], &[]);
                vec![y.into()]
            },
            None,
        );
    }
}
