//! Time that the sandbox and the checks of measurements add to an evaluation.
//!
//! The same graphs are evaluated alternately with all layers and without them, once with the honest passes of the suite and once
//! without any pass.

use std::time::{Duration, Instant};

use passnet_eval::{Candidate, Defences, Referee, RefereeOptions, ZygoteConfig, settings, stats::quantile};
use passnet_record::{Cost, Device, ExecutionPath, PassDirectory, RunSettings, SCHEMA_VERSION, TextReport, TextTable};
use passnet_run::{GraphSample, Selection, Suite};
use passnet_services::Interpreter;
use serde::Serialize;

use crate::{AttackError, AttackOptions, entry};

/// Layers that stay on in the evaluation without checks: those that inspect the text and the graph of a pass.
const WITHOUT: Defences = Defences { lint: true, intercept: true, diff: true, storage: true, ..Defences::NONE };

/// Number of pairs of evaluations without passes for each entry: these take a tenth of the time of others, and vary more.
const PLAIN_PAIRS: usize = 4;

/// Times of evaluations of one graph, with all layers and without them.
struct Pair {
    all: Times,
    without: Times,
}

/// Names of the steps of an evaluation, in the order of [`Times::steps`].
const STEPS: [&str; 6] =
    ["starting", "loading", "checked calls", "between timed calls", "rest of the measurement", "everything else"];

/// Times of one evaluation, in nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    /// Time of the whole evaluation.
    wall: f64,
    /// Time of the evaluation without timed and warm-up calls.
    outside: f64,
    /// The parts of `outside`, one per entry of [`STEPS`].
    steps: [f64; STEPS.len()],
}

impl Times {
    fn new(wall: f64, cost: &Cost) -> Self {
        let outside = wall - cost.trials_ns as f64;
        let between = cost.held_ns.saturating_sub(cost.trials_ns);
        let steps = [cost.start_ns, cost.load_ns, cost.check_ns, between, cost.time_ns.saturating_sub(cost.held_ns)];
        let mut all = [0.0; STEPS.len()];
        all.iter_mut().zip(steps).for_each(|(all, step)| *all = step as f64);
        all[STEPS.len() - 1] = outside - all.iter().sum::<f64>();
        Self { wall, outside, steps: all }
    }
}

/// Medians of one step, in milliseconds.
#[derive(Clone, Debug, Serialize)]
struct StepFigures {
    step: &'static str,
    all_ms: f64,
    without_ms: f64,
}

/// Cost of the sandbox and the checks.
#[derive(Clone, Debug, Serialize)]
pub struct CostReport {
    schema_version: u32,
    /// Device of the measurement.
    device: Device,
    /// Figures for graphs without passes, as `cargo xtask bench eval` measures them.
    pub without_passes: Option<CostFigures>,
    /// Figures for the honest passes of the suite.
    pub honest_passes: Option<CostFigures>,
}

/// Figures over pairs of evaluations, with all layers and without.
#[derive(Clone, Debug, Serialize)]
pub struct CostFigures {
    pairs: usize,
    /// Medians of the time outside of timed calls, in milliseconds.
    all_ms: f64,
    without_ms: f64,
    /// Ratio of the time with all layers to the time without, outside of timed calls: quartiles over the pairs, and the ratio of
    /// the sums.
    ratio_quartiles: [f64; 3],
    pub ratio_of_sums: f64,
    /// Ratio of the sums of whole evaluations, timed calls included.
    ratio_of_whole_sums: f64,
    /// Medians of the steps. They do not add up to the medians of all.
    steps: Vec<StepFigures>,
}

