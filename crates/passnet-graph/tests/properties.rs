//! Forms and operations on random graphs.

#[path = "support/random_graph.rs"]
mod random_graph;

use passnet_graph::{SliceOrder, hash, wire};
use proptest::prelude::*;
use random_graph::any_graph;

proptest! {
    #[test]
    fn graphs_survive_the_wire(graph in any_graph(true)) {
        let text = wire::to_value(&graph).to_string();
        let again = wire::from_json(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(again == graph, "{}\n{}\n{}", text, graph, again);
    }

    #[test]
    fn every_range_is_a_slice(graph in any_graph(true), start in any::<u16>(), len in any::<u16>()) {
        let ops = graph.num_nodes();
        prop_assume!(ops > 0);
        let start = usize::from(start) % ops;
        let len = 1 + usize::from(len) % (ops - start);
        for order in [SliceOrder::ByName, SliceOrder::ByDefinition] {
            let slice = graph.slice(start..start + len, order);
            let slice = slice.map_err(|error| TestCaseError::fail(format!("{error}\n{graph}")))?;
            prop_assert_eq!(slice.graph.op_names(), &graph.op_names()[start..start + len]);
            prop_assert_eq!(slice.inputs.len(), slice.graph.num_inputs());
            prop_assert_eq!(slice.outputs.len(), slice.graph.outputs().len());
        }
    }

    #[test]
    fn replacing_the_device_twice_is_replacing_it_once(graph in any_graph(true)) {
        let cpu = graph.with_device("cpu", None);
        prop_assert!(!cpu.to_string().contains("cuda"), "{}", cpu);
        prop_assert!(cpu.with_device("cpu", None) == cpu);
        prop_assert_eq!(hash::structural(&cpu), hash::structural(&graph.with_device("cuda", Some(1)).with_device("cpu", None)));
    }
}
