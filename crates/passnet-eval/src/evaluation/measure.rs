//! Measurement of a path, and its record.

use std::time::{Duration, Instant};

use passnet_record::{
    Baseline, CandidateSpec, ContentId, Device, Mode, SCHEMA_VERSION, Status, TimeUnit, Timing, TrialTimes,
};
use rustix::thread::CpuSet;

use super::{
    contents::TimedContents,
    context::{GraphEvaluation, MAX_OUTPUT, elapsed},
    stop::{OrStop as _, Stop},
    suspect::{KeptOutputs, Suspects},
};
use crate::{
    accounting::{HiddenTime, SideRounds, unexplained_time},
    candidate::Route,
    failure::Failure,
    machine::Machine,
    measurement::{Measurement, describe, pooled},
    pools::Pools,
    stats::{disagree, summarize},
    timing::{MeasurementPlan, SideFault},
    worker::{Worker, WorkerFault},
};

/// Number of repetitions of a disturbed measurement before the disturbance counts against the candidate. The results of disturbed
/// measurements are dropped. A busy machine, a driver or an interpreter may also disturb a measurement, but rarely this many times in
/// succession.
const REPEATS: u32 = 3;
/// CPU time that is ignored, because the interpreter's own threads wake up from time to time.
const NOISE: Duration = Duration::from_millis(5);

/// Returns a lower bound for the time of a call that writes `bytes` bytes. The assumptions are generous for any current device. On a CPU,
/// a call of a Python function takes 40 ns, and one core stores 64 bytes per cycle at 8 GHz. On a GPU, a launch with synchronisation
/// takes 1 us, and memory accepts 32 TB/s.
fn least_time(device: Device, threads: u32, bytes: u64) -> Duration {
    let (floor_ns, bytes_per_ns) =
        if device.is_cpu() { (40, 512 * u64::from(threads.max(1))) } else { (1_000, 32_000) };
    Duration::from_nanos(floor_ns + bytes / bytes_per_ns)
}

fn not_quiet((wall, ran): (Duration, Duration)) -> Failure {
    let message = format!(
        "the candidate's processes ran for {ran:?} of the {wall:?} in which the others were measured, in each of {} measurements; \
         no thread or child may work outside its calls",
        REPEATS + 1
    );
    Failure::new(Status::Integrity, "not_quiet", message)
}

fn clock_disagrees(hidden: HiddenTime) -> Failure {
    let found = format!(
        "a usual block of timed calls took {:?} longer by the referee's clock than its trial times explain, in {} measurements",
        hidden.time,
        REPEATS + 1
    );
    if hidden.may_be_waiting {
        let message = format!(
            "{found}; its threads or the referee waited for a CPU that long: run it again when the machine is less busy"
        );
        return Failure::new(Status::Unstable, "waits_for_cpu", message);
    }
    Failure::new(Status::Integrity, "clock_disagrees", format!("{found}; work must be done inside the timed call"))
}

/// Returns the reason to stop for a fault of a side while it was timed.
fn of_side(SideFault { side, fault }: SideFault, sides: &[&mut Worker]) -> Stop {
    let failed: Result<(), WorkerFault> = Err(fault);
    let is_candidate = side + 1 == sides.len();
    let stop = if is_candidate { failed.candidate("being timed") } else { failed.reference("being timed") };
    stop.err().unwrap_or(Stop::Failure(Failure::new(Status::RuntimeError, "raised", "being timed")))
}

/// The measurements of a path, one per pair of processes.
pub(super) struct PathMeasurements {
    /// The candidate, to repeat a call of it in a fresh process.
    spec: CandidateSpec,
    best: Vec<Measurement>,
    /// Contents of the last measurement; later ones use further windows that no call has seen.
    contents: Option<TimedContents>,
    remeasured: u32,
    has_control: bool,
}

impl PathMeasurements {
    /// Returns a record without measurements of a candidate.
    pub(super) fn new(spec: CandidateSpec) -> Self {
        Self { spec, best: Vec::new(), contents: None, remeasured: 0, has_control: false }
    }

    pub(super) fn pairs(&self) -> usize {
        self.best.len()
    }

    /// Returns whether the first pair shows a speed-up or slow-down against a baseline that exceeds its noise.
    pub(super) fn differs(&self) -> bool {
        let Some(first) = self.best.first() else { return false };
        let baselines = 0..first.sides.len().saturating_sub(1);
        baselines.filter_map(|side| first.ratio(side)).any(|ratio| ratio.low > 1.0 || ratio.high < 1.0)
    }

