//! Matches of passes in a whole dataset.
//!
//! [`Corpus::open`] reads the graphs of a dataset or of sample folders, [`Corpus::canonical`] brings their calls into the form
//! of patterns, [`find`] looks for every pattern in every graph, and [`check`] has some of the matches judged: where types are
//! such that the pass refuses them, and where its results are wrong. A [`CoverageReport`] says all of it.
//!
//! Calls that are alike but for the values they refer to have one canonical form: PyTorch is asked once for each distinct
//! call, not once for each node, and nothing of a pass runs but in the workers of the judge.

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
