//! Any bytes as a pass file: no panic, findings within the file, the same findings each time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use passnet_lint::{ORDER_FILE, PassFile, lint_dir, render};

fuzz_target!(|bytes: &[u8]| {
    let files = [("fuse.py", bytes), (ORDER_FILE, br#"["fuse"]"#.as_slice())];
    let findings = lint_dir(&files);
    assert_eq!(findings, lint_dir(&files));
    let files = files.map(|(name, bytes)| PassFile { name: name.to_owned(), bytes: bytes.to_owned() });
    let _ = render::text(&findings, &files, false);
});
