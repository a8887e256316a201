use std::borrow::Cow;

use passnet_graph::{Arg, Builder, NodeId, ValueId, names::is_value_name};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy)]
struct Binding {
    /// A value, or a constant without elements.
    arg: Arg,
    /// The value that `name = None` frees, where that is not `arg`: after `x += y` it is what `x` was before, after
    /// `setitem = x` it is the node.
    drops: Option<ValueId>,
    /// Whether `arg` is a value that this name keeps alive.
    is_reference: bool,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    binding: Option<Binding>,
    /// Whether a value is called by this name.
    is_taken: bool,
}

/// The local names of `forward`, and how many of them refer to each value.
#[derive(Default)]
pub(super) struct Scope<'a> {
    entries: FxHashMap<Cow<'a, str>, Entry>,
    /// By value: how many names keep it alive. Parameters do not count.
    references: Vec<u32>,
    /// By value: the node after which it is free.
    freed_after: Vec<Option<NodeId>>,
    /// Candidates in program order; those that `freed_after` does not confirm were taken back.
    frees: Vec<(NodeId, ValueId)>,
    /// For each base of generated names, the last suffix.
    suffixes: FxHashMap<Box<str>, u32>,
}

impl<'a> Scope<'a> {
    /// Adds a parameter; false if there is one of that name already.
    pub(super) fn add_parameter(&mut self, name: &'a str, value: ValueId) -> bool {
        self.add_value(value);
        let binding = Some(Binding { arg: value.into(), drops: None, is_reference: false });
        self.entries.insert(name.into(), Entry { binding, is_taken: true }).is_none()
    }

    /// Makes room for a value; values come in order.
    pub(super) fn add_value(&mut self, value: ValueId) {
        self.references.resize(value.index() + 1, 0);
        self.freed_after.resize(value.index() + 1, None);
    }

    /// What a name stands for. A value that is looked up was not yet free, whatever `= None` said.
    pub(super) fn get(&mut self, name: &str) -> Option<Arg> {
        let arg = self.entries.get(name)?.binding?.arg;
        if let Arg::Value(value) = arg {
            self.freed_after[value.index()] = None;
        }
        Some(arg)
    }

    /// A name for a new value: the one wanted, if no value is called so yet, or one made from `base`.
    pub(super) fn take_name(&mut self, wanted: Option<&'a str>, base: &str) -> Cow<'a, str> {
        if let Some(name) = wanted {
            let entry = self.entries.entry(name.into()).or_default();
            if !std::mem::replace(&mut entry.is_taken, true) {
                return name.into();
            }
        }
        let base = wanted.unwrap_or(if is_value_name(base) { base } else { "value" });
        let suffix = self.suffixes.entry(base.into()).or_default();
        loop {
            let name = if *suffix == 0 { base.to_owned() } else { format!("{base}_{suffix}") };
            *suffix += 1;
            let entry = self.entries.entry(name.clone().into()).or_default();
            if !std::mem::replace(&mut entry.is_taken, true) {
                return name.into();
            }
        }
    }

    /// `name = arg`.
    pub(super) fn bind(&mut self, name: &'a str, arg: Arg) {
        if let Arg::Value(value) = arg {
            self.references[value.index()] += 1;
        }
        self.replace(name, Some(Binding { arg, drops: None, is_reference: arg.as_value().is_some() }));
    }

    /// `name` refers to `arg` without keeping it alive, and `name = None` frees `drops`.
    pub(super) fn bind_weakly(&mut self, name: &'a str, arg: Arg, drops: Option<ValueId>) {
        self.replace(name, Some(Binding { arg, drops, is_reference: false }));
    }

    /// `name = None`, or `del name`, after a node.
    pub(super) fn free(&mut self, name: &'a str, after: Option<NodeId>) {
        let Some(binding) = self.replace(name, None) else { return };
        if let (Some(value), Some(node)) = (binding.drops.or(binding.arg.as_value()), after)
            && self.references[value.index()] == 0
            && self.freed_after[value.index()].is_none()
        {
            self.freed_after[value.index()] = Some(node);
            self.frees.push((node, value));
        }
    }

    fn replace(&mut self, name: &'a str, binding: Option<Binding>) -> Option<Binding> {
        let entry = self.entries.entry(name.into()).or_default();
        let old = std::mem::replace(&mut entry.binding, binding)?;
        if let (true, Arg::Value(value)) = (old.is_reference, old.arg) {
            self.references[value.index()] -= 1;
        }
        Some(old)
    }

    /// Hands the frees to the graph.
    pub(super) fn record_frees(&mut self, builder: &mut Builder) {
        for &(node, value) in &self.frees {
            if self.freed_after[value.index()].take_if(|confirmed| *confirmed == node).is_some() {
                builder.free_after(node, value);
            }
        }
    }
}
