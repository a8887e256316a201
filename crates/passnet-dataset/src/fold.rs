//! Folding: finds the ranges in op sequences that become classical subgraphs.
//!
//! There are two methods, both over op names in program order:
//! - [`fold_canonical`], the default: each graph is cut by a rule that looks only at a bounded neighbourhood, so the
//!   same code is cut the same way in every graph and batch. `docs/reference/folding.md` describes it.
//! - [`fold_compatible`]: the ranges of the published recursive folding, which folds all graphs of a batch together.

mod anchors;
mod canonical;
mod compatible;
mod mt19937;
mod range;
mod repeat;
mod runs;
mod tree;

pub use canonical::{CanonicalSettings, fold_canonical};
pub use compatible::{CompatibleSettings, FoldPolicy, fold_compatible};
pub use range::{BoundsError, OpRange, SizeBounds};
