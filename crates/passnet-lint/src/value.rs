//! Values of host expressions: the lattice of the data flow.

use std::collections::BTreeSet;

use super::{
    evidence::RecordedFinding,
    ids::{ClassId, FunctionId, ModuleId, SiteId},
};

/// Deepest nesting of tuples that is followed.
const MAX_TUPLE_DEPTH: usize = 4;
/// Largest number of parts of a tuple that is followed, counting parts of parts.
const MAX_TUPLE_PARTS: usize = 256;
/// Largest number of sites or functions of one value that are followed.
const MAX_CHOICES: usize = 64;

/// An abstract value. `Nothing` is the bottom of the lattice, `Mixed` is its top. `Tensor` stands for "tensor or number": a value
/// that is not known to be plain is treated as a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// No value reaches this place, or none so far.
    Nothing,
    /// Plain data: numbers, strings, `None`, types, shapes, devices, and tuples of these. It gives no access to tensors or
    /// functions.
    Plain,
    /// A value from the dictionary of a launch's arguments. It may be used only for arithmetic in a grid function.
    LaunchArgument,
    /// A tensor, or a number that may be one.
    Tensor,
    /// A tuple of known length.
    Tuple(Vec<Self>),
    /// A list or dictionary that was made at one of these sites. `fresh` is true while only the function that made it can hold
    /// it.
    Items { sites: BTreeSet<SiteId>, fresh: bool },
    /// One of these functions of the directory.
    Functions(BTreeSet<FunctionId>),
    /// A Triton kernel.
    Kernel,
    /// A kernel with its grid: `kernel[grid]`.
    Launcher,
    /// A native kernel, or the module of several.
    Native,
    /// A tensor with its shape and strides for a launch. Nothing reads its attributes, which can be lists.
    Descriptor,
    /// A dotted name of an imported package, with aliases resolved. Whether it may be used is checked later.
    Path(String),
    /// A file of the directory as a module.
    Module(ModuleId),
    /// A builtin function by name.
    Builtin(&'static str),
    /// A context manager for `with`.
    Context,
    /// A class of the directory.
    Class(ClassId),
    /// An instance of a class of the directory. Nothing changes it once it is made.
    Record(ClassId),
    /// Unknown because of the finding that this evidence stands for.
    Reported(RecordedFinding),
    /// Values of kinds that cannot be joined.
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

    /// Returns the value as another function sees it: its containers may no longer be changed.
    pub(super) fn shared(self) -> Self {
        match self {
            Self::Items { sites, .. } => Self::Items { sites, fresh: false },
            Self::Tuple(elements) => Self::Tuple(elements.into_iter().map(Self::shared).collect()),
            other => other,
        }
    }

    /// Returns whether a value and all of its parts are plain data that cannot be changed.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Self::Plain | Self::Nothing => true,
            Self::Tuple(elements) => elements.iter().all(Self::is_constant),
            _ => false,
        }
    }

    /// Returns the least value that covers both. The join is associative and commutative, and chains of joins are short, so the
    /// fixed point that is computed with it is reached.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Nothing, value) | (value, Self::Nothing) => value,
            // The smaller evidence is kept, so that the join is commutative.
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
            // Plain data gives no access to anything, so it may count as the other kind: `None` or a tensor, `None` or a tuple.
            (Self::Plain, value) | (value, Self::Plain)
                if matches!(
                    value,
                    Self::Tensor
                        | Self::Tuple(_)
                        | Self::Functions(_)
                        | Self::Kernel
                        | Self::Native
                        | Self::Descriptor
                        | Self::Items { .. }
                        | Self::Record(_)
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
            Self::Descriptor => "a tensor descriptor".to_owned(),
            Self::Native => "a native kernel".to_owned(),
            Self::Path(path) => format!("`{path}`"),
            Self::Module(_) => "a module".to_owned(),
            Self::Builtin(name) => format!("`{name}`"),
            Self::Context => "a context manager".to_owned(),
            Self::Class(_) => "a class".to_owned(),
            Self::Record(_) => "an instance of a class".to_owned(),
        }
    }
}
