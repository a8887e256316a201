//! Compilation of kernels: the flags of the compiler, and the text around the source of a kernel.
//!
//! The flags make compilers write objects that keep the rules. The rules do not rely on the flags.

use std::fmt::Write as _;

/// Flags that come before those of an author, which may override them.
///
/// `-ffp-contract=off` forbids fused multiply-add: eager mode rounds each product before it adds, and results can then be equal to the
/// last bit. `-DNDEBUG` removes `assert`, whose message needs system calls that kernels do not have. `-fno-trapping-math` and
/// `-fno-math-errno` drop floating-point exceptions and errno, which kernels do not use: with them, the compiler could not use vector
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
    "-Werror=date-time",
];

/// Version of the text, the flags and the rules for text: objects that were compiled under another version are not reused.
pub const VERSION: u32 = 4;

/// Flag for kernels with stack memory that the launcher cannot clear: the stacks of OpenMP's threads, and arrays of dynamic size.
pub const INITIALISE_LOCALS: &str = "-ftrivial-auto-var-init=zero";

/// Returns all flags of the compiler, in order, including the flags that the author gives.
///
/// `initialise` adds [`INITIALISE_LOCALS`]. `-fopenmp` adds this flag as well, because the stacks of threads are not cleared.
pub fn flags(author: &[String], initialise: bool) -> Vec<String> {
    let has_threads = author.iter().any(|flag| flag == "-fopenmp");
    let given = FLAGS.iter().map(|flag| (*flag).to_owned()).chain(author.iter().cloned());
    let last = FINAL_FLAGS.iter().copied().chain((initialise || has_threads).then_some(INITIALISE_LOCALS));
    given.chain(last.map(str::to_owned)).collect()
}

const ENTRIES: &str = include_str!("entries.hpp");

/// Returns the text to compile for a kernel: `prelude`, declarations, entries, and the source between two marks.
///
/// The source comes last, so that its macros, overloads and specialisations cannot change the entries. `signatures` are pairs of a name
/// and a declaration without `extern "C"` and semicolon.
pub fn text<'s>(
    prelude: &str,
    source: &str,
    mark: &str,
    signatures: impl IntoIterator<Item = (&'s str, &'s str)>,
) -> String {
    let mut text = format!("{prelude}{ENTRIES}");
    for (name, declaration) in signatures {
        let _ = writeln!(
            text,
            "extern \"C\" __attribute__((noipa, visibility(\"hidden\"))) {declaration};\n\
             extern \"C\" __attribute__((visibility(\"default\"))) void passnet_call_{name}(const uint64_t* words) {{ \
             passnet_entries::call({name}, words); }}"
        );
    }
    let _ = write!(text, "#pragma {mark}\n#line 1 \"kernel.cpp\"\n{source}\n#pragma {mark}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_cannot_change_the_entries() {
        let source = "#define passnet_entries mine\nvoid k(float* x) {}";
        let text = text("", source, "MARK", [("k", "void k(float* x)")]);
        assert!(text.rfind("passnet_entries::call").unwrap() < text.find(source).unwrap());
        assert!(text.ends_with("\n#pragma MARK\n"));
    }
}
