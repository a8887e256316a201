//! Measuring, and what is written down of it.

use std::time::Duration;

use passnet_record::{Baseline, ContentId, Device, SCHEMA_VERSION, Status, TimeUnit, TrialTimes};
use rustix::thread::CpuSet;

use super::{
    context::{Attempt, MAX_OUTPUT},
    stop::{OrStop as _, Stop, block_stop},
    suspect::Suspect,
};
use crate::{
    block::InputBlock,
    candidate::Route,
    failure::Failure,
    judge::{pair, wrong_values},
    stats::summarize,
    timing::{Measurement, Plan, SideFault, SideRounds, TimingInputs, describe, unexplained_time},
    worker::{Fault, Worker},
};

/// Repetitions of a disturbed measurement before it counts against the candidate. A machine that is busy with
/// other things loses time too, and drivers and interpreters tidy up now and then, but not in each of so many. The result of a
/// disturbed one is dropped.
const REPEATS: u32 = 3;
/// CPU time below which nothing is concluded: the interpreter's own threads wake up now and then.
const NOISE: Duration = Duration::from_millis(5);

/// Least time of a call that writes so many bytes, by generous bounds of any device of today: a call of a Python function
/// takes 40 ns, the stores of one core are 64 bytes per cycle at 8 GHz; a launch and its synchronisation take 1 us, and no
/// memory takes more than 32 TB/s.
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

fn clock_disagrees(hidden: Duration) -> Failure {
    let message = format!(
        "a usual block of timed calls took {hidden:?} longer by the referee's clock than its trial times explain, in {} \
         measurements; work must be done inside the timed call",
        REPEATS + 1
    );
    Failure::new(Status::Integrity, "clock_disagrees", message)
}

