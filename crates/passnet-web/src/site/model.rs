//! A site's data: runs with their suites and tasks, trajectories, and a dataset.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use passnet_record::{GraphId, Verdict};
use passnet_score::TaskScore;

use super::{
    authors::{AuthorEntry, authors},
    boards::board_slugs,
    slug::Slugs,
};
use crate::{
    standings::{Standings, all_standings},
    traits::GraphTraits,
    view::{BisectedView, DatasetView, RunView, SampleLine, TrainingView, TrajectoryView},
};

/// Graphs that one evaluation page shows.
pub(crate) const GRAPHS_PER_PAGE: usize = 12;
/// Samples that one page of a dataset lists.
pub(crate) const SAMPLES_PER_PAGE: usize = 400;
/// Cells (tasks times runs) that one page of a suite shows.
const CELLS_PER_PAGE: usize = 1000;

/// Properties of the graphs of suites, by the name of the suite.
pub type SuiteTraits = BTreeMap<String, BTreeMap<GraphId, GraphTraits>>;

/// A task of a suite.
#[derive(Debug)]
pub(crate) struct TaskEntry {
    pub(crate) id: String,
    pub(crate) slug: String,
    /// Graphs that any run has a verdict on, sorted.
    pub(crate) graphs: Vec<String>,
}

/// A suite that runs are of.
#[derive(Debug)]
pub(crate) struct SuiteEntry {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) slug: String,
    /// Runs, best first.
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
        (CELLS_PER_PAGE / self.runs.len().max(1)).max(20)
    }
}

/// Verdicts and score of a run on one task.
#[derive(Debug, Default)]
pub(super) struct TaskVerdicts {
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
    /// Author, followed by the run's name if the author is not unique.
    pub(crate) label: String,
    pub(super) tasks: BTreeMap<usize, TaskVerdicts>,
}

/// A sample of the dataset: indices of its table and of its row, and the name of its page.
#[derive(Debug)]
pub(crate) struct SampleEntry {
    table: usize,
    row: usize,
    pub(crate) slug: String,
}

/// A site: all data of its pages.
#[derive(Debug)]
pub struct Site {
    /// Shared, because a server keeps them while it makes the site again.
    pub(crate) runs: Vec<Arc<RunView>>,
    pub(crate) entries: Vec<RunEntry>,
    pub(crate) suites: Vec<SuiteEntry>,
    pub(crate) authors: Vec<AuthorEntry>,
    /// Boards, those with more ranked authors first.
    pub(crate) boards: Vec<Standings>,
    pub(super) board_slugs: Vec<String>,
    pub(crate) trajectories: Vec<TrajectoryView>,
    pub(super) trajectory_slugs: Vec<String>,
    pub(crate) dataset: Option<DatasetView>,
    pub(crate) samples: Vec<SampleEntry>,
    sample_by_slug: BTreeMap<String, usize>,
    pub(crate) trainings: Vec<TrainingView>,
    pub(crate) bisected: Vec<BisectedView>,
    pub(super) bisected_slugs: Vec<String>,
    pub(crate) published: bool,
    pub(crate) has_bundles: bool,
    pub(crate) takes_submissions: bool,
    pub(crate) is_live: bool,
    traits: SuiteTraits,
    by_slug: BTreeMap<String, usize>,
}

