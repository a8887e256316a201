//! Content of the pages in addition to runs: the graphs of suites with their types, a dataset, trajectories.

mod dataset;
mod graphs;
mod trajectories;

pub(crate) use self::{dataset::dataset_view, graphs::suite_graphs, trajectories::trajectories};
