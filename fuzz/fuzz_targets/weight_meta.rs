//! Any text as `weight_meta.py`: no panic, and what is read survives printing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use passnet_graphnet::metas;

fuzz_target!(|text: &str| {
    if let Ok(tensors) = metas::parse("weight_meta.py", text) {
        let printed = metas::print(&tensors);
        let again = metas::parse("printed", &printed).map(|tensors| metas::print(&tensors));
        assert_eq!(again, Ok(printed));
    }
});
