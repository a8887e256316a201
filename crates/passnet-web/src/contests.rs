//! Contests: the authors of a suite on one device, and which of them is ahead on each family of graphs.

use passnet_score::Interval;

use crate::{
    families::{Family, families},
    site::Site,
    standings::{Conditions, Standings, score_interval},
    view::RunView,
};

/// Largest number of authors that one contest shows.
const MAX_AUTHORS: usize = 8;
/// Least number of tasks of a family that is shown. Results of fewer tasks do not generalise.
const FEWEST_TASKS: usize = 3;

/// Runs over one suite on one device, on any path, because all paths are measured against the same eager mode.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    /// Conditions of the first board of the contest. The path is that of the best run.
    pub(crate) conditions: Conditions,
    /// The authors, best first.
    pub(crate) authors: Vec<Contestant>,
    /// Families with enough tasks.
    pub(crate) families: Vec<Family>,
    /// Number of families that are left out.
    pub(crate) too_small: usize,
}

/// The latest complete run of an author.
#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    pub(crate) run: usize,
    /// Name of the author, with the path if the contest has several paths.
    pub(crate) name: String,
}

/// The author who is ahead on a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// The author at this position, beyond noise.
    Author(usize),
    /// Eager mode: every author is slower or more often wrong, beyond noise.
    Eager,
    /// Noise can explain the differences.
    Unclear,
}

/// Groups the runs of boards into contests, those with more authors first.
pub(crate) fn contests<'a>(site: &Site, boards: impl IntoIterator<Item = &'a Standings>) -> Vec<Contest> {
    let mut groups: Vec<(Conditions, Vec<usize>)> = Vec::new();
    for standings in boards {
        // Runs without a rank are unfinished or cover fewer graphs.
        let runs = standings.rows.iter().filter(|row| row.rank.is_some()).map(|row| row.run);
        let runs = runs.filter(|&run| !site.runs[run].header.author.is_baseline());
        match groups.iter_mut().find(|(conditions, _)| conditions.is_same_but_for_path(&standings.conditions)) {
            Some((_, group)) => group.extend(runs),
            None => groups.push((standings.conditions.clone(), runs.collect())),
        }
    }
    let mut contests: Vec<Contest> =
        groups.into_iter().filter_map(|(conditions, runs)| contest(site, conditions, &runs)).collect();
    contests.sort_by_key(|contest| std::cmp::Reverse((contest.authors.len(), contest.families.len())));
    contests
}

fn contest(site: &Site, conditions: Conditions, runs: &[usize]) -> Option<Contest> {
    let most = runs.iter().map(|&run| site.runs[run].header.graphs).max()?;
    let name = |run: usize| (site.runs[run].author_name(), crate::standings::path_of(&site.runs[run]));
    let is_latest = |run: usize| {
        let started = |run: usize| &site.runs[run].header.started;
        runs.iter().all(|&other| name(other) != name(run) || started(other) <= started(run))
    };
    let mut latest: Vec<usize> = runs.iter().copied().filter(|&run| is_latest(run)).collect();
    latest.retain(|&run| site.runs[run].header.graphs == most && score_interval(&site.runs[run]).is_some());
    // Runs that began in the same second have the same author, so one of them is enough.
    latest.sort_by_key(|&run| name(run));
    latest.dedup_by_key(|run| name(*run));
    let score = |run: usize| site.runs[run].score.sound.as_ref().map_or(0.0, |sound| sound.score);
    latest.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
    latest.truncate(MAX_AUTHORS);
    let several = latest.iter().any(|&run| name(run).1 != name(latest[0]).1);
    let views: Vec<&RunView> = latest.iter().map(|&run| &*site.runs[run]).collect();
    let all = families(&views, site.traits_of(conditions.suite));
    let count = all.len();
    let is_enough = |family: &Family| family.results.iter().any(|result| result.part.tasks() >= FEWEST_TASKS);
    let families: Vec<Family> = all.into_iter().filter(is_enough).collect();
    let authors = latest.iter().map(|&run| {
        let (author, path) = name(run);
        Contestant { run, name: if several { format!("{author} ({path})") } else { author } }
    });
    let conditions = Conditions { path: name(*latest.first()?).1, ..conditions };
    let too_small = count - families.len();
    (!families.is_empty()).then(|| Contest { conditions, authors: authors.collect(), families, too_small })
}

/// Returns the best author if its score is above 1 and above the next author's score, both beyond the 95 % interval over tasks.
pub(crate) fn ahead(family: &Family) -> Ahead {
    let mut order: Vec<usize> = (0..family.results.len()).collect();
    let part = |author: usize| &family.results[author].part;
    let score = |author: usize| part(author).score().unwrap_or(0.0);
    order.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
    let Some((&best, others)) = order.split_first() else { return Ahead::Unclear };
    let above = |interval: Option<Interval>| interval.is_some_and(|interval| interval.low > 1.0);
    if above(part(best).interval()) && others.first().is_none_or(|&next| above(part(best).lead_over(part(next)))) {
        return Ahead::Author(best);
    }
    let below = |author: &usize| part(*author).interval().is_some_and(|interval| interval.high < 1.0);
    if order.iter().all(below) { Ahead::Eager } else { Ahead::Unclear }
}
