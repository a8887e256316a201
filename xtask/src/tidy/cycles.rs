//! Import cycles between the files of a crate.
//!
//! An edge leads from a file to each file whose items it names, through `use` or through a path. Re-exports are followed to
//! the file that defines the item, so a crate root that only re-exports is no part of a cycle. Cycles are the strongly
//! connected components of this graph (Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    modules::{CrateModules, ModulePath, SourceModule},
    violation::BrokenRule,
};

/// Longest chain of re-exports that is followed.
const MAX_REEXPORTS: usize = 16;

pub(super) fn check(crates: &[CrateModules], violations: &mut Vec<BrokenRule>) {
    for package in crates {
        let edges = edges(package);
        for component in components(package.files.len(), &edges) {
            violations.push(describe(package, &edges, &component));
        }
    }
}

/// Names the files of a cycle and the imports that close it.
fn describe(package: &CrateModules, edges: &Edges, component: &BTreeSet<usize>) -> BrokenRule {
    let mut message = format!("import cycle of {} files in {}:", component.len(), package.name);
    for &from in component {
        for (&to, line) in edges.get(&from).into_iter().flatten().filter(|(to, _)| component.contains(to)) {
            let (from, to) = (package.files[from].display(), package.files[to].display());
            message.push_str(&format!("\n    {from}:{line} imports {to}"));
        }
    }
    let first = component.first().map_or(Path::new(""), |&file| &package.files[file]);
    BrokenRule::new("cycle", first, 0, message)
}

/// Imported files of each importing file, with the line of the first import.
type Edges = BTreeMap<usize, BTreeMap<usize, usize>>;

/// Files that each file imports, with the first line that does.
fn edges(package: &CrateModules) -> Edges {
    let mut edges: Edges = BTreeMap::new();
    for (path, module) in &package.modules {
        let named = module.import_lines.iter().map(|(path, line)| (path, *line));
        let used = module.paths.iter().map(|(path, line)| (path, *line));
        for (segments, line) in named.chain(used) {
            if let Some(target) = resolve(package, path, segments, 0)
                && target != module.file
            {
                edges.entry(module.file).or_default().entry(target).or_insert(line);
            }
        }
    }
    // A parent that only re-exports what its children define does not depend on them.
    for (path, module) in &package.modules {
        if module.items.is_empty() && module.paths.is_empty() && !path.is_empty() {
            edges.remove(&module.file);
        }
    }
    edges
}

/// Returns the file that defines what `segments` names, seen from the module at `path`; nothing for other crates.
fn resolve(package: &CrateModules, path: &ModulePath, segments: &[String], depth: usize) -> Option<usize> {
    // Two modules can re-export each other's names without end.
    if depth > MAX_REEXPORTS {
        return None;
    }
    let mut current = path.clone();
    let mut rest = segments;
    match segments.first()?.as_str() {
        "crate" => {
            current.clear();
            rest = &segments[1..];
        }
        "self" => rest = &segments[1..],
        "super" => {
            while rest.first().is_some_and(|segment| segment == "super") {
                current.pop();
                rest = &rest[1..];
            }
        }
        _ => {}
    }
    loop {
        let module = package.modules.get(&current)?;
        let Some(segment) = rest.first() else { return Some(module.file) };
        let mut child = current.clone();
        child.push(segment.clone());
        if package.modules.contains_key(&child) {
            current = child;
            rest = &rest[1..];
            continue;
        }
        return resolve_item(package, &current, module, segment, &rest[1..], depth);
    }
}

fn resolve_item(
    package: &CrateModules,
    path: &ModulePath,
    module: &SourceModule,
    name: &str,
    rest: &[String],
    depth: usize,
) -> Option<usize> {
    if module.items.contains(name) {
        return Some(module.file);
    }
    if let Some(import) = module.imports.get(name) {
        // `use regex::regex` names another crate, not itself.
        if import.first().is_some_and(|first| first == name) {
            return None;
        }
        let full: Vec<String> = import.iter().chain(rest).cloned().collect();
        return resolve(package, path, &full, depth + 1);
    }
    module.globs.iter().find_map(|glob| {
        let mut full = glob.clone();
        full.push(name.to_owned());
        resolve(package, path, &full, depth + 1)
    })
}

/// Strongly connected components of at least two files.
fn components(count: usize, edges: &Edges) -> Vec<BTreeSet<usize>> {
    let mut search = CycleSearch {
        edges,
        order: vec![None; count],
        low: vec![0; count],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    for file in 0..count {
        if search.order[file].is_none() {
            search.visit(file);
        }
    }
    search.found
}

struct CycleSearch<'e> {
    edges: &'e Edges,
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<BTreeSet<usize>>,
}

impl CycleSearch<'_> {
    fn visit(&mut self, file: usize) {
        let order = self.next;
        self.order[file] = Some(order);
        self.low[file] = order;
        self.next += 1;
        self.stack.push(file);
        let targets: Vec<usize> =
            self.edges.get(&file).into_iter().flat_map(|targets| targets.keys().copied()).collect();
        for target in targets {
            match self.order[target] {
                None => {
                    self.visit(target);
                    self.low[file] = self.low[file].min(self.low[target]);
                }
                // A search through the stack is fast enough: a crate has a few hundred files.
                Some(seen) if self.stack.contains(&target) => self.low[file] = self.low[file].min(seen),
                Some(_) => {}
            }
        }
        if self.low[file] == order {
            let start = self.stack.iter().position(|&member| member == file).unwrap_or(self.stack.len());
            let component: BTreeSet<usize> = self.stack.drain(start..).collect();
            if component.len() > 1 {
                self.found.push(component);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let mut map: Edges = BTreeMap::new();
        for &(from, to) in edges {
            map.entry(from).or_default().insert(to, 1);
        }
        components(5, &map).into_iter().map(|component| component.into_iter().collect()).collect()
    }

    #[test]
    fn finds_cycles_and_nothing_else() {
        assert!(find(&[(0, 1), (1, 2), (0, 2)]).is_empty());
        assert_eq!(find(&[(0, 1), (1, 0), (1, 2)]), [[0, 1]]);
        assert_eq!(find(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 3), (2, 3)]), [vec![3, 4], vec![0, 1, 2]]);
    }
}
