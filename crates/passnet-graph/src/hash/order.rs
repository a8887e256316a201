use std::collections::BTreeSet;

use super::encode::{Bytes, Encoder};
use crate::{NodeId, ValueId};

const UNSEEN: u32 = u32::MAX;

/// Largest number of refinements of the colours of values that the outputs do not reach. It is part of version 1 of the hashes
/// (`docs/reference/hashes.md`): another number would change the hashes of some graphs.
const MAX_ROUNDS: usize = 8;

/// The values of a graph in canonical order: each value comes after all values that it refers to. Unused inputs are left out.
pub(super) struct Order {
    pub(super) sequence: Vec<ValueId>,
    numbers: Vec<u32>,
}

impl Order {
    pub(super) fn number(&self, value: ValueId) -> u32 {
        self.numbers[value.index()]
    }

    pub(super) fn has(&self, value: ValueId) -> bool {
        self.number(value) != UNSEEN
    }
}

/// Numbers values depth first from the outputs, along operands in order. Continues with the nodes that the outputs do not reach.
pub(super) fn canonical_order(encoder: &Encoder<'_>) -> Order {
    let graph = encoder.graph;
    let mut order = Order { sequence: Vec::new(), numbers: vec![UNSEEN; graph.num_values()] };
    for value in references(encoder, graph.num_nodes()) {
        visit(encoder, &mut order, value);
    }
    if order.sequence.iter().filter(|&&value| graph.node_of(value).is_some()).count() < graph.num_nodes() {
        for root in sorted_roots(encoder, &order) {
            visit(encoder, &mut order, root);
        }
    }
    order
}

/// Returns the values that a node refers to, in order: each operand with the last change before it is read, then the global state.
fn references<'e>(encoder: &'e Encoder<'_>, node: usize) -> impl Iterator<Item = ValueId> + use<'e> {
    let graph = encoder.graph;
    let value_of = move |node: Option<NodeId>| node.map(|node| graph.value_of(node));
    let operands = encoder.reads.operands(node).iter();
    let operands = operands.flat_map(move |operand| [Some(operand.value), value_of(operand.changed_by)]);
    operands.chain([value_of(encoder.reads.global(node))]).flatten()
}

fn visit(encoder: &Encoder<'_>, order: &mut Order, root: ValueId) {
    let references_of = |value| encoder.graph.node_of(value).map(|node| references(encoder, node.index()));
    // This uses a separate stack, because a chain of tens of thousands of nodes would overflow the thread's stack.
    let mut stack = vec![(root, references_of(root))];
    while let Some((value, rest)) = stack.last_mut() {
        if order.numbers[value.index()] == UNSEEN
            && let Some(next) = rest.as_mut().and_then(|rest| rest.find(|&next| order.numbers[next.index()] == UNSEEN))
        {
            stack.push((next, references_of(next)));
            continue;
        }
        if order.numbers[value.index()] == UNSEEN {
            order.numbers[value.index()] = order.sequence.len() as u32;
            order.sequence.push(*value);
        }
        stack.pop();
    }
}

/// Returns the nodes that the outputs do not reach and that no other node refers to, sorted by colour.
///
/// The colour of a value is a hash of everything that the value is computed from. This does not distinguish inputs, so the colour of an
/// input is refined by the colours of its users, until a refinement distinguishes no more values.
fn sorted_roots(encoder: &Encoder<'_>, order: &Order) -> Vec<ValueId> {
    let graph = encoder.graph;
    let rest: Vec<NodeId> = graph.nodes().filter(|node| !order.has(node.value)).map(|node| node.id).collect();
    let mut colors = vec![[0_u8; 32]; graph.num_values()];
    for value in (0..graph.num_values() as u32).map(ValueId) {
        let mut bytes = Bytes(vec![0]);
        if order.has(value) {
            bytes.u32(order.number(value));
        } else if graph.node_of(value).is_none() {
            encoder.input(&mut bytes, value);
        }
        colors[value.index()] = *blake3::hash(&bytes.0).as_bytes();
    }
    let mut distinct = 0;
    for _ in 0..MAX_ROUNDS {
        for &node in &rest {
            let mut bytes = Bytes(vec![1]);
            encoder.node(&mut bytes, node, |bytes, value| bytes.0.extend(colors[value.index()]));
            colors[graph.value_of(node).index()] = *blake3::hash(&bytes.0).as_bytes();
        }
        let found = rest.iter().map(|&node| colors[graph.value_of(node).index()]).collect::<BTreeSet<_>>().len();
        // Refinement is complete when it distinguishes no more nodes than before (colour refinement, Weisfeiler and Leman 1968).
        if found == distinct {
            break;
        }
        distinct = found;
        refine_inputs(encoder, order, &rest, &mut colors);
    }
    let mut is_used = vec![false; graph.num_values()];
    for &node in &rest {
        references(encoder, node.index()).for_each(|value| is_used[value.index()] = true);
    }
    let mut roots: Vec<ValueId> = rest.into_iter().map(|node| graph.value_of(node)).collect();
    roots.retain(|root| !is_used[root.index()]);
    roots.sort_by_key(|root| colors[root.index()]);
    roots
}

/// Refines the colour of each input that the outputs do not reach by its users and the positions at which they use it.
fn refine_inputs(encoder: &Encoder<'_>, order: &Order, rest: &[NodeId], colors: &mut [[u8; 32]]) {
    let graph = encoder.graph;
    let mut uses: Vec<([u8; 32], u32, ValueId)> = Vec::new();
    for &node in rest {
        let user = colors[graph.value_of(node).index()];
        for (position, value) in (0..).zip(references(encoder, node.index())) {
            if graph.node_of(value).is_none() && !order.has(value) {
                uses.push((user, position, value));
            }
        }
    }
    // Users are sorted by colour and position and not by number, because numbers depend on the order of statements.
    uses.sort_unstable();
    for (user, position, input) in uses {
        let mut bytes = Bytes(vec![2]);
        bytes.0.extend(colors[input.index()]);
        bytes.0.extend(user);
        bytes.u32(position);
        colors[input.index()] = *blake3::hash(&bytes.0).as_bytes();
    }
}
