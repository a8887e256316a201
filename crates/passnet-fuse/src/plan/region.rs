//! Regions: the parts of a graph that are rewritten. A region is a run of expressible nodes between nodes that stay.

use passnet_graph::{NodeId, TensorType, ValueId};

use crate::front::{
    expr::BufferId,
    tensor::{TensorId, Tensors},
};

/// A part of a graph that one call can replace: no path leads out of it and back into it, and its results are used only
/// after its last node.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// In program order.
    pub(crate) nodes: Vec<NodeId>,
    /// Values from outside. The position of a value is the number of its buffer.
    pub(crate) inputs: Vec<RegionInput>,
    /// Values that are used outside or returned.
    pub(crate) outputs: Vec<RegionOutput>,
    /// Inputs that are overwritten, by number of their buffer, with their new elements.
    pub(crate) updates: Vec<(BufferId, TensorId)>,
    /// True if nodes also change the memory of an input that is not overwritten, because nothing reads it later.
    pub(crate) leaves_out_a_change: bool,
    pub(crate) tensors: Tensors,
}

/// A value from outside.
#[derive(Clone, Debug)]
pub(crate) struct RegionInput {
    pub(crate) value: ValueId,
    pub(crate) ty: TensorType,
    /// True for an input of the graph; false if a node of the graph computes it.
    pub(crate) is_given: bool,
}

/// A result of a region.
#[derive(Clone, Debug)]
pub(crate) struct RegionOutput {
    pub(crate) value: ValueId,
    pub(crate) tensor: TensorId,
    pub(crate) ty: TensorType,
    /// The input that this result overwrites, if eager mode computes in place.
    pub(crate) input: Option<BufferId>,
}

impl Region {
    /// Returns the results that need their own memory.
    pub(crate) fn allocated(&self) -> impl Iterator<Item = &RegionOutput> {
        self.outputs.iter().filter(|output| output.input.is_none())
    }
}

/// True if a region may return a copy where eager mode returns a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// No: the view costs nothing.
    Never,
    /// Yes, unless the graph returns it as a view of one of its inputs. Used for graphs in which nothing else can be rewritten.
    Unseen,
}
