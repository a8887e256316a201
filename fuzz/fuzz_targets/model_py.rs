//! Any text as `model.py`: no panic, and what is read survives printing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use passnet_python::{model, rename, unparse};

fuzz_target!(|text: &str| {
    if let Ok(graph) = model::parse("model.py", text) {
        let printed = model::print(&graph);
        assert!(model::parse("printed", &printed).is_ok_and(|again| again == graph), "{printed}");
    }
    if let Ok(normal) = unparse::unparse("model.py", text) {
        assert_eq!(unparse::unparse("normal", &normal).as_ref(), Ok(&normal));
    }
    let _ = rename::alpha_renamed("model.py", text);
});
