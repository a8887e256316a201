//! Compilation of kernels: flags, and the text around a kernel's own.
//!
//! The flags keep honest kernels within the rules; the rules do not rely on them.

use std::fmt::Write as _;

/// Flags that an author's own may add to.
///
/// Eager mode rounds each product before it adds: no fused multiply-add, so that results can be equal to the last bit.
/// A failed `assert` would need the system to say so, which kernels do not have.
/// Kernels do not use the flags of floating-point exceptions, or errno. With them, the compiler could not use vector
/// code for selections.
pub const FLAGS: &[&str] =
    &["-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"];

/// Flags that come after those of an author, which they override. Every default that differs between distributions is set.
pub const FINAL_FLAGS: &[&str] = &[
    "-fPIC",
    "-U_FORTIFY_SOURCE",
    "-U_GLIBCXX_ASSERTIONS",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fvisibility=hidden",
    "-fno-jump-tables",
    "-fno-stack-protector",
    "-fno-stack-clash-protection",
    "-fcf-protection=none",
    "-fno-threadsafe-statics",
    "-fno-gnu-unique",
    "-fno-ipa-icf",
    "-fno-ident",
    "-fno-lto",
    "-g0",
    "-Wno-unknown-pragmas",
];

/// Version of the text, the flags and the rules for text: objects that were compiled under another one are not reused.
pub const VERSION: u32 = 2;

/// Flag for kernels whose stack the launcher cannot clear: that of OpenMP's threads, and arrays of dynamic size.
pub const INITIALISE_LOCALS: &str = "-ftrivial-auto-var-init=zero";

/// Returns all flags of the compiler, in order, for those that an author gives.
///
/// `initialise`: have all locals initialised. It is implied by threads, whose stacks are not cleared.
pub fn flags(author: &[String], initialise: bool) -> Vec<String> {
    let has_threads = author.iter().any(|flag| flag == "-fopenmp");
    let given = FLAGS.iter().map(|flag| (*flag).to_owned()).chain(author.iter().cloned());
    let last = FINAL_FLAGS.iter().copied().chain((initialise || has_threads).then_some(INITIALISE_LOCALS));
    given.chain(last.map(str::to_owned)).collect()
}

const ENTRIES: &str = include_str!("entries.hpp");

/// Returns the text to compile for a kernel: `prelude`, declarations, the source between two marks, and the entries.
///
/// `signatures` are pairs of a name and a declaration without `extern "C"` and semicolon.
pub fn text<'s>(
    prelude: &str,
    source: &str,
    mark: &str,
    signatures: impl IntoIterator<Item = (&'s str, &'s str)> + Clone,
) -> String {
    let mut text = format!("{prelude}{ENTRIES}");
    for (_, declaration) in signatures.clone() {
        let _ = writeln!(text, "extern \"C\" __attribute__((noipa, visibility(\"hidden\"))) {declaration};");
    }
    let _ = write!(text, "#pragma {mark}\n#line 1 \"kernel.cpp\"\n{source}\n#pragma {mark}\n#line 1 \"entries\"\n");
    for (name, _) in signatures {
        let _ = writeln!(
            text,
            "extern \"C\" __attribute__((visibility(\"default\"))) void passnet_call_{name}(const uint64_t* words) {{ \
             passnet_entries::call({name}, words); }}"
        );
    }
    text
}
