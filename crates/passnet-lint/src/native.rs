//! Sources of native kernels in C++ and CUDA C++: hints from a token scan.
//!
//! The referee judges the code that the compiler makes of a source: objects of C++ (`passnet-objects`) and PTX of CUDA. That code shows
//! what a kernel does; a text does not, because of macros, templates and overloads. So the scan needs no list of functions. It finds what
//! compiled code would be refused for, where the text already shows it. It also refuses what only a text has: headers outside a list,
//! directives that read files, and words that tell the time of the compilation.

mod finding;
mod language;
mod names;
mod scan;
mod tokens;

use self::scan::scan_language;

pub(super) use self::{
    finding::{ScanFinding, Span},
    language::NativeLanguage,
    names::is_flag,
};

/// Largest number of findings in a source.
const MAX_FOUND: usize = 50;

/// Scans a source.
pub(super) fn scan(text: &str, language: NativeLanguage) -> Vec<(Span, ScanFinding)> {
    let mut found = scan_language(text, language);
    found.truncate(MAX_FOUND);
    found
}

#[cfg(test)]
mod tests;