impl Attempt<'_> {
    /// Measures until it is stable or the repetitions are used up. A failure that is given back is instability.
    pub(super) fn measure(
        &mut self,
        route: &Route,
        reference: &mut Worker,
        control: Option<&mut Worker>,
        candidate: &mut Worker,
        at: i32,
    ) -> Result<Option<Failure>, Stop> {
        let machine = self.machine;
        let settings = &machine.settings;
        let has_control = control.is_some();
        let mut sides: Vec<&mut Worker> = std::iter::once(reference).chain(control).chain([candidate]).collect();
        let (measuring, waited) = machine.lock.acquire().map_err(|error| Stop::Fault(error.into()))?;
        self.deadline += waited;
        sides.iter().for_each(|side| side.pin(&machine.cores.timing));
        // The next evaluation's workers are forked while this one's wait for the clock, on the other cores.
        self.zygote.prepare(sides.len() as u32, machine.cores.spare.clone());
        let mut best: Option<Measurement> = None;
        let (mut remeasured, mut disturbed) = (0, 0);
        loop {
            let inputs = self.timing_inputs(1 + remeasured + disturbed)?;
            let plan = Plan {
                settings,
                inputs: &inputs,
                restore: self.restore,
                call_seed: self.timed_call_seed(),
                seed: settings.seed.wrapping_add((remeasured + disturbed).into()),
                deadline: self.deadline,
                output_limit: MAX_OUTPUT,
                check_clock: machine.options.defences.clock,
            };
            let measurement = self.measure_once(&plan, &mut sides, at)?;
            if let Some(candidate) = sides.last() {
                self.refuse_moved(candidate, &machine.cores.timing)?;
            }
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
            if best.as_ref().is_none_or(|best| measurement.noise < best.noise) {
                best = Some(measurement);
            }
            let settled = best.as_ref().is_some_and(|best| best.noise <= settings.max_iqr_ratio);
            if settled || remeasured >= settings.max_remeasure {
                break;
            }
            remeasured += 1;
        }
        if let Some(cores) = &machine.cores.other {
            sides.iter().for_each(|side| side.pin(cores));
        }
        drop(measuring);
        best.map_or(Ok(None), |best| self.record(route, &best, has_control, remeasured))
    }

    /// A process that left its core, or took a higher priority, measures something else.
    fn refuse_moved(&self, candidate: &Worker, cores: &CpuSet) -> Result<(), Failure> {
        let is_watched = self.candidate.is_foreign() && self.machine.options.defences.quiet;
        if is_watched && !candidate.is_where_it_was_put(cores) {
            let message = "a thread of the candidate changed the cores that it may run on, or its priority";
            return Err(Failure::new(Status::Integrity, "placement_changed", message));
        }
        Ok(())
    }

    /// Returns why the times of a measurement are unusable: what a candidate does while it is not called counts against the others,
    /// on whose core it sits, and what it does between its trials is not in their times.
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

    fn timed_call_seed(&self) -> u64 {
        if self.machine.options.defences.contents {
            self.machine.settings.seed >> 1
        } else {
            self.rounds(&[])[0].call_seed
        }
    }

    /// The inputs of the `number`-th measurement.
    fn timing_inputs(&self, number: u32) -> Result<TimingInputs, Stop> {
        let (metas, settings) = (self.sample.metas(), &self.machine.settings);
        let inputs = if self.machine.options.defences.contents {
            TimingInputs::new(metas, settings, settings.seed ^ u64::from(number))
        } else {
            let checked = self.rounds(&[])[0];
            InputBlock::new(metas, &[(checked.inputs_seed, checked.content)], settings.memory_bytes)
                .map(TimingInputs::of)
        };
        inputs.map_err(block_stop)
    }

    fn measure_once(&mut self, plan: &Plan<'_>, sides: &mut [&mut Worker], at: i32) -> Result<Measurement, Stop> {
        let last = sides.len() - 1;
        let mut suspect = Ok(None);
        let mut checked = 0;
        let (timed, guard) = (self.machine.options.defences.timed, self.guard());
        let measurement = plan.run(sides, &mut |returned, block, set| {
            checked += 1;
            if let (Some(expected), Some(got)) = (returned.first(), returned.get(last))
                && matches!(suspect, Ok(None))
                && timed
            {
                suspect = pair(expected, got, block, set, guard)
                    .map_err(Stop::from)
                    .map(|pairs| wrong_values(&pairs, at, None).is_some())
                    .and_then(|is_wrong| is_wrong.then(|| Suspect::new(block, set, expected, got)).transpose());
            }
        });
        self.report.evidence.timed_calls_checked += checked;
        if let (Some(suspect), [reference, .., candidate]) = (suspect?, &mut *sides) {
            self.examine(&suspect, (reference, candidate), plan.call_seed, at)?;
        }
        measurement.map_err(|SideFault { side, fault }| {
            let failed: Result<(), Fault> = Err(fault);
            let stop = if side == last { failed.candidate("being timed") } else { failed.reference("being timed") };
            stop.err().unwrap_or(Stop::Failure(Failure::new(Status::RuntimeError, "raised", "being timed")))
        })
    }

    /// Writes the measurement down; gives back instability as a failure.
    fn record(
        &mut self,
        route: &Route,
        measurement: &Measurement,
        has_control: bool,
        remeasured: u32,
    ) -> Result<Option<Failure>, Stop> {
        let settings = &self.machine.settings;
        let (Some(eager), Some(candidate)) = (measurement.sides.first(), measurement.sides.last()) else {
            return Ok(None);
        };
        let bound = least_time(settings.device, settings.threads, self.output_bytes);
        self.refuse_impossible(candidate, bound)?;
        let control = if has_control { &measurement.sides[1] } else { eager };
        let times = TrialTimes {
            schema_version: SCHEMA_VERSION,
            path: Some(route.path),
            unit: TimeUnit::Ns,
            eager: eager.times.clone(),
            control: control.times.clone(),
            candidate: candidate.times.clone(),
        };
        let raw = serde_json::to_vec(&times).map_err(|error| Stop::Fault(std::io::Error::from(error).into()))?;
        let id = ContentId::of(&raw);
        self.report.blobs.push(raw);
        // Where the path without rewriting is eager mode itself, both baselines are one measurement.
        for (baseline, side) in [(Baseline::Eager, eager), (Baseline::Control, control)] {
            let Some(mut timing) =
                describe(route.path, baseline, (&side.times, &candidate.times), settings, remeasured, bound)
            else {
                let message = "the calls are too short to be measured: their median is zero";
                return Ok(Some(Failure::new(Status::Unstable, "no_ratio", message)));
            };
            timing.raw = Some(id.clone());
            self.report.timings.push(timing);
        }
        if measurement.noise <= settings.max_iqr_ratio {
            return Ok(None);
        }
        let message = format!(
            "IQR / median is {:.2}, more than {:.2}, in the best of {} measurements; the machine is busy or the run time \
             depends on the values",
            measurement.noise,
            settings.max_iqr_ratio,
            remeasured + 1
        );
        Ok(Some(Failure::new(Status::Unstable, "fluctuation", message)))
    }
}
