use passnet_record::DType;

use crate::{ArgRange, StrId, ValueId};

/// One argument of a call, or one element of a nested argument. It has 16 bytes. Strings and elements are in the pools of the graph that
/// the argument belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// A value of the graph.
    Value(ValueId),
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float, `inf` and `nan` included.
    Float(f64),
    Str(StrId),
    /// `[a, b]`.
    List(ArgRange),
    /// `(a, b)`.
    Tuple(ArgRange),
    /// `slice(start, stop, step)`, which has three elements.
    Slice(ArgRange),
    /// `...`.
    Ellipsis,
    /// A dtype such as `torch.float32`.
    DType(DType),
    /// `torch.device(...)`.
    Device(DeviceConstant),
    /// Any other dotted constant below `torch.`, e.g. `torch.strided`.
    Attr(StrId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceConstant {
    /// Kind of the device: `cpu`, `cuda`, `meta` ...
    pub kind: StrId,
    /// Ordinal among the devices of this kind; `None` for the default device.
    pub index: Option<u32>,
}

impl Arg {
    /// Returns the elements of a list, tuple or slice; `None` for any other argument.
    pub const fn elements(self) -> Option<ArgRange> {
        match self {
            Self::List(range) | Self::Tuple(range) | Self::Slice(range) => Some(range),
            _ => None,
        }
    }

    /// Returns whether the argument is an integer or a finite float.
    pub const fn is_number(self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Float(value) => value.is_finite(),
            _ => false,
        }
    }

    /// Returns the value, if the argument itself is a value. Values in lists and tuples are not searched.
    pub const fn as_value(self) -> Option<ValueId> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }
}

impl From<ValueId> for Arg {
    fn from(value: ValueId) -> Self {
        Self::Value(value)
    }
}

// A variant that owned its text or its elements would double the size and need a separate allocation.
const _: () = assert!(size_of::<Arg>() == 16);