impl Site {
    /// Orders runs into suites and names every page. The order of the runs decides names alone.
    pub fn new<R: Into<Arc<RunView>>>(
        runs: Vec<R>,
        trajectories: Vec<TrajectoryView>,
        dataset: Option<DatasetView>,
    ) -> Self {
        let runs: Vec<Arc<RunView>> = runs.into_iter().map(Into::into).collect();
        let mut slugs = Slugs::default();
        let mut trajectory_names = Slugs::default();
        let trajectory_slugs = trajectories.iter().map(|view| trajectory_names.name(&view.name)).collect();
        let mut suites = suites(&runs);
        let names: Vec<String> = runs.iter().map(|run| slugs.name(&run.header.run)).collect();
        let labels = labels(&runs, &names);
        let entries: Vec<RunEntry> = runs
            .iter()
            .zip(names)
            .zip(labels)
            .map(|((run, slug), label)| {
                let is_its =
                    |suite: &SuiteEntry| suite.name == run.header.suite && suite.version == run.header.suite_version;
                // Always found: the suites were collected from these runs.
                let suite = suites.iter().position(is_its).unwrap_or_default();
                RunEntry { slug, suite, label, tasks: by_task(run, &suites[suite]) }
            })
            .collect();
        for suite in &mut suites {
            // Sorted after the entries are made, because entries refer to suites and not to positions in this list.
            suite.runs.sort_by(|&a, &b| rank(&runs[b]).total_cmp(&rank(&runs[a])));
        }
        let samples = samples(dataset.as_ref());
        let sample_by_slug = samples.iter().enumerate().map(|(index, entry)| (entry.slug.clone(), index)).collect();
        let by_slug = entries.iter().enumerate().map(|(index, entry)| (entry.slug.clone(), index)).collect();
        let authors = authors(&runs);
        let boards = all_standings(&runs, suites.iter().map(|suite| suite.runs.as_slice()));
        let board_slugs = board_slugs(&boards, |suite| suites[suite].slug.as_str());
        Self {
            runs,
            entries,
            authors,
            boards,
            board_slugs,
            suites,
            trajectories,
            trajectory_slugs,
            dataset,
            samples,
            sample_by_slug,
            trainings: Vec::new(),
            bisected: Vec::new(),
            bisected_slugs: Vec::new(),
            published: false,
            has_bundles: false,
            takes_submissions: false,
            is_live: false,
            traits: SuiteTraits::new(),
            by_slug,
        }
    }

    /// Adds a page with the published figures of the PassNet paper; off by default.
    pub fn with_published(self, published: bool) -> Self {
        Self { published, ..self }
    }

    /// Adds properties of the graphs of suites, for results by family.
    pub fn with_traits(self, traits: SuiteTraits) -> Self {
        Self { traits, ..self }
    }

    /// Returns the properties of the graphs of a suite, if they are known.
    pub(crate) fn traits_of(&self, suite: usize) -> Option<&BTreeMap<GraphId, GraphTraits>> {
        self.traits.get(&self.suites[suite].name)
    }

    /// Adds a page with the curves of training runs, if there are any.
    pub fn with_trainings(self, trainings: Vec<TrainingView>) -> Self {
        Self { trainings, ..self }
    }

    /// Adds a page for each failing part of a graph, and links from the evaluations that failed.
    pub fn with_bisected(self, bisected: Vec<BisectedView>) -> Self {
        let mut slugs = Slugs::default();
        let name = |view: &BisectedView| slugs.name(&format!("{}-{}-{}", view.id.task, view.id.graph, view.author));
        let bisected_slugs = bisected.iter().map(name).collect();
        Self { bisected, bisected_slugs, ..self }
    }

    /// Returns the failing part of a graph that a run failed on, if there is one of its author.
    pub(crate) fn failing_part(&self, run: usize, verdict: &Verdict) -> Option<usize> {
        let author = self.runs[run].header.author.to_string();
        let is_it = |view: &BisectedView| view.id == verdict.id && view.author == author;
        // A part that failed in an earlier run says nothing about a graph that is correct in this one.
        verdict.status.is_failure().then(|| self.bisected.iter().position(is_it)).flatten()
    }

    /// Says that the site has a bundle of each run at [`Site::bundle_path`]; off by default.
    pub fn with_bundles(self, has_bundles: bool) -> Self {
        Self { has_bundles, ..self }
    }

    /// Says how to submit on the front page, and links the signed result of each run; for the server of a board. Off by default.
    pub fn with_submissions(self, takes_submissions: bool) -> Self {
        Self { takes_submissions, ..self }
    }

    /// Adds the live page, for a server that can tell which runs are being written; off by default.
    pub fn with_live(self, is_live: bool) -> Self {
        Self { is_live, ..self }
    }

    /// Returns a sample of the dataset, and the name of its table.
    pub(crate) fn sample(&self, index: usize) -> Option<(&SampleLine, &str)> {
        let SampleEntry { table, row, .. } = self.samples.get(index)?;
        let table = self.dataset.as_ref()?.tables.get(*table)?;
        Some((table.samples.get(*row)?, &table.name))
    }

