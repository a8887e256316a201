//! Results of stages as text for people.

use std::fmt;

use passnet_record::{TextTable, counted};

use crate::{curate::Curated, dedup::Deduplicated, import::Transfer, mine::Mined};

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (samples, tasks) = (counted(self.samples, "sample"), counted(self.tasks, "task"));
        let (present, present_tasks) = (counted(self.present, "sample"), counted(self.present_tasks, "task"));
        write!(f, "{samples} and {tasks} written; {present} and {present_tasks} already existed")
    }
}

impl fmt::Display for Mined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in {} of {}; {:.1}% of {} covered",
            counted(self.subgraphs, "distinct subgraph"),
            counted(self.ranges, "range"),
            counted(self.graphs, "graph"),
            100.0 * self.covered as f64 / self.ops.max(1) as f64,
            counted(self.ops, "op")
        )
    }
}

impl fmt::Display for Curated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} for evaluation, {} for training; {} withheld from training, where their structure is evaluated",
            counted(self.eval, "task"),
            self.train,
            counted(self.withheld, "graph")
        )
    }
}

impl Deduplicated {
    /// Returns the distinct rows of each rung.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new(&["equal by", "distinct"], 1);
        for (rung, distinct) in &self.distinct {
            table.push([rung.name().to_owned(), distinct.to_string()]);
        }
        table
    }
}
