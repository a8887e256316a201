//! Values of host expressions: the lattice of the data flow.

use std::collections::BTreeSet;

use super::{
    evidence::RecordedFinding,
    ids::{FunctionId, ModuleId, SiteId},
};

/// Tuples nested deeper than this are not followed.
const MAX_TUPLE_DEPTH: usize = 4;
/// Tuples with more parts than this, parts of parts included, are not followed.
const MAX_TUPLE_PARTS: usize = 256;
/// A value that may come from more sites, or be one of more functions, is not followed.
const MAX_CHOICES: usize = 64;

/// An abstract value. `Nothing` is the bottom of the lattice, `Mixed` its top; `Tensor` stands for "tensor or number",
/// so that a value not known to be plain is treated as a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// No value reaches here (yet).
    Nothing,
    /// Data without power: numbers, strings, `None`, types, shapes, devices, tuples of such.
    Plain,
    /// A value from the dictionary of a launch's arguments: fit for arithmetic in a grid function, nothing else.
    LaunchArgument,
    /// A tensor, or a number that may be one.
    Tensor,
    /// A tuple of known length.
    Tuple(Vec<Self>),
    /// A list or dictionary made at one of these sites; `fresh` while only the function that made it can hold it.
    Items { sites: BTreeSet<SiteId>, fresh: bool },
    /// One of these functions of the directory.
    Functions(BTreeSet<FunctionId>),
    /// A Triton kernel.
    Kernel,
    /// A kernel with its grid: `kernel[grid]`.
    Launcher,
    /// A native kernel, or the module of several.
    Native,
    /// A dotted name of an imported package, aliases resolved, not yet judged.
    Path(String),
    /// A file of the directory as a module.
    Module(ModuleId),
    /// A builtin function by name.
    Builtin(&'static str),
    /// A context manager for `with`.
    Context,
    /// Unknown, because of the finding that is recorded under this evidence.
    Reported(RecordedFinding),
    /// Values of kinds that do not go together.
    Mixed,
}

impl Value {
    /// Returns a tuple, if it is not too large to follow.
    pub(super) fn tuple(elements: Vec<Self>) -> Self {
        let tuple = Self::Tuple(elements);
        match tuple.parts(MAX_TUPLE_DEPTH) {
            Some(parts) if parts <= MAX_TUPLE_PARTS => tuple,
            _ => Self::Mixed,
        }
    }

    /// Returns a container made at `site` by the running function.
    pub(super) fn fresh(site: SiteId) -> Self {
        Self::Items { sites: BTreeSet::from([site]), fresh: true }
    }

    /// Returns a function of the directory.
    pub(super) fn function(id: FunctionId) -> Self {
        Self::Functions(BTreeSet::from([id]))
    }

    /// Returns the number of parts of a tuple, parts of parts included; `None` if it nests deeper than `depth`.
    fn parts(&self, depth: usize) -> Option<usize> {
        let Self::Tuple(elements) = self else { return Some(1) };
        let depth = depth.checked_sub(1)?;
        elements.iter().try_fold(1, |parts, element| Some(parts + element.parts(depth)?))
    }

    /// Adds the evidence of all parts that a finding made unknown.
    pub(super) fn reasons(&self, reasons: &mut BTreeSet<RecordedFinding>) {
        match self {
            Self::Reported(evidence) => _ = reasons.insert(*evidence),
            Self::Tuple(elements) => elements.iter().for_each(|element| element.reasons(reasons)),
            _ => {}
        }
    }

    /// Returns the same value as seen from elsewhere: its containers are no longer the reader's own.
    pub(super) fn shared(self) -> Self {
        match self {
            Self::Items { sites, .. } => Self::Items { sites, fresh: false },
            Self::Tuple(elements) => Self::Tuple(elements.into_iter().map(Self::shared).collect()),
            other => other,
        }
    }

    /// Returns whether this is data without power through and through, and unchangeable.
    fn is_constant(&self) -> bool {
        match self {
            Self::Plain | Self::Nothing => true,
            Self::Tuple(elements) => elements.iter().all(Self::is_constant),
            _ => false,
        }
    }

    /// Returns the least value that covers both. Associative and commutative, and no chain of joins is long: the fixed point
    /// that is built on it ends.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Nothing, value) | (value, Self::Nothing) => value,
            // The lesser one, so that the join is commutative.
            (Self::Reported(a), Self::Reported(b)) => Self::Reported(a.min(b)),
            // The cause is already a finding. `Mixed` would lead to a second one about the same mistake.
            (reported @ Self::Reported(_), _) | (_, reported @ Self::Reported(_)) => reported,
            (Self::Tuple(a), Self::Tuple(b)) if a.len() == b.len() => {
                Self::tuple(a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect())
            }
            (a @ Self::Tuple(_), b @ Self::Tuple(_)) => {
                if a.is_constant() && b.is_constant() {
                    Self::Plain
                } else {
                    Self::Mixed
                }
            }
            (a @ Self::Tuple(_), b) if a.is_constant() => Self::Plain.join(b),
            (a, b @ Self::Tuple(_)) if b.is_constant() => a.join(Self::Plain),
            (Self::Items { sites: mut a, fresh: a_fresh }, Self::Items { sites: b, fresh: b_fresh }) => {
                a.extend(b);
                if a.len() > MAX_CHOICES { Self::Mixed } else { Self::Items { sites: a, fresh: a_fresh && b_fresh } }
            }
            (Self::Functions(mut a), Self::Functions(b)) => {
                a.extend(b);
                if a.len() > MAX_CHOICES { Self::Mixed } else { Self::Functions(a) }
            }
            (Self::LaunchArgument | Self::Plain, Self::LaunchArgument) | (Self::LaunchArgument, Self::Plain) => {
                Self::LaunchArgument
            }
            (Self::LaunchArgument, Self::Tensor) | (Self::Tensor, Self::LaunchArgument) => Self::Tensor,
            // Plain data has no power, so to take it for one of these grants none: `None`, or a tensor; `None`, or a tuple.
            (Self::Plain, value) | (value, Self::Plain)
                if matches!(
                    value,
                    Self::Tensor
                        | Self::Tuple(_)
                        | Self::Functions(_)
                        | Self::Kernel
                        | Self::Native
                        | Self::Items { .. }
                ) =>
            {
                value
            }
            _ => Self::Mixed,
        }
    }

    /// Returns a name for the kind of value, with an article.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Nothing => "a value that never exists".to_owned(),
            Self::Reported(_) | Self::Mixed => "a value of unknown kind".to_owned(),
            Self::Plain => "a number, string or other plain value".to_owned(),
            Self::LaunchArgument => "a launch argument".to_owned(),
            Self::Tensor => "a tensor".to_owned(),
            Self::Tuple(_) => "a tuple".to_owned(),
            Self::Items { .. } => "a list or dictionary".to_owned(),
            Self::Functions(_) => "a function".to_owned(),
            Self::Kernel => "a kernel".to_owned(),
            Self::Launcher => "a launch".to_owned(),
            Self::Native => "a native kernel".to_owned(),
            Self::Path(path) => format!("`{path}`"),
            Self::Module(_) => "a module".to_owned(),
            Self::Builtin(name) => format!("`{name}`"),
            Self::Context => "a context manager".to_owned(),
        }
    }
}