    /// Returns whether pairs disagree about the speed-up over some baseline.
    pub(super) fn are_split(&self) -> bool {
        !self.agree_without(None)
    }

    /// If pairs disagree and the others agree without one of them, leaves out this pair. Returns the speed-up of the pair over eager
    /// mode.
    pub(super) fn set_one_aside(&mut self) -> Option<f64> {
        if !self.are_split() {
            return None;
        }
        let left_out = (0..self.best.len()).find(|&pair| self.agree_without(Some(pair)))?;
        let ratio = self.best.remove(left_out).ratio(0)?.ratio;
        Some(ratio)
    }

    fn agree_without(&self, left_out: Option<usize>) -> bool {
        let sides = self.best.first().map_or(0, |first| first.sides.len().saturating_sub(1));
        (0..sides).all(|side| {
            let pairs = self.best.iter().enumerate().filter(|(pair, _)| Some(*pair) != left_out);
            !disagree(&pairs.filter_map(|(_, one)| one.ratio(side)).collect::<Vec<_>>())
        })
    }
}

impl GraphEvaluation<'_> {
    /// Measures a pair until it is stable or the repetitions are used up.
    pub(super) fn measure(
        &mut self,
        reference: &mut Worker,
        control: Option<&mut Worker>,
        candidate: &mut Worker,
        at: i32,
        measured: &mut PathMeasurements,
    ) -> Result<(), Stop> {
        let machine = self.machine;
        let settings = &machine.settings;
        measured.has_control = control.is_some();
        let mut sides: Vec<&mut Worker> = std::iter::once(reference).chain(control).chain([candidate]).collect();
        // Workers of the next evaluation are forked on the other cores while this evaluation measures.
        self.zygote.prepare(sides.len() as u32, machine.cores.spare.clone());
        let (mut all, mut best): (Vec<Measurement>, Option<Measurement>) = Default::default();
        let (mut remeasured, mut disturbed) = (0, 0);
        // The workers of this pair are new and have no contents yet.
        if let Some(contents) = &mut measured.contents {
            contents.is_sent = false;
        }
        loop {
            let number = (measured.pairs() as u64) << 32 | u64::from(remeasured + disturbed);
            let mut contents = match measured.contents.take().filter(TimedContents::has_room) {
                Some(contents) => contents,
                None => self.unlimited(|own| own.timed_contents(number))?,
            };
            self.send_contents(&mut contents, &mut sides).map_err(|fault| of_side(fault, &sides))?;
            let (measurement, suspects) = self.measure_once(number, &mut sides, &mut contents, at)?;
            // An examination of suspects sends other inputs to the reference, so the contents must be sent again.
            contents.is_sent &= suspects.is_empty();
            self.examine_all(&suspects, sides[0], &measured.spec, at)?;
            measured.contents = Some(contents);
            for side in &measurement.sides {
                self.report.cost.trials_ns += side.calls.as_nanos() as u64;
            }
            if let Some(failure) = self.disturbance(&measurement) {
                if disturbed >= REPEATS {
                    return Err(failure.into());
                }
                disturbed += 1;
                continue;
            }
            all.push(measurement);
            best = self.best_of(&all, best);
            let settled = best.as_ref().is_some_and(|best| best.fluctuation.largest() <= settings.max_fluctuation);
            if settled || remeasured >= settings.max_remeasure {
                break;
            }
            remeasured += 1;
        }
        self.drop_contents(&mut sides).map_err(|fault| of_side(fault, &sides))?;
        measured.remeasured += remeasured;
        measured.best.extend(best);
        Ok(())
    }

    /// Returns the measurement that fluctuates least: the best one of before, the last one, or the one with the rounds of all. A machine
    /// that is always busy needs more rounds; one that was busy for a moment only needs others.
    fn best_of(&self, all: &[Measurement], best: Option<Measurement>) -> Option<Measurement> {
        let Machine { settings, options, .. } = self.machine;
        let is_joined = settings.mode == Mode::Sound && all.len() > 1;
        let joined = is_joined.then(|| Measurement::joined(all, options.defences.clock)).flatten();
        let fluctuation = |one: &Measurement| one.fluctuation.largest();
        let found = best.into_iter().chain(all.last().cloned()).chain(joined);
        found.min_by(|one, other| fluctuation(one).total_cmp(&fluctuation(other)))
    }

    /// Refuses a measurement if a thread of the candidate left its cores or took a higher priority.
    fn refuse_moved(&self, candidate: &Worker, cores: &CpuSet) -> Result<(), Failure> {
        let is_watched = self.candidate.is_foreign() && self.machine.options.defences.quiet;
        if is_watched && !candidate.is_where_it_was_put(cores) {
            let message = "a thread of the candidate changed the cores that it may run on, or its priority";
            return Err(Failure::new(Status::Integrity, "placement_changed", message));
        }
        Ok(())
    }

    /// Returns why the times of a measurement are unusable, if they are. CPU time of the candidate between its blocks slows the other
    /// sides, which use the same cores. Work of the candidate between its trials is missing in its times.
    fn disturbance(&self, measurement: &Measurement) -> Option<Failure> {
        let defences = &self.machine.options.defences;
        if !self.candidate.is_foreign() {
            return None;
        }
        let (wall, ran) = measurement.elsewhere;
        if defences.quiet && ran > NOISE && ran > wall / 10 {
            return Some(not_quiet(measurement.elsewhere));
        }
        let (candidate, others) = measurement.sides.split_last()?;
        let hidden = defences.clock.then(|| unexplained_time(others, candidate)).flatten();
        hidden.map(clock_disagrees)
    }

    fn refuse_impossible(&self, candidate: &SideRounds, bound: Duration) -> Result<(), Failure> {
        if !self.candidate.is_foreign() || !self.machine.options.defences.clock {
            return Ok(());
        }
        let median = summarize(&candidate.times.e2e_ns, &[]).median_ns;
        if median >= bound.as_nanos() as f64 {
            return Ok(());
        }
        let message = format!(
            "a median of {median} ns is not possible: a call and writing {} bytes take {bound:?} at least",
            self.output_bytes
        );
        Err(Failure::new(Status::Integrity, "impossible_time", message))
    }

    fn timed_call_seed(&self, number: u64) -> u64 {
        if self.machine.options.defences.contents {
            self.seeds.seed("timed calls", number) >> 1
        } else {
            self.rounds(&[])[0].call_seed
        }
    }

    /// Returns a plan for calls with contents of these pools, without samples. Earlier calls have used `seen` windows of the pools.
    pub(super) fn measurement_plan<'p>(
        &'p self,
        pools: &'p Pools,
        seen: u64,
        call_seed: u64,
        seed: u64,
    ) -> MeasurementPlan<'p> {
        let Machine { settings, options, .. } = self.machine;
        MeasurementPlan {
            settings,
            pools,
            seen,
            restore: self.restore,
            overwrite: options.defences.poison,
            call_seed,
            seed,
            deadline: self.deadline,
            output_bytes: self.output_bytes,
            output_limit: MAX_OUTPUT,
            check_clock: options.defences.clock,
            sample: false,
        }
    }

    /// Runs the measurement with the given number, on contents that no call has seen. The device is locked only while the sides run;
    /// results are compared afterwards.
    fn measure_once(
        &mut self,
        number: u64,
        sides: &mut [&mut Worker],
        contents: &mut TimedContents,
        at: i32,
    ) -> Result<(Measurement, Suspects), Stop> {
        let machine = self.machine;
        let at = machine.options.defences.timed.then_some(at);
        let (measuring, waited) = self.acquire_device()?;
        let held = Instant::now();
        // The time limit does not include the wait for other evaluations.
        self.deadline += waited;
        sides.iter().for_each(|side| side.pin(&machine.cores.timing));
        let (call_seed, seed) = (self.timed_call_seed(number), self.seeds.seed("blocks", number));
        let plan = MeasurementPlan {
            sample: at.is_some() && machine.settings.mode == Mode::Sound,
            ..self.measurement_plan(&contents.pools, contents.seen, call_seed, seed)
        };
        let mut outputs = KeptOutputs::new(&contents.pools, self.guard(), at, plan.call_seed);
        let measurement = plan.run(sides, &mut |seen| outputs.enter(seen));
        let measurement = measurement.map_err(|fault| of_side(fault, sides))?;
        let seen = contents.seen;
        if let Some(candidate) = sides.last() {
            self.refuse_moved(candidate, &machine.cores.timing)?;
        }
        if let Some(cores) = &machine.cores.other {
            sides.iter().for_each(|side| side.pin(cores));
        }
        self.report.cost.held_ns += elapsed(held);
        drop(measuring);
        self.report.evidence.timed_calls_checked += outputs.rounds();
        self.report.evidence.timed_calls_sampled += outputs.sampled();
        let (sampled, kept) =
            self.unlimited(|_| Ok::<_, Stop>((outputs.sampled_suspect(seen)?, outputs.suspects()?)))?;
        // The candidate has seen these windows even if the measurement is discarded later.
        contents.enter(measurement.made);
        Ok((measurement, Suspects { kept, sampled }))
    }

    /// Records the measurements. Returns a failure if they are unstable.
    pub(super) fn record(&mut self, route: &Route, measured: &PathMeasurements) -> Result<Option<Failure>, Stop> {
        let settings = &self.machine.settings;
        let Some(last) = measured.best.first().map(|first| first.sides.len() - 1) else { return Ok(None) };
        let bound = least_time(settings.device, settings.threads, self.output_bytes);
        for measurement in &measured.best {
            self.refuse_impossible(&measurement.sides[last], bound)?;
        }
        let control = usize::from(measured.has_control);
        let id = self.keep_trials(route, &measured.best, control, last)?;
        let mut timings = Vec::new();
        // If the path without rewriting is eager mode itself, both baselines are the same measurement.
        for (baseline, side) in [(Baseline::Eager, 0), (Baseline::Control, control)] {
            let what = (route.path, baseline, side);
            let Some(mut timing) = describe(what, &measured.best, settings, measured.remeasured, bound) else {
                let message = "the calls are too short to be measured: their median is zero";
                return Ok(Some(Failure::new(Status::Unstable, "no_ratio", message)));
            };
            timing.raw = Some(id.clone());
            timings.push(timing);
        }
        let failure = self.instability(measured, &mut timings);
        self.report.timings.extend(timings);
        Ok(failure)
    }

    /// Stores every trial time in a blob.
    fn keep_trials(
        &mut self,
        route: &Route,
        measurements: &[Measurement],
        control: usize,
        last: usize,
    ) -> Result<ContentId, Stop> {
        let side = |side: usize| pooled(measurements.iter().map(|one| one.sides[side].times.clone()));
        let mut rounds: Vec<usize> = measurements.iter().map(|one| one.sides[last].times.e2e_ns.len()).collect();
        if rounds.windows(2).all(|pair| pair[0] == pair[1]) {
            rounds.clear();
        }
        let times = TrialTimes {
            schema_version: SCHEMA_VERSION,
            path: Some(route.path),
            unit: TimeUnit::Ns,
            calls: measurements.first().map_or(1, |first| first.calls),
            rounds,
            eager: side(0),
            control: side(control),
            candidate: side(last),
        };
        let raw = serde_json::to_vec(&times).map_err(|error| Stop::Fault(std::io::Error::from(error).into()))?;
        let id = ContentId::of(&raw);
        self.report.blobs.push(raw);
        Ok(id)
    }

    /// Returns the reason why the measurements are too unstable for a verdict, if they are.
    fn instability(&self, measured: &PathMeasurements, timings: &mut [Timing]) -> Option<Failure> {
        let settings = &self.machine.settings;
        let fluctuations = measured.best.iter().map(|one| one.fluctuation);
        let worst = fluctuations.max_by(|one, other| one.largest().total_cmp(&other.largest())).unwrap_or_default();
        if worst.largest() > settings.max_fluctuation {
            let message = format!(
                "{}, in {} measurements; the machine is busy or the run time depends on the values",
                worst.describe(settings.max_fluctuation),
                measured.remeasured + 1
            );
            return Some(Failure::new(Status::Unstable, "fluctuation", message));
        }
        let differs = timings.iter().position(|timing| disagree(&timing.pairs))?;
        timings.iter_mut().for_each(|timing| timing.stable = false);
        let ratios: Vec<String> = timings[differs].pairs.iter().map(|pair| format!("{:.3}", pair.ratio)).collect();
        let message = format!(
            "pairs of fresh processes disagree: the same candidate is {} times as fast as the {} baseline; the machine is \
             busy, or a process of one side ran at another speed for its whole life",
            ratios.join(" and then "),
            timings[differs].baseline
        );
        Some(Failure::new(Status::Unstable, "pairs_disagree", message))
    }
}
