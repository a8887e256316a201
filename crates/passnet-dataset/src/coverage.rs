//! Matches of passes in a whole dataset.
//!
//! [`Corpus::open`] reads the graphs of a dataset or of sample folders. [`Corpus::canonical`] changes their calls to the form of
//! patterns. [`find`] searches every pattern in every graph. [`check()`] lets a judge evaluate some of the matches, to find types
//! that the pass refuses and matches where its results are wrong. A [`CoverageReport`] contains all results.
//!
//! Calls that differ only in the values they refer to have one canonical form. So PyTorch is asked once for each distinct call,
//! and not once for each node. Code of a pass runs only in the workers of the judge.

mod calls;
mod check;
mod conflicts;
mod corpus;
mod report;
mod search;
mod site;
mod text;

pub use self::{
    check::{CheckOptions, Judge, JudgedMatch, check},
    conflicts::{Conflict, conflicts},
    corpus::{Corpus, CorpusError, CorpusGraph},
    report::{COVERAGE_VERSION, CoverageReport, MatchOutcome, PassCoverage, Seconds, TypeClass},
    search::{NamedPattern, Places, find},
};
