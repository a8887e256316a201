//! Names that an item defines, and paths that it uses.

use std::collections::BTreeMap;

use syn::{
    Item,
    visit::{self, Visit},
};

/// Returns the name that an item puts into its module's scope.
pub(super) fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Collects the paths of an item that have at least two segments, with the first line of each.
pub(super) fn used(item: &Item, paths: &mut BTreeMap<Vec<String>, usize>) {
    Collector { paths }.visit_item(item);
}

struct Collector<'a> {
    paths: &'a mut BTreeMap<Vec<String>, usize>,
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        // A single segment names a local or an imported item; an import is recorded by itself. `::name` is another crate.
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
            self.paths.entry(segments).or_insert(line);
        }
        visit::visit_path(self, path);
    }
}
