//! Identity of a page.

/// A page of a site. Numbers are indices into the site's lists; pages of several parts count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageId {
    /// The leaderboard.
    Index,
    /// Runs under the same conditions, ranked.
    Board(usize),
    /// All tasks of a suite.
    Suite(usize, usize),
    /// Figures and costs of the runs over a suite.
    Figures(usize),
    Run(usize),
    /// A task of a suite: suite, task.
    Task(usize, usize),
    /// A run on a task: run, task, part.
    Evaluation(usize, usize, usize),
    /// Two runs over one suite.
    Compare(usize, usize),
    /// An author over time.
    Author(usize),
    /// The list of authors.
    Authors,
    /// The conversation of an agent.
    Trajectory(usize),
    /// The list of conversations.
    Trajectories,
    /// Counts over a dataset, and its samples: part.
    Dataset(usize),
    /// A sample of the dataset.
    Sample(usize),
    /// Published figures of the PassNet paper.
    Published,
    /// The smallest failing part of a graph.
    Bisected(usize),
    /// The list of failing parts.
    Bisections,
    /// Curves of training runs.
    Training,
    /// Runs that are being written; only a server has it.
    Live,
}

impl PageId {
    /// Returns the relative path from this page to the root: `../` for each folder.
    pub(crate) fn up(self) -> &'static str {
        match self {
            Self::Index
            | Self::Authors
            | Self::Dataset(_)
            | Self::Bisections
            | Self::Live
            | Self::Published
            | Self::Training
            | Self::Trajectories => "",
            Self::Suite(..)
            | Self::Author(_)
            | Self::Bisected(_)
            | Self::Board(_)
            | Self::Figures(_)
            | Self::Run(_)
            | Self::Sample(_)
            | Self::Trajectory(_) => "../",
            Self::Task(..) | Self::Evaluation(..) | Self::Compare(..) => "../../",
        }
    }
}