    pub(crate) fn dataset_parts(&self) -> usize {
        self.dataset.as_ref().map_or(0, |_| self.samples.len().div_ceil(SAMPLES_PER_PAGE).max(1))
    }

    pub(super) fn sample_named(&self, slug: &str) -> Option<usize> {
        self.sample_by_slug.get(slug).copied()
    }

    pub(super) fn run_named(&self, slug: &str) -> Option<usize> {
        self.by_slug.get(slug).copied()
    }

    pub(super) fn suite_named(&self, slug: &str) -> Option<usize> {
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

    /// Returns the part of an evaluation's pages that has a graph.
    pub(crate) fn part_of(&self, run: usize, task: usize, graph: &str) -> usize {
        self.verdicts(run, task).position(|verdict| verdict.id.graph == graph).unwrap_or_default() / GRAPHS_PER_PAGE
    }

    /// Returns whether a run has evaluated any graph of a task.
    pub(crate) fn has_task(&self, run: usize, task: usize) -> bool {
        self.entries[run].tasks.contains_key(&task)
    }
}

fn samples(dataset: Option<&DatasetView>) -> Vec<SampleEntry> {
    let mut slugs = Slugs::default();
    let tables = dataset.into_iter().flat_map(|dataset| dataset.tables.iter().enumerate());
    let rows =
        tables.flat_map(|(table, view)| view.samples.iter().enumerate().map(move |(row, line)| (table, row, line)));
    // Samples of one folder differ in the end of their paths.
    let name =
        |path: &str| path.rsplit('/').take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("-");
    rows.map(|(table, row, line)| SampleEntry { table, row, slug: slugs.name(&name(&line.path)) }).collect()
}

/// Runs with a sound score go before those without.
fn rank(run: &RunView) -> f64 {
    // AS and the sound score have different scales. No score is near a million, so runs without a sound score are last.
    run.score.sound.as_ref().map_or(run.score.aggregated - 1e6, |sound| sound.score)
}

/// Returns the author of each run, with the run's name in the addresses of pages where an author has several runs over a suite.
fn labels(runs: &[Arc<RunView>], names: &[String]) -> Vec<String> {
    let mut seen: BTreeMap<(&str, &str, String), usize> = BTreeMap::new();
    // Boards and runs state the device, so it distinguishes two runs of one author there.
    let key = |run: &RunView| (run.author_name(), run.header.settings.device.to_string());
    for run in runs {
        let (author, device) = key(run);
        *seen.entry((&run.header.suite, &run.header.suite_version, author + &device)).or_default() += 1;
    }
    let label = |(run, slug): (&Arc<RunView>, &String)| {
        let (author, device) = key(run);
        let name = author.clone();
        match seen.get(&(run.header.suite.as_str(), run.header.suite_version.as_str(), author + &device)) {
            Some(1) | None => name,
            Some(_) => format!("{name} ({slug})"),
        }
    };
    runs.iter().zip(names).map(label).collect()
}

fn suites(runs: &[Arc<RunView>]) -> Vec<SuiteEntry> {
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
            // Tasks keep the order in which the runs have them; a sorted map would lose it.
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

fn by_task(run: &RunView, suite: &SuiteEntry) -> BTreeMap<usize, TaskVerdicts> {
    let places: BTreeMap<&str, usize> =
        suite.tasks.iter().enumerate().map(|(index, task)| (task.id.as_str(), index)).collect();
    let mut tasks: BTreeMap<usize, TaskVerdicts> = BTreeMap::new();
    for (index, verdict) in run.verdicts.iter().enumerate() {
        if let Some(&task) = places.get(verdict.id.task.as_str()) {
            tasks.entry(task).or_default().verdicts.push(index);
        }
    }
    for of in tasks.values_mut() {
        // A log has verdicts in the order in which they finished, which differs between runs.
        of.verdicts.sort_by_key(|&index| &run.verdicts[index].id.graph);
    }
    for (index, score) in run.score.tasks.iter().enumerate() {
        if let Some(of) = places.get(score.task.as_str()).and_then(|task| tasks.get_mut(task)) {
            of.score = Some(index);
        }
    }
    tasks
}
