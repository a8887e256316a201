//! The quick reader of `model.py` compared with the parser.

use passnet_graphnet::graph_module;

/// Returns whether the quick reader reads a text; if it does, it has to give the graph of the parser, down to the order of the
/// pools.
pub(crate) fn reads_quickly(text: &str) -> bool {
    let Some(quick) = graph_module::parse_quickly(text) else { return false };
    let whole = graph_module::parse_by_tree("model.py", text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(format!("{quick:?}"), format!("{whole:?}"), "{text}");
    true
}
