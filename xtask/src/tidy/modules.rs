//! The modules of each crate: which file holds which module, and the items that each module defines and imports.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use syn::{Attribute, File, ImplItem, Item, ItemMod, UseTree};

use super::{names, violation::TextFile};

/// A module path below the crate root; the root itself is empty.
pub(super) type ModulePath = Vec<String>;

/// One crate, parsed.
pub(super) struct CrateModules {
    pub(super) name: String,
    pub(super) files: Vec<PathBuf>,
    pub(super) modules: BTreeMap<ModulePath, SourceModule>,
    /// Lengths of functions outside tests.
    pub(super) functions: Vec<FunctionSize>,
}

/// One module: a file or an inline `mod`.
#[derive(Default)]
pub(super) struct SourceModule {
    /// Index into [`CrateModules::files`].
    pub(super) file: usize,
    pub(super) items: BTreeSet<String>,
    /// Local name to the path that it was imported from, first segment included (`crate`, `super`, a crate ...).
    pub(super) imports: BTreeMap<String, Vec<String>>,
    /// Paths imported with `*`.
    pub(super) globs: Vec<Vec<String>>,
    /// Paths used in code, beyond the imports; first line where each occurs.
    pub(super) paths: BTreeMap<Vec<String>, usize>,
    /// Lines of the imports, by path.
    pub(super) import_lines: Vec<(Vec<String>, usize)>,
}

pub(super) struct FunctionSize {
    pub(super) file: PathBuf,
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) lines: usize,
}

/// Parses the library or program of each crate below `crates/` and of `xtask`.
pub(super) fn read_crates(root: &Path, sources: &[TextFile]) -> Result<Vec<CrateModules>> {
    let mut folders: Vec<PathBuf> = sources
        .iter()
        .filter(|source| source.path.ends_with("Cargo.toml"))
        .filter_map(|source| source.path.parent().map(Path::to_owned))
        .filter(|folder| folder.starts_with("crates") || folder == Path::new("xtask"))
        .collect();
    folders.sort();
    folders.iter().map(|folder| read_crate(root, folder)).collect()
}

fn read_crate(root: &Path, folder: &Path) -> Result<CrateModules> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut package = CrateModules { name, files: Vec::new(), modules: BTreeMap::new(), functions: Vec::new() };
    let source = folder.join("src");
    // A crate with both has its items in the library; its program only calls them.
    for entry in ["lib.rs", "main.rs"] {
        let file = source.join(entry);
        if root.join(&file).exists() {
            package.read_file(root, &file, &source, Vec::new())?;
            break;
        }
    }
    Ok(package)
}

impl CrateModules {
    /// Reads a module's file and, through its `mod` declarations, all below it. `folder` holds the files of its submodules.
    fn read_file(&mut self, root: &Path, file: &Path, folder: &Path, path: ModulePath) -> Result<()> {
        let text = fs_err::read_to_string(root.join(file))?;
        let parsed: File = syn::parse_file(&text).with_context(|| format!("cannot parse {}", file.display()))?;
        let index = self.files.len();
        self.files.push(file.to_owned());
        self.read_items(root, &parsed.items, index, folder, path)
    }

    fn read_items(&mut self, root: &Path, items: &[Item], file: usize, folder: &Path, path: ModulePath) -> Result<()> {
        let mut module = SourceModule { file, ..SourceModule::default() };
        let mut children = Vec::new();
        // Only shipped code counts: tests may import any file of their crate.
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            if let Some(name) = names::defined(item) {
                module.items.insert(name);
            }
            match item {
                Item::Use(import) => {
                    let line = import.use_token.span.start().line;
                    module.import(&import.tree, &mut Vec::new(), line);
                }
                Item::Mod(child) => children.push(child),
                other => {
                    names::used(other, &mut module.paths);
                    self.measure(other, file);
                }
            }
        }
        self.modules.insert(path.clone(), module);
        for child in children {
            self.read_child(root, child, file, folder, &path)?;
        }
        Ok(())
    }

    fn read_child(
        &mut self,
        root: &Path,
        child: &ItemMod,
        file: usize,
        folder: &Path,
        path: &ModulePath,
    ) -> Result<()> {
        let name = child.ident.to_string();
        let mut below = path.clone();
        below.push(name.clone());
        let inner = folder.join(&name);
        if let Some((_, items)) = &child.content {
            return self.read_items(root, items, file, &inner, below);
        }
        let adjacent = folder.join(format!("{name}.rs"));
        let nested = inner.join("mod.rs");
        let child_file = if root.join(&adjacent).exists() { adjacent } else { nested };
        self.read_file(root, &child_file, &inner, below)
    }

    fn measure(&mut self, item: &Item, file: usize) {
        let path = self.files[file].clone();
        let mut add = |signature: &syn::Signature, block: &syn::Block| {
            let line = signature.fn_token.span.start().line;
            let end = block.brace_token.span.close().end().line;
            self.functions.push(FunctionSize {
                file: path.clone(),
                line,
                name: signature.ident.to_string(),
                lines: end + 1 - line,
            });
        };
        match item {
            Item::Fn(function) => add(&function.sig, &function.block),
            Item::Impl(block) => {
                for item in &block.items {
                    if let ImplItem::Fn(function) = item
                        && !is_test(&function.attrs)
                    {
                        add(&function.sig, &function.block);
                    }
                }
            }
            _ => {}
        }
    }
}

impl SourceModule {
    fn import(&mut self, tree: &UseTree, prefix: &mut Vec<String>, line: usize) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix, line);
                prefix.pop();
            }
            UseTree::Name(name) => {
                let ident = name.ident.to_string();
                if ident == "self" {
                    let local = prefix.last().cloned().unwrap_or_default();
                    self.add_import(local, prefix.clone(), line);
                } else {
                    let mut full = prefix.clone();
                    full.push(ident.clone());
                    self.add_import(ident, full, line);
                }
            }
            UseTree::Rename(rename) => {
                let mut full = prefix.clone();
                if rename.ident != "self" {
                    full.push(rename.ident.to_string());
                }
                self.add_import(rename.rename.to_string(), full, line);
            }
            UseTree::Glob(_) => {
                self.import_lines.push((prefix.clone(), line));
                self.globs.push(prefix.clone());
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, prefix, line);
                }
            }
        }
    }

    fn add_import(&mut self, local: String, full: Vec<String>, line: usize) {
        self.import_lines.push((full.clone(), line));
        self.imports.insert(local, full);
    }
}

/// Returns whether an item is compiled for tests only.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            // `cfg(any(test, ...))` is shipped in some configuration, so it does not count as a test.
            || (attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
