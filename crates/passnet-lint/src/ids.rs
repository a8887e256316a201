//! Numbers of files, functions and containers of a directory.

/// Index into the table of functions of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FunctionId(pub(super) usize);

/// Index into the table of modules (files) of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleId(pub(super) usize);

/// Index into the heap: the place in the text that makes a list or dictionary stands for all that it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SiteId(pub(super) usize);
