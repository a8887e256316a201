use std::{borrow::Cow, collections::hash_map::Entry as Slot};

use passnet_graph::{Arg, Builder, Callee, NodeId, ValueId, names::is_value_name};
use rustc_hash::FxHashMap;

/// A local name with its position in the scope. Names are long and frequent, and their lookup takes a large part of the time of
/// reading a graph. So each occurrence is looked up once.
#[derive(Clone, Copy)]
pub(super) struct Local<'a> {
    pub(super) name: &'a str,
    /// True if a value may have this name.
    pub(super) is_value_name: bool,
    position: usize,
}

#[derive(Clone, Copy)]
struct Binding {
    /// A value, or a constant without elements.
    arg: Arg,
    /// The value that `name = None` frees, if this is not `arg`. After `x += y` it is the earlier value of `x`. After
    /// `setitem = x` it is the node.
    drops: Option<ValueId>,
    /// True if `arg` is a value that this name keeps alive.
    is_reference: bool,
}

#[derive(Clone, Copy)]
struct ScopeEntry {
    binding: Option<Binding>,
    /// True if a value has this name.
    is_taken: bool,
    /// True if a value may have this name.
    is_value_name: bool,
}

/// The local names of `forward`, and the number of names that refer to each value.
#[derive(Default)]
pub(super) struct LocalNames<'a> {
    positions: FxHashMap<Cow<'a, str>, usize>,
    entries: Vec<ScopeEntry>,
    /// For each value, the number of names that keep it alive. Parameters do not count.
    references: Vec<u32>,
    /// For each value, the node after which it is free.
    freed_after: Vec<Option<NodeId>>,
    /// Possible frees in program order. Those that `freed_after` does not confirm were revoked.
    frees: Vec<(NodeId, ValueId)>,
    /// For each base of generated names, the next suffix.
    suffixes: FxHashMap<Box<str>, u32>,
}

/// Approximate number of bytes of text for each local name of a model.
const BYTES_PER_NAME: usize = 256;

impl<'a> LocalNames<'a> {
    /// Returns a scope without names, with room for those of a text of so many bytes.
    pub(super) fn of_text(bytes: usize) -> Self {
        let names = bytes / BYTES_PER_NAME;
        let positions = FxHashMap::with_capacity_and_hasher(names, Default::default());
        Self { positions, entries: Vec::with_capacity(names), ..Self::default() }
    }

    /// Returns the entry of a name, and creates it if necessary.
    pub(super) fn local(&mut self, name: &'a str) -> Local<'a> {
        let position = self.position(Cow::Borrowed(name));
        Local { name, is_value_name: self.entries[position].is_value_name, position }
    }

    fn position(&mut self, name: Cow<'a, str>) -> usize {
        let next = self.entries.len();
        match self.positions.entry(name) {
            Slot::Occupied(known) => *known.get(),
            Slot::Vacant(vacant) => {
                let is_value_name = is_value_name(vacant.key());
                self.entries.push(ScopeEntry { binding: None, is_taken: false, is_value_name });
                *vacant.insert(next)
            }
        }
    }

    /// Adds a parameter. Returns false if a parameter of that name exists already.
    pub(super) fn add_parameter(&mut self, parameter: Local<'a>, value: ValueId) -> bool {
        self.add_value(value);
        let entry = &mut self.entries[parameter.position];
        entry.binding = Some(Binding { arg: value.into(), drops: None, is_reference: false });
        !std::mem::replace(&mut entry.is_taken, true)
    }

    /// Makes room for a value. Values are added in order.
    pub(super) fn add_value(&mut self, value: ValueId) {
        self.references.resize(value.index() + 1, 0);
        self.freed_after.resize(value.index() + 1, None);
    }

    /// Returns the value of a name. A value that is looked up was not free yet, even after `= None`.
    pub(super) fn get(&mut self, name: &str) -> Option<Arg> {
        let arg = self.entries[*self.positions.get(name)?].binding?.arg;
        if let Arg::Value(value) = arg {
            // The entry in `frees` stays. It is dropped at the end, because it no longer agrees with `freed_after`.
            self.freed_after[value.index()] = None;
        }
        Some(arg)
    }

    /// Returns a name for a new value: the wanted name if no value has it yet, or a name made from it or from the callee.
    pub(super) fn take_name(&mut self, wanted: Option<Local<'a>>, callee: Callee<'_>) -> Cow<'a, str> {
        if let Some(local) = wanted
            && !std::mem::replace(&mut self.entries[local.position].is_taken, true)
        {
            return local.name.into();
        }
        let last = || callee.target().rsplit('.').next().filter(|last| is_value_name(last));
        let base = wanted.map(|local| local.name).or_else(last).unwrap_or("value");
        // Models repeat a name thousands of times. Without the counter, each new name would try all earlier suffixes.
        let mut suffix = self.suffixes.get(base).copied().unwrap_or_default();
        let name = loop {
            let name = if suffix == 0 { base.to_owned() } else { format!("{base}_{suffix}") };
            suffix += 1;
            let position = self.position(name.clone().into());
            if !std::mem::replace(&mut self.entries[position].is_taken, true) {
                break name;
            }
        };
        self.suffixes.insert(base.into(), suffix);
        name.into()
    }

    /// Binds `name = arg`.
    pub(super) fn bind(&mut self, name: Local<'a>, arg: Arg) {
        if let Arg::Value(value) = arg {
            self.references[value.index()] += 1;
        }
        self.replace(name, Some(Binding { arg, drops: None, is_reference: arg.as_value().is_some() }));
    }

    /// Binds `name` to `arg` without keeping it alive. `name = None` then frees `drops`.
    pub(super) fn bind_weakly(&mut self, name: Local<'a>, arg: Arg, drops: Option<ValueId>) {
        self.replace(name, Some(Binding { arg, drops, is_reference: false }));
    }

    /// Handles `name = None` and `del name` after a node.
    pub(super) fn free(&mut self, name: Local<'a>, after: Option<NodeId>) {
        let Some(binding) = self.replace(name, None) else { return };
        if let (Some(value), Some(node)) = (binding.drops.or(binding.arg.as_value()), after)
            && self.references[value.index()] == 0
            // A second `= None` of an alias frees nothing more.
            && self.freed_after[value.index()].is_none()
        {
            self.freed_after[value.index()] = Some(node);
            self.frees.push((node, value));
        }
    }

    fn replace(&mut self, name: Local<'a>, binding: Option<Binding>) -> Option<Binding> {
        let old = std::mem::replace(&mut self.entries[name.position].binding, binding)?;
        if let (true, Arg::Value(value)) = (old.is_reference, old.arg) {
            self.references[value.index()] -= 1;
        }
        Some(old)
    }

    /// Records the frees in the graph.
    pub(super) fn record_frees(&mut self, builder: &mut Builder) {
        for &(node, value) in &self.frees {
            if self.freed_after[value.index()].take_if(|confirmed| *confirmed == node).is_some() {
                builder.free_after(node, value);
            }
        }
    }
}
