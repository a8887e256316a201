//! C++ sources: a token scan, not a parser. CUDA sources have rules of their own, in `device`.
//!
//! The scan knows scopes of variables and conditions of the preprocessor, but no types. It follows the principle of the other
//! rules. A name may be called if the source defines it wherever the call is compiled, or if the name is on a list. A name that
//! headers declare and that gives access to the system may only be the name of a variable. No function may be used as a value, so
//! a function can only be called by its name. Text that only a parser could judge is rejected: pasting macros, function pointers,
//! calls of computed values, words that continue in the next line.

mod attributes;
mod calls;
mod constants;
mod definitions;
mod device;
mod finding;
mod guards;
mod macros;
mod names;
mod source;
mod tokens;
mod variables;

use std::collections::BTreeMap;

use self::{definitions::Definitions, guards::Guards, macros::tokenize, source::TokenSource, variables::Variables};
use super::rules::{NativeCall, NativeInclude, NativeState};

pub(super) use self::{
    finding::{ScanFinding, Span},
    names::{defined_type, is_flag},
};

/// Largest number of findings in a source.
const MAX_FOUND: usize = 50;

/// The library that a source includes with [`VECTORS_DIRECTIVE`]. The compiler gets the same file.
const VECTORS: &str = include_str!("../../../python/passnet/kernels/vectors.hpp");

const VECTORS_DIRECTIVE: &str = "#include <passnet/vectors.hpp>";

/// Scans a source in CUDA C++.
pub(super) fn scan_device(text: &str) -> Vec<(Span, ScanFinding)> {
    let mut found = device::scan(text);
    found.truncate(MAX_FOUND);
    found
}

/// Scans a source in C++. `defined` are the names of types that compiler flags define.
pub(super) fn scan<'t>(text: &'t str, defined: impl IntoIterator<Item = &'t str>) -> Vec<(Span, ScanFinding)> {
    let is_used = match tokenize(text) {
        Ok((_, directives, _)) => directives.iter().any(|directive| directive.text == VECTORS_DIRECTIVE),
        Err(_) => false,
    };
    if !is_used {
        return scan_text(text, defined);
    }
    // The library defines names that the source may call, as if it were part of the source.
    let whole = format!("{VECTORS}{text}");
    let defined: Vec<&str> = defined.into_iter().collect();
    let own =
        |((offset, length), found): (Span, ScanFinding)| Some(((offset.checked_sub(VECTORS.len())?, length), found));
    scan_text(&whole, defined).into_iter().filter_map(own).collect()
}

fn scan_text<'t>(text: &'t str, defined: impl IntoIterator<Item = &'t str>) -> Vec<(Span, ScanFinding)> {
    let (tokens, directives, guards) = match tokenize(text) {
        Ok(read) => read,
        Err(subject) => return vec![((0, text.len()), ScanFinding::Call(NativeCall { subject }))],
    };
    let source = TokenSource::new(tokens);
    let definitions = Definitions::new(&source, defined);
    let variables = Variables::new(&source, &definitions);
    let refused = directives.iter().filter(|directive| !names::is_directive(&directive.text)).take(MAX_FOUND);
    let found = refused.map(|directive| {
        let violation = NativeInclude { subject: directive.text.clone() };
        ((directive.offset, directive.length), ScanFinding::Include(violation))
    });
    let found = found.collect();
    let mut scan = NativeScan { text, source, guards, definitions, variables, only_called: BTreeMap::new(), found };
    scan.check_tokens();
    scan.check_statements();
    scan.found
}

struct NativeScan<'t> {
    text: &'t str,
    source: TokenSource<'t>,
    guards: Guards,
    definitions: Definitions<'t>,
    variables: Variables<'t>,
    /// Parameters, by the token that declares each. True if the parameter is only called or passed on.
    only_called: BTreeMap<usize, bool>,
    found: Vec<(Span, ScanFinding)>,
}

impl NativeScan<'_> {
    fn call(&mut self, index: usize, subject: &str) {
        self.find(index, ScanFinding::Call(NativeCall { subject: subject.to_owned() }));
    }

    fn state(&mut self, index: usize, subject: &str) {
        self.find(index, ScanFinding::State(NativeState { subject: subject.to_owned() }));
    }

    fn find(&mut self, index: usize, found: ScanFinding) {
        if self.found.len() < MAX_FOUND {
            let text = self.source.text(index);
            self.found.push(((tokens::offset(self.text, text), text.len()), found));
        }
    }
}

#[cfg(test)]
mod tests;
