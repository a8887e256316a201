//! Ends of rows: the elements that are left after the whole registers.

/// Way in which the end of a row is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// In a register that ends where the row ends. Its first elements are computed a second time, with the same results.
    Again,
    /// In the first lanes of a register.
    FirstLanes,
    OneByOne,
}
