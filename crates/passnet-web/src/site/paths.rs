//! Pages of a site and their paths.

use super::{model::Site, page_id::PageId};

impl Site {
    /// Returns all pages of a static site. Of a pair of runs, the better one comes second.
    pub fn page_ids(&self) -> Vec<PageId> {
        let mut pages = vec![PageId::Index];
        pages.extend((0..self.boards.len()).map(PageId::Board));
        for (index, suite) in self.suites.iter().enumerate() {
            pages.push(PageId::Figures(index));
            pages.extend((0..self.suite_parts(index)).map(|part| PageId::Suite(index, part)));
            pages.extend((0..suite.tasks.len()).map(|task| PageId::Task(index, task)));
            for (rank, &after) in suite.runs.iter().enumerate() {
                pages.extend(suite.runs[rank + 1..].iter().map(|&before| PageId::Compare(before, after)));
            }
        }
        for (run, entry) in self.entries.iter().enumerate() {
            pages.push(PageId::Run(run));
            for &task in entry.tasks.keys() {
                pages.extend((0..self.evaluation_parts(run, task)).map(|part| PageId::Evaluation(run, task, part)));
            }
        }
        pages.extend((0..self.authors.len()).map(PageId::Author));
        pages.extend((!self.authors.is_empty()).then_some(PageId::Authors));
        pages.extend((0..self.trajectories.len()).map(PageId::Trajectory));
        pages.extend((!self.trajectories.is_empty()).then_some(PageId::Trajectories));
        pages.extend((0..self.dataset_parts()).map(PageId::Dataset));
        pages.extend((0..self.samples.len()).map(PageId::Sample));
        pages.extend((0..self.bisected.len()).map(PageId::Bisected));
        pages.extend((!self.bisected.is_empty()).then_some(PageId::Bisections));
        pages.extend((!self.trainings.is_empty()).then_some(PageId::Training));
        pages.extend(self.published.then_some(PageId::Published));
        pages
    }

    /// Returns the path of the bundle of a run below the site's root, e.g. `bundle/fuse.pnb`.
    pub fn bundle_path(&self, run: usize) -> String {
        format!("bundle/{}.pnb", self.entries[run].slug)
    }

    /// Returns the run whose bundle is at a path, if the site has bundles.
    pub fn bundle_at(&self, path: &str) -> Option<usize> {
        let slug = path.strip_prefix("bundle/")?.strip_suffix(".pnb")?;
        self.run_named(slug).filter(|_| self.has_bundles)
    }

    /// Returns whether the site has a page: indices and parts are in range, and compared runs are of one suite.
    fn has(&self, place: PageId) -> bool {
        match place {
            PageId::Index => true,
            PageId::Board(board) => board < self.boards.len(),
            PageId::Suite(suite, part) => part < self.suite_parts(suite),
            PageId::Figures(suite) => suite < self.suites.len(),
            PageId::Run(run) => run < self.runs.len(),
            PageId::Task(suite, task) => task < self.suites[suite].tasks.len(),
            PageId::Evaluation(run, task, part) => part < self.evaluation_parts(run, task),
            PageId::Compare(before, after) => {
                before != after && self.entries[before].suite == self.entries[after].suite
            }
            PageId::Author(index) => index < self.authors.len(),
            PageId::Authors => !self.authors.is_empty(),
            PageId::Trajectory(index) => index < self.trajectories.len(),
            PageId::Trajectories => !self.trajectories.is_empty(),
            PageId::Dataset(part) => part < self.dataset_parts(),
            PageId::Sample(index) => index < self.samples.len(),
            PageId::Published => self.published,
            PageId::Live => self.is_live,
            PageId::Bisected(index) => index < self.bisected.len(),
            PageId::Bisections => !self.bisected.is_empty(),
            PageId::Training => !self.trainings.is_empty(),
        }
    }
}

/// Separates the number of a part from the name of its page; no name has it.
const PART: char = '~';

impl PageId {
    /// Returns the path below the site's root, e.g. `task/demo-1/gelu.html`.
    pub fn path(self, site: &Site) -> String {
        let part = |part: usize| if part == 0 { String::new() } else { format!("{PART}{}", part + 1) };
        match self {
            Self::Index => "index.html".to_owned(),
            Self::Suite(suite, at) => format!("suite/{}{}.html", site.suites[suite].slug, part(at)),
            Self::Board(board) => format!("board/{}.html", site.board_slugs[board]),
            Self::Figures(suite) => format!("figures/{}.html", site.suites[suite].slug),
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
            Self::Author(index) => format!("author/{}.html", site.authors[index].slug),
            Self::Authors => "authors.html".to_owned(),
            Self::Trajectory(index) => format!("trajectory/{}.html", site.trajectory_slugs[index]),
            Self::Trajectories => "trajectories.html".to_owned(),
            Self::Dataset(at) => format!("dataset{}.html", part(at)),
            Self::Sample(index) => format!("sample/{}.html", site.samples[index].slug),
            Self::Published => "published.html".to_owned(),
            Self::Live => "live.html".to_owned(),
            Self::Bisected(index) => format!("failing/{}.html", site.bisected_slugs[index]),
            Self::Bisections => "failing.html".to_owned(),
            Self::Training => "training.html".to_owned(),
        }
    }

    /// Returns the page at a path, if there is one.
    pub fn at(path: &str, site: &Site) -> Option<Self> {
        if path.is_empty() {
            return Some(Self::Index);
        }
        let parts: Vec<&str> = path.strip_suffix(".html")?.split('/').collect();
        let place = match parts.as_slice() {
            ["index"] => Self::Index,
            ["published"] => Self::Published,
            ["live"] => Self::Live,
            ["failing"] => Self::Bisections,
            ["failing", name] => Self::Bisected(site.bisected_slugs.iter().position(|slug| slug == name)?),
            ["training"] => Self::Training,
            ["trajectories"] => Self::Trajectories,
            ["suite", name] => {
                let (name, part) = split_part(name)?;
                Self::Suite(site.suite_named(name)?, part)
            }
            ["board", name] => Self::Board(site.board_slugs.iter().position(|slug| slug == name)?),
            ["figures", name] => Self::Figures(site.suite_named(name)?),
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
            ["authors"] => Self::Authors,
            ["author", name] => Self::Author(site.authors.iter().position(|author| author.slug == *name)?),
            ["trajectory", name] => Self::Trajectory(site.trajectory_slugs.iter().position(|slug| slug == name)?),
            ["sample", name] => Self::Sample(site.sample_named(name)?),
            [name] => match split_part(name)? {
                ("dataset", part) => Self::Dataset(part),
                _ => return None,
            },
            _ => return None,
        };
        site.has(place).then_some(place)
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
