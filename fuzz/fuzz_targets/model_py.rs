//! Any text as `model.py`: no panic, what is read survives printing, and both readers read the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use passnet_graphnet::{graph_module, paddle, rename, unparse};

fuzz_target!(|text: &str| {
    let graph = graph_module::parse_by_tree("model.py", text);
    if let Some(quick) = graph_module::parse_quickly(text) {
        assert!(graph.as_ref() == Ok(&quick));
    }
    if let Ok(graph) = graph {
        let printed = graph_module::print(&graph);
        assert!(graph_module::parse("printed", &printed).is_ok_and(|again| again == graph), "{printed}");
    }
    if let Ok(read) = paddle::read("model.py", text) {
        let printed = graph_module::print(&read.graph);
        assert!(graph_module::parse("printed", &printed).is_ok_and(|again| again == read.graph), "{printed}");
    }
    if let Ok(normal) = unparse::unparse("model.py", text) {
        assert_eq!(unparse::unparse("normal", &normal).as_ref(), Ok(&normal));
    }
    let _ = rename::alpha_renamed("model.py", text);
});
