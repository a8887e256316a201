//! Functions, types and namespaces that a source defines.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    guards::Guards,
    names::{is_denied, is_forbidden, is_keyword, is_reserved, is_std_concept, is_type},
    source::{TokenSource, is_layout},
};

/// Largest number of definitions of one name that are used. Ignoring further definitions allows less.
const MAX_OF_ONE_NAME: usize = 64;

/// Names that a source defines, with the places of their definitions.
#[derive(Default)]
pub(super) struct Definitions<'t> {
    functions: BTreeMap<&'t str, Vec<usize>>,
    types: BTreeMap<&'t str, Vec<usize>>,
    /// Template parameters that are types.
    parameters: BTreeSet<&'t str>,
    namespaces: BTreeSet<&'t str>,
    concepts: BTreeSet<&'t str>,
}

impl<'t> Definitions<'t> {
    /// Collects the definitions of a source. A name that a header declares and that is not callable is never one of them: a call
    /// of the name might reach the header's function.
    pub(super) fn new(source: &TokenSource<'t>, defined_types: impl IntoIterator<Item = &'t str>) -> Self {
        let mut definitions = Self::default();
        for name in defined_types {
            definitions.types.insert(name, vec![0]);
        }
        for index in 0..source.len() {
            let name = source.text(index);
            if name == "typedef" {
                if let Some(name) = typedef_name(source, index) {
                    definitions.types.entry(name).or_default().push(source.at(index));
                }
                continue;
            }
            if !source.is_name(index) || is_keyword(name) || is_denied(name) || is_forbidden(name) || is_reserved(name)
            {
                continue;
            }
            definitions.read(source, index, name);
        }
        for places in definitions.functions.values_mut().chain(definitions.types.values_mut()) {
            places.truncate(MAX_OF_ONE_NAME);
        }
        definitions
    }

    fn read(&mut self, source: &TokenSource<'t>, index: usize, name: &'t str) {
        let at = source.at(index);
        match source.before(index, 1) {
            "namespace" => {
                // `namespace outer::inner {`
                let names = (index..=source.qualified_end(index)).step_by(2);
                self.namespaces.extend(names.map(|name| source.text(name)));
            }
            "concept" => _ = self.concepts.insert(name),
            // A parameter in the list of a template.
            "typename" | "class" if matches!(source.text(index + 1), ">" | "," | "=") => {
                self.parameters.insert(name);
            }
            // `template <std::integral T>`
            concept if matches!(source.text(index + 1), ">" | "," | "=") && self.is_concept(source, index, concept) => {
                self.parameters.insert(name);
            }
            // `typename... Ts`
            "." if matches!(source.before(index, 4), "typename" | "class") => _ = self.parameters.insert(name),
            "struct" | "class" | "union" | "enum" if matches!(source.text(index + 1), "{" | ":") => {
                self.types.entry(name).or_default().push(at);
            }
            "using" if source.text(index + 1) == "=" => self.types.entry(name).or_default().push(at),
            "operator" => {}
            _ => {
                // `struct alignas(16) Row {`
                let is_aligned = source.before(index, 1) == ")"
                    && source.opening(index - 1).is_some_and(|open| is_layout(source.before(open, 1)))
                    && matches!(source.text(index + 1), "{" | ":");
                if is_aligned {
                    self.types.entry(name).or_default().push(at);
                }
                let is_function = source.text(index + 1) == "("
                    && !is_type(name)
                    && !matches!(source.before(index, 1), "." | "->" | "=" | "return" | "(" | "," | ":")
                    && source.closing(index + 1).is_some_and(|close| source.has_body(close));
                if is_function {
                    self.functions.entry(name).or_default().push(at);
                }
            }
        }
    }

    /// Returns whether `name`, in front of the token at `index`, is a concept.
    fn is_concept(&self, source: &TokenSource<'t>, index: usize, name: &str) -> bool {
        let is_standard = source.before(index, 2) == "::" && source.before(index, 3) == "std" && is_std_concept(name);
        is_standard || self.concepts.contains(name)
    }

    /// Returns whether the source defines a function of this name, here or elsewhere.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// Returns whether a call at an offset reaches a function that the source defines.
    pub(super) fn calls_function(&self, name: &str, at: usize, guards: &Guards) -> bool {
        self.functions.get(name).is_some_and(|places| guards.covers(places, at))
    }

    /// Returns whether the source defines a type of this name, here or elsewhere.
    pub(super) fn is_type(&self, name: &str) -> bool {
        self.types.contains_key(name)
    }

    /// Returns whether a name at an offset means a type that the source defines, or a template parameter.
    pub(super) fn means_type(&self, name: &str, at: usize, guards: &Guards) -> bool {
        self.is_parameter(name) || self.types.get(name).is_some_and(|places| guards.covers(places, at))
    }

    /// Returns whether the name is a template parameter that is a type.
    pub(super) fn is_parameter(&self, name: &str) -> bool {
        self.parameters.contains(name)
    }

    pub(super) fn is_namespace(&self, name: &str) -> bool {
        self.namespaces.contains(name)
    }
}

/// Returns the name that a `typedef` defines: the last name outside of brackets.
fn typedef_name<'t>(source: &TokenSource<'t>, start: usize) -> Option<&'t str> {
    let mut name = None;
    let mut index = start + 1;
    while index < source.len() && source.text(index) != ";" {
        if source.is_name(index) && source.text(index) != "__attribute__" {
            name = Some(source.text(index));
        }
        index = source.closing(index).unwrap_or(index) + 1;
    }
    name.filter(|name| !is_denied(name) && !is_forbidden(name) && !is_reserved(name))
}
