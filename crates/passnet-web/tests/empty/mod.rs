//! An archive without passes, trials and graphs.

use passnet_graph::Graph;
use passnet_record::{ContentId, GraphId};
use passnet_web::{Archive, GraphView, PassSet, PassText, Trials};

/// The archive of runs of which only the verdicts were kept.
pub(crate) struct Empty;

impl Archive for Empty {
    fn passes(&self, _: usize, _: &PassSet) -> Vec<PassText> {
        Vec::new()
    }

    fn trials(&self, _: usize, _: &ContentId) -> Option<Trials> {
        None
    }

    fn graph(&self, _: &str, _: &str, _: &GraphId) -> Option<GraphView> {
        None
    }

    fn parsed(&self, _: &str) -> Option<Graph> {
        None
    }

    fn rewritten(&self, _: &str) -> Option<Graph> {
        None
    }
}