impl CostFigures {
    fn new(pairs: &[Pair]) -> Option<Self> {
        let sorted = |value: fn(&Pair) -> f64| {
            let mut values: Vec<f64> = pairs.iter().map(value).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let sum = |value: fn(&Pair) -> f64| pairs.iter().map(value).sum::<f64>();
        let ratios = sorted(|pair| pair.all.outside / pair.without.outside);
        (!pairs.is_empty()).then(|| Self {
            pairs: pairs.len(),
            all_ms: quantile(&sorted(|pair| pair.all.outside), 0.5) / 1e6,
            without_ms: quantile(&sorted(|pair| pair.without.outside), 0.5) / 1e6,
            ratio_quartiles: [0.25, 0.5, 0.75].map(|share| quantile(&ratios, share)),
            ratio_of_sums: sum(|pair| pair.all.outside) / sum(|pair| pair.without.outside),
            ratio_of_whole_sums: sum(|pair| pair.all.wall) / sum(|pair| pair.without.wall),
            steps: steps(pairs),
        })
    }
}

fn steps(pairs: &[Pair]) -> Vec<StepFigures> {
    let median_ms = |side: fn(&Pair) -> &Times, step: usize| {
        let mut values: Vec<f64> = pairs.iter().map(|pair| side(pair).steps[step]).collect();
        values.sort_unstable_by(f64::total_cmp);
        quantile(&values, 0.5) / 1e6
    };
    let figures = |(number, step)| StepFigures {
        step,
        all_ms: median_ms(|pair| &pair.all, number),
        without_ms: median_ms(|pair| &pair.without, number),
    };
    STEPS.into_iter().enumerate().map(figures).collect()
}

impl CostReport {
    /// Returns one line for each kind of evaluation.
    pub fn text_report(&self) -> TextReport {
        let mut rows = TextTable::new(&["evaluations", "pairs", "all layers, ms", "without, ms", "ratio"], 5);
        for (name, figures) in [("without passes", &self.without_passes), ("honest passes", &self.honest_passes)] {
            let Some(figures) = figures else { continue };
            rows.push([
                name.to_owned(),
                figures.pairs.to_string(),
                format!("{:.1}", figures.all_ms),
                format!("{:.1}", figures.without_ms),
                format!("{:.2}", figures.ratio_of_sums),
            ]);
        }
        let mut report = TextReport::default();
        report.table(rows);
        report.text("\nmedians outside of timed calls; the ratio is that of the sums");
        report
    }
}

/// Evaluates honest entries of the suite, with all layers and without the sandbox and the checks of measurements, until `time` is
/// over.
///
/// # Errors
/// If the suite cannot be read or the machine cannot evaluate.
pub fn measure_cost(options: &AttackOptions, time: Duration) -> Result<CostReport, AttackError> {
    let begin = Instant::now();
    let suite = Suite::load(&options.directory.join("tasks"), &Selection::default())?;
    let on_gpu = !options.device.is_cpu();
    let mut entries = entry::read_all(&options.directory, &options.filter)?;
    entries.retain(|entry| entry.is_honest() && entry.runs_on(on_gpu));
    let referees = Referees::new(options.device)?;
    let (mut plain, mut passes) = (Vec::new(), Vec::new());
    for entry in &entries {
        let Some(id) = suite.visible(entry.task(&suite.record)?).next() else { continue };
        let path = suite.sample_dir(&id);
        let sample =
            GraphSample::read(&path, id).map_err(|error| AttackError::Entry { path, message: error.to_string() })?;
        let files = entry.files.iter().cloned();
        let directory =
            PassDirectory::new(files).map_err(|source| AttackError::Passes { name: entry.name.clone(), source })?;
        let candidate = Candidate::Passes(directory);
        // The first pair is not counted: no worker was forked ahead yet, and the first evaluation of a kernel compiles it.
        if plain.is_empty() {
            referees.pair(&sample, &Candidate::Noop, false)?;
        }
        times(&referees.all, &sample, &candidate)?;
        for number in 0..PLAIN_PAIRS {
            plain.push(referees.pair(&sample, &Candidate::Noop, number % 2 == 1)?);
        }
        let is_odd = passes.len() % 2 == 1;
        passes.push(referees.pair(&sample, &candidate, is_odd)?);
        if begin.elapsed() >= time {
            break;
        }
    }
    Ok(CostReport {
        schema_version: SCHEMA_VERSION,
        device: options.device,
        without_passes: CostFigures::new(&plain),
        honest_passes: CostFigures::new(&passes),
    })
}

/// The two referees that are compared.
struct Referees {
    all: Referee,
    without: Referee,
}

impl Referees {
    fn new(device: Device) -> Result<Self, AttackError> {
        // One path only, and no repetition of unstable measurements, because repetitions happen by chance.
        let settings =
            || RunSettings { paths: vec![ExecutionPath::Direct], max_remeasure: 0, ..settings::sound(device) };
        let options = RefereeOptions {
            zygote: ZygoteConfig::from(Interpreter::find()),
            defences: Defences::ALL,
            // No cache, because a cached verdict takes no time.
            cache: None,
            jobs: 1,
        };
        let all = Referee::new(settings(), options)?;
        let without = all.sibling(settings(), WITHOUT)?;
        Ok(Self { all, without })
    }

    /// Evaluates with both referees, in alternating order.
    fn pair(&self, sample: &GraphSample, candidate: &Candidate, without_first: bool) -> Result<Pair, AttackError> {
        if without_first {
            let without = times(&self.without, sample, candidate)?;
            Ok(Pair { all: times(&self.all, sample, candidate)?, without })
        } else {
            let all = times(&self.all, sample, candidate)?;
            Ok(Pair { all, without: times(&self.without, sample, candidate)? })
        }
    }
}

fn times(referee: &Referee, sample: &GraphSample, candidate: &Candidate) -> Result<Times, AttackError> {
    let begin = Instant::now();
    let verdict = referee.evaluate(sample, candidate)?.verdict;
    Ok(Times::new(begin.elapsed().as_nanos() as f64, &verdict.cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_ratios_of_pairs_and_of_sums() {
        let cost = Cost { trials_ns: 1_000_000, held_ns: 1_200_000, time_ns: 1_500_000, ..Cost::default() };
        let pair = |all: f64, without: f64| Pair {
            all: Times::new(all + 1e6, &cost),
            without: Times::new(without + 1e6, &cost),
        };
        let figures = CostFigures::new(&[pair(2e6, 1e6), pair(3e6, 2e6), pair(5e6, 5e6)]).unwrap();
        assert_eq!((figures.pairs, figures.all_ms, figures.without_ms), (3, 3.0, 2.0));
        assert_eq!(figures.ratio_quartiles[1], 1.5);
        assert_eq!((figures.ratio_of_sums, figures.ratio_of_whole_sums), (10.0 / 8.0, 13.0 / 11.0));
        let all: Vec<f64> = figures.steps.iter().map(|step| step.all_ms).collect();
        assert_eq!(all, [0.0, 0.0, 0.0, 0.2, 0.3, 2.5]);
        assert!(CostFigures::new(&[]).is_none());
    }
}
