//! A site: runs and what belongs to them, with a page for each thing and a path for each page.

mod place;
mod slug;

use std::collections::{BTreeMap, BTreeSet};

use passnet_record::Verdict;
use passnet_score::TaskScore;

pub use self::place::Place;
use self::slug::Slugs;
use crate::{Archive, DatasetView, RunView, TrajectoryView, pages};

/// Graphs that one evaluation page shows.
pub(crate) const GRAPHS_PER_PAGE: usize = 12;
/// Cells (tasks times runs) that one page of a suite shows.
const CELLS_PER_PAGE: usize = 2400;

/// A task of a suite.
#[derive(Debug)]
pub(crate) struct TaskEntry {
    pub(crate) id: String,
    pub(crate) slug: String,
    /// Graphs of which any run has a verdict, sorted.
    pub(crate) graphs: Vec<String>,
}

/// A suite that runs are of.
#[derive(Debug)]
pub(crate) struct SuiteEntry {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) slug: String,
    /// Its runs, best first.
    pub(crate) runs: Vec<usize>,
    pub(crate) tasks: Vec<TaskEntry>,
    by_slug: BTreeMap<String, usize>,
}

impl SuiteEntry {
    pub(crate) fn task_named(&self, slug: &str) -> Option<usize> {
        self.by_slug.get(slug).copied()
    }

    /// Name and version for people.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Tasks that one page shows.
    pub(crate) fn tasks_per_page(&self) -> usize {
        (CELLS_PER_PAGE / self.runs.len().max(1)).max(50)
    }
}

/// What a run has of one task.
#[derive(Debug, Default)]
struct OfTask {
    /// Indices of its verdicts, by graph.
    verdicts: Vec<usize>,
    /// Index of its score.
    score: Option<usize>,
}

/// A run within the site.
#[derive(Debug)]
pub(crate) struct RunEntry {
    pub(crate) slug: String,
    pub(crate) suite: usize,
    /// The author, and the run's name where that does not tell it apart.
    pub(crate) label: String,
    tasks: BTreeMap<usize, OfTask>,
}

/// Everything that pages are made of.
#[derive(Debug)]
pub struct Site {
    pub(crate) runs: Vec<RunView>,
    pub(crate) entries: Vec<RunEntry>,
    pub(crate) suites: Vec<SuiteEntry>,
    pub(crate) trajectories: Vec<TrajectoryView>,
    trajectory_slugs: Vec<String>,
    pub(crate) dataset: Option<DatasetView>,
    by_slug: BTreeMap<String, usize>,
}

impl Site {
    /// Orders runs into suites and names every page. The order of the runs decides names alone.
    pub fn new(runs: Vec<RunView>, trajectories: Vec<TrajectoryView>, dataset: Option<DatasetView>) -> Self {
        let mut slugs = Slugs::default();
        let mut trajectory_names = Slugs::default();
        let trajectory_slugs = trajectories.iter().map(|view| trajectory_names.name(&view.name)).collect();
        let mut suites = suites(&runs);
        let labels = labels(&runs);
        let entries: Vec<RunEntry> = runs
            .iter()
            .zip(labels)
            .map(|(run, label)| {
                let is_its =
                    |suite: &SuiteEntry| suite.name == run.header.suite && suite.version == run.header.suite_version;
                let suite = suites.iter().position(is_its).unwrap_or_default();
                RunEntry { slug: slugs.name(&run.header.run), suite, label, tasks: by_task(run, &suites[suite]) }
            })
            .collect();
        for suite in &mut suites {
            suite.runs.sort_by(|&a, &b| rank(&runs[b]).total_cmp(&rank(&runs[a])));
        }
        let by_slug = entries.iter().enumerate().map(|(index, entry)| (entry.slug.clone(), index)).collect();
        Self { runs, entries, suites, trajectories, trajectory_slugs, dataset, by_slug }
    }

    /// Every page: what a static site consists of. Pairs of runs are listed better run second.
    pub fn places(&self) -> Vec<Place> {
        let mut places = vec![Place::Index];
        for (index, suite) in self.suites.iter().enumerate() {
            places.extend((0..self.suite_parts(index)).map(|part| Place::Suite(index, part)));
            places.extend((0..suite.tasks.len()).map(|task| Place::Task(index, task)));
            for (rank, &after) in suite.runs.iter().enumerate() {
                places.extend(suite.runs[rank + 1..].iter().map(|&before| Place::Compare(before, after)));
            }
        }
        for (run, entry) in self.entries.iter().enumerate() {
            places.push(Place::Run(run));
            for &task in entry.tasks.keys() {
                places.extend((0..self.evaluation_parts(run, task)).map(|part| Place::Evaluation(run, task, part)));
            }
        }
        places.extend((0..self.trajectories.len()).map(Place::Trajectory));
        places.extend((!self.trajectories.is_empty()).then_some(Place::Trajectories));
        places.extend(self.dataset.is_some().then_some(Place::Dataset));
        places
    }

    /// The HTML document of a page.
    pub fn render(&self, place: Place, archive: &dyn Archive) -> String {
        pages::render(self, place, archive)
    }

    /// Whether the site has such a page: indices and parts are in range, and compared runs are of one suite.
    fn has(&self, place: Place) -> bool {
        match place {
            Place::Index => true,
            Place::Suite(suite, part) => part < self.suite_parts(suite),
            Place::Run(run) => run < self.runs.len(),
            Place::Task(suite, task) => task < self.suites[suite].tasks.len(),
            Place::Evaluation(run, task, part) => part < self.evaluation_parts(run, task),
            Place::Compare(before, after) => before != after && self.entries[before].suite == self.entries[after].suite,
            Place::Trajectory(index) => index < self.trajectories.len(),
            Place::Trajectories => !self.trajectories.is_empty(),
            Place::Dataset => self.dataset.is_some(),
        }
    }

