//! Numbers of files, functions and containers of a directory.

/// Index into the table of functions of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FunctionId(pub(super) usize);

/// Index into the table of modules (files) of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleId(pub(super) usize);

/// Index into the table of classes of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClassId(pub(super) usize);

/// Index into the heap of containers. All lists or dictionaries that one place in the text makes have the same site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SiteId(pub(super) usize);
