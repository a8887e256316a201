//! Pages and their paths.

use super::Site;

/// A page of a site. Numbers are indices into the site's lists; pages of several parts count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The leaderboard.
    Index,
    /// All tasks of a suite.
    Suite(usize, usize),
    /// A run.
    Run(usize),
    /// A task of a suite: suite, task.
    Task(usize, usize),
    /// What a run did on a task: run, task, part.
    Evaluation(usize, usize, usize),
    /// Two runs over one suite.
    Compare(usize, usize),
    /// The conversation behind passes.
    Trajectory(usize),
    /// The list of conversations.
    Trajectories,
    /// Counts over a dataset.
    Dataset,
}

/// Separates the number of a part from the name of its page; no name has it.
const PART: char = '~';

impl Place {
    /// The path below the site's root, e.g. `task/demo-1/gelu.html`.
    pub fn path(self, site: &Site) -> String {
        let part = |part: usize| if part == 0 { String::new() } else { format!("{PART}{}", part + 1) };
        match self {
            Self::Index => "index.html".to_owned(),
            Self::Suite(suite, at) => format!("suite/{}{}.html", site.suites[suite].slug, part(at)),
            Self::Run(run) => format!("run/{}.html", site.entries[run].slug),
            Self::Task(suite, task) => {
                let suite = &site.suites[suite];
                format!("task/{}/{}.html", suite.slug, suite.tasks[task].slug)
            }
            Self::Evaluation(run, task, at) => {
                let entry = &site.entries[run];
                let task = &site.suites[entry.suite].tasks[task];
                format!("evaluation/{}/{}{}.html", entry.slug, task.slug, part(at))
            }
            Self::Compare(before, after) => {
                format!("compare/{}/{}.html", site.entries[before].slug, site.entries[after].slug)
            }
            Self::Trajectory(index) => format!("trajectory/{}.html", site.trajectory_slugs[index]),
            Self::Trajectories => "trajectories.html".to_owned(),
            Self::Dataset => "dataset.html".to_owned(),
        }
    }

    /// The page at a path, if there is one.
    pub fn at(path: &str, site: &Site) -> Option<Self> {
        if path.is_empty() {
            return Some(Self::Index);
        }
        let parts: Vec<&str> = path.strip_suffix(".html")?.split('/').collect();
        let place = match parts.as_slice() {
            ["index"] => Self::Index,
            ["dataset"] => Self::Dataset,
            ["trajectories"] => Self::Trajectories,
            ["suite", name] => {
                let (name, part) = split_part(name)?;
                Self::Suite(site.suite_named(name)?, part)
            }
            ["run", name] => Self::Run(site.run_named(name)?),
            ["task", suite, task] => {
                let suite = site.suite_named(suite)?;
                Self::Task(suite, site.suites[suite].task_named(task)?)
            }
            ["evaluation", run, task] => {
                let ((task, part), run) = (split_part(task)?, site.run_named(run)?);
                Self::Evaluation(run, site.suites[site.entries[run].suite].task_named(task)?, part)
            }
            ["compare", before, after] => Self::Compare(site.run_named(before)?, site.run_named(after)?),
            ["trajectory", name] => Self::Trajectory(site.trajectory_slugs.iter().position(|slug| slug == name)?),
            _ => return None,
        };
        site.has(place).then_some(place)
    }

    /// The way from this page back to the root: `../` for each folder.
    pub(crate) fn up(self) -> &'static str {
        match self {
            Self::Index | Self::Dataset | Self::Trajectories => "",
            Self::Suite(..) | Self::Run(_) | Self::Trajectory(_) => "../",
            Self::Task(..) | Self::Evaluation(..) | Self::Compare(..) => "../../",
        }
    }
}

/// `name` and `name~3` as name and part.
fn split_part(name: &str) -> Option<(&str, usize)> {
    match name.split_once(PART) {
        None => Some((name, 0)),
        Some((name, part)) => {
            let number: usize = part.parse().ok()?;
            // Each part has one path.
            (number >= 2 && part == number.to_string()).then_some((name, number - 1))
        }
    }
}
