/// Relation of a result's memory to the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Memory that no argument shares.
    Fresh,
    /// Fresh memory for several operands; possibly a view if there is only one operand (`einsum("ij->ji", x)`).
    FreshOfSeveral,
    /// A view or a part of the first argument.
    View,
    /// A view of the first argument as a method, fresh memory as a function (`unfold`).
    ViewAsMethod,
    /// The first argument, a view of the first argument, or a copy, depending on types and layouts.
    ViewOrCopy,
    /// Possibly shared with any argument.
    Unknown,
}

/// Treatment of results by version 1 of the [hashes](crate::hash), and by matching. It is part of the definition of a hash, so it is not
/// changed when an entry of [`Memory`] is corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedMemory {
    /// Decided by the kind of the callee.
    ByCallee,
    /// Fresh memory.
    Fresh,
    /// Shared with the first argument.
    Alias,
}

/// Properties of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Name without its namespace, such as `relu`.
    pub name: &'static str,
    /// Memory of the result.
    pub memory: Memory,
    /// Memory of the result for hashes and matching.
    pub hashed_memory: HashedMemory,
    /// Position of the parameter `inplace`; `None` if the operation has no such parameter.
    pub inplace_parameter: Option<usize>,
    /// True for an operation that adds up many values in an order that depends on the library.
    pub is_reduction: bool,
    /// True for a product of matrices or a convolution that a library computes.
    pub is_product: bool,
    pub is_convolution: bool,
    /// True for an operation that PyTorch computes on CPUs with its own vector library and with a formula that amplifies the difference
    /// in the last place between this library and the C++ library.
    pub is_approximated: bool,
    /// True if the relative error of the result may be several times that of the operand.
    pub amplifies_errors: bool,
    /// True if eager mode launches several kernels for this operation, or one kernel with inefficient memory access.
    pub is_slow_alone: bool,
    /// True for a method that only makes a view and that a replacement function may call.
    pub is_plain_view: bool,
    /// True for an operation that reads about as many bytes as it writes, independent of the size of its first argument.
    pub is_gather: bool,
    /// True if no element of the result is below 0.
    pub is_non_negative: bool,
    /// True if each element takes several times as long as simple arithmetic.
    pub is_costly: bool,
    /// True for an operation that reads a window of the operand for each element.
    pub is_windowed: bool,
}

pub(super) const fn op(name: &'static str, memory: Memory) -> Op {
    Op {
        name,
        memory,
        hashed_memory: HashedMemory::ByCallee,
        inplace_parameter: None,
        is_reduction: false,
        is_product: false,
        is_convolution: false,
        is_approximated: false,
        amplifies_errors: false,
        is_slow_alone: false,
        is_plain_view: false,
        is_gather: false,
        is_non_negative: false,
        is_costly: false,
        is_windowed: false,
    }
}

impl Op {
    pub(super) const fn fresh_in_hashes(mut self) -> Self {
        self.hashed_memory = HashedMemory::Fresh;
        self
    }

    pub(super) const fn alias_in_hashes(mut self) -> Self {
        self.hashed_memory = HashedMemory::Alias;
        self
    }

    pub(super) const fn inplace_parameter(mut self, position: usize) -> Self {
        self.inplace_parameter = Some(position);
        self
    }

    pub(super) const fn reduction(mut self) -> Self {
        self.is_reduction = true;
        self
    }

    pub(super) const fn product(mut self) -> Self {
        self.is_product = true;
        self
    }

    pub(super) const fn convolution(mut self) -> Self {
        self.is_convolution = true;
        self
    }

    pub(super) const fn approximated(mut self) -> Self {
        self.is_approximated = true;
        self
    }

    pub(super) const fn amplifies_errors(mut self) -> Self {
        self.amplifies_errors = true;
        self
    }

    pub(super) const fn slow_alone(mut self) -> Self {
        self.is_slow_alone = true;
        self
    }

    pub(super) const fn plain_view(mut self) -> Self {
        self.is_plain_view = true;
        self
    }

    pub(super) const fn gather(mut self) -> Self {
        self.is_gather = true;
        self
    }

    pub(super) const fn non_negative(mut self) -> Self {
        self.is_non_negative = true;
        self
    }

    pub(super) const fn costly(mut self) -> Self {
        self.is_costly = true;
        self
    }

    pub(super) const fn windowed(mut self) -> Self {
        self.is_windowed = true;
        self
    }
}
