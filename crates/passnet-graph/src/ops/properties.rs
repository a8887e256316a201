/// Relation of a result's memory to the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Memory that no argument shares.
    Fresh,
    /// Fresh memory for several operands; possibly a view of a single one (`einsum("ij->ji", x)`).
    FreshOfSeveral,
    /// A view or a part of the first argument.
    View,
    /// A view of the first argument as a method, fresh memory as a function (`unfold`).
    ViewAsMethod,
    /// The first argument, a view of it or a copy, depending on types and layouts.
    ViewOrCopy,
    /// Possibly shared with any argument.
    Unknown,
}

/// Treatment of results by version 1 of the [hashes](crate::hash), and by matching. The lists are part of the
/// definition of a hash, so they do not follow later insights about [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedMemory {
    /// Judged by the kind of the callee.
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
    /// Position of the parameter `inplace`.
    pub inplace_parameter: Option<usize>,
    /// Adds up many values in an order that libraries choose.
    pub is_reduction: bool,
    /// A product of matrices or a convolution, computed by a library.
    pub is_product: bool,
    pub is_convolution: bool,
    /// Computed by PyTorch's own vector library on CPUs, with a formula that enlarges the last place in which that library
    /// differs from C++.
    pub is_approximated: bool,
    /// Relative errors of the operand may come out several times as large.
    pub amplifies_errors: bool,
    /// Eager mode launches several kernels for it, or one that reads memory badly.
    pub is_slow_alone: bool,
    /// A method that only views and that a replacement function may call.
    pub is_plain_view: bool,
    /// Reads about as much as it writes, independent of the size of its first argument.
    pub is_gather: bool,
    /// No element of the result is below 0.
    pub is_non_negative: bool,
    /// Takes several times as long as arithmetic for each element.
    pub is_costly: bool,
    /// Reads a window of the operand for each element.
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
