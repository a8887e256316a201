//! Collections of trajectories: read, count, select, split, export.

mod export;
mod files;
mod lines;
mod plot;
mod read;
mod select;
mod split;
mod stats;
mod text;

pub use self::{
    export::{Format, example},
    files::{ExportError, dedup, export, filter, split},
    plot::page,
    read::{ReadError, read},
    select::{By, Criteria, Dedup, Selector},
    split::{EvaluationTasks, Overlap, SplitPart, SplitReport, Splitter},
    stats::{BestSoFar, OutcomeFlow, TrajectoryStats},
};