    fn run_named(&self, slug: &str) -> Option<usize> {
        self.by_slug.get(slug).copied()
    }

    fn suite_named(&self, slug: &str) -> Option<usize> {
        self.suites.iter().position(|suite| suite.slug == slug)
    }

    pub(crate) fn suite_parts(&self, suite: usize) -> usize {
        let suite = &self.suites[suite];
        suite.tasks.len().div_ceil(suite.tasks_per_page()).max(1)
    }

    pub(crate) fn evaluation_parts(&self, run: usize, task: usize) -> usize {
        let graphs = self.entries[run].tasks.get(&task).map_or(0, |of| of.verdicts.len());
        graphs.div_ceil(GRAPHS_PER_PAGE)
    }

    /// Verdicts of a run on a task, by graph.
    pub(crate) fn verdicts(&self, run: usize, task: usize) -> impl ExactSizeIterator<Item = &Verdict> {
        let indices = self.entries[run].tasks.get(&task).map_or(&[][..], |of| &of.verdicts);
        indices.iter().map(move |&index| &self.runs[run].verdicts[index])
    }

    /// Score of a run on a task.
    pub(crate) fn task_score(&self, run: usize, task: usize) -> Option<&TaskScore> {
        let score = self.entries[run].tasks.get(&task)?.score?;
        self.runs[run].score.tasks.get(score)
    }

    /// The part of an evaluation's pages that has a graph.
    pub(crate) fn part_of(&self, run: usize, task: usize, graph: &str) -> usize {
        self.verdicts(run, task).position(|verdict| verdict.id.graph == graph).unwrap_or_default() / GRAPHS_PER_PAGE
    }

    /// Whether a run has evaluated anything of a task.
    pub(crate) fn has_task(&self, run: usize, task: usize) -> bool {
        self.entries[run].tasks.contains_key(&task)
    }
}

/// Runs with a sound score go before those without.
fn rank(run: &RunView) -> f64 {
    run.score.sound.as_ref().map_or(run.score.aggregated - 1e6, |sound| sound.score)
}

fn labels(runs: &[RunView]) -> Vec<String> {
    let mut seen: BTreeMap<(&str, &str, String), usize> = BTreeMap::new();
    let key = |run: &RunView| (run.header.author.to_string(), run.header.settings.device.clone());
    for run in runs {
        let (author, device) = key(run);
        *seen.entry((&run.header.suite, &run.header.suite_version, author + &device)).or_default() += 1;
    }
    let label = |run: &RunView| {
        let (author, device) = key(run);
        let name = author.clone();
        match seen.get(&(run.header.suite.as_str(), run.header.suite_version.as_str(), author + &device)) {
            Some(1) | None => name,
            Some(_) => format!("{name} ({})", run.header.run),
        }
    };
    runs.iter().map(label).collect()
}

fn suites(runs: &[RunView]) -> Vec<SuiteEntry> {
    let mut slugs = Slugs::default();
    let mut suites: Vec<SuiteEntry> = Vec::new();
    let mut place: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut graphs: Vec<BTreeMap<&str, BTreeSet<&str>>> = Vec::new();
    let mut order: Vec<Vec<&str>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let (name, version) = (run.header.suite.as_str(), run.header.suite_version.as_str());
        let suite = *place.entry((name, version)).or_insert_with(|| {
            suites.push(SuiteEntry {
                name: name.to_owned(),
                version: version.to_owned(),
                slug: slugs.name(&format!("{name}-{version}")),
                runs: Vec::new(),
                tasks: Vec::new(),
                by_slug: BTreeMap::new(),
            });
            graphs.push(BTreeMap::new());
            order.push(Vec::new());
            suites.len() - 1
        });
        suites[suite].runs.push(index);
        for verdict in &run.verdicts {
            let task = verdict.id.task.as_str();
            if !graphs[suite].contains_key(task) {
                order[suite].push(task);
            }
            graphs[suite].entry(task).or_default().insert(&verdict.id.graph);
        }
    }
    for ((suite, graphs), order) in suites.iter_mut().zip(graphs).zip(order) {
        let mut slugs = Slugs::default();
        let entry = |id: &str| TaskEntry {
            id: id.to_owned(),
            slug: slugs.name(id),
            graphs: graphs[id].iter().map(|&graph| graph.to_owned()).collect(),
        };
        suite.tasks = order.into_iter().map(entry).collect();
        suite.by_slug = suite.tasks.iter().enumerate().map(|(index, task)| (task.slug.clone(), index)).collect();
    }
    suites
}

fn by_task(run: &RunView, suite: &SuiteEntry) -> BTreeMap<usize, OfTask> {
    let places: BTreeMap<&str, usize> =
        suite.tasks.iter().enumerate().map(|(index, task)| (task.id.as_str(), index)).collect();
    let mut tasks: BTreeMap<usize, OfTask> = BTreeMap::new();
    for (index, verdict) in run.verdicts.iter().enumerate() {
        if let Some(&task) = places.get(verdict.id.task.as_str()) {
            tasks.entry(task).or_default().verdicts.push(index);
        }
    }
    for of in tasks.values_mut() {
        of.verdicts.sort_by_key(|&index| &run.verdicts[index].id.graph);
    }
    for (index, score) in run.score.tasks.iter().enumerate() {
        if let Some(of) = places.get(score.task.as_str()).and_then(|task| tasks.get_mut(task)) {
            of.score = Some(index);
        }
    }
    tasks
}
