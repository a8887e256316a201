//! A class of data that a pass defines: its kind and its members.

use std::collections::BTreeMap;

use super::ids::{FunctionId, SiteId};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClassKind {
    /// An enumeration. Members are plain values.
    Enumeration,
    NamedTuple,
    Data,
    /// No base and no decorator: functions and constants, and the fields to which `__init__` assigns.
    Group,
    /// `torch.nn.Module`, of which only `forward` and the fields of `__init__` are used.
    Module,
    /// `torch.autograd.Function` with nothing but `forward`.
    Autograd,
    /// An exception without members.
    Error,
}

/// Source of the first argument of a method.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiver {
    Instance,
    Class,
    Nothing,
    /// Called when the attribute is read.
    Property,
}

pub(super) struct CheckedClass<'a> {
    pub(super) kind: ClassKind,
    /// Each argument by position is for the field at that position.
    pub(super) in_order: bool,
    pub(super) fields: Vec<(&'a str, SiteId)>,
    pub(super) constants: BTreeMap<&'a str, SiteId>,
    pub(super) methods: BTreeMap<&'a str, (FunctionId, Receiver)>,
}

impl CheckedClass<'_> {
    pub(super) fn new(kind: ClassKind) -> Self {
        Self { kind, in_order: true, fields: Vec::new(), constants: BTreeMap::new(), methods: BTreeMap::new() }
    }

    pub(super) fn field(&self, name: &str) -> Option<SiteId> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, site)| *site)
    }

    /// Returns the site of a field or a constant.
    pub(super) fn member(&self, name: &str) -> Option<SiteId> {
        self.field(name).or_else(|| self.constants.get(name).copied())
    }
}
