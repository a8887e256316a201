//! Measuring, and what is written down of it.

use passnet_record::{ContentId, Status};
use serde_json::json;

use super::{
    Attempt,
    check::MAX_OUTPUT,
    stop::{OrStop as _, Stop, block_stop},
};
use crate::{
    candidate::Route,
    failure::Failure,
    judge::{judge_timed, pair},
    timing::{Measurement, Plan, SideFault, TimingInputs, describe, unexplained_time},
    worker::{Fault, Worker},
};

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
        let referee = self.referee;
        let settings = &referee.settings;
        let mut inputs = TimingInputs::new(self.sample.metas(), settings, settings.seed ^ 1).map_err(block_stop)?;
        let has_control = control.is_some();
        let mut sides: Vec<&mut Worker> = std::iter::once(reference).chain(control).chain([candidate]).collect();
        let (measuring, waited) = referee.lock.acquire().map_err(|error| Stop::Fault(error.into()))?;
        self.deadline += waited;
        sides.iter().for_each(|side| side.pin(&referee.cores.timing));
        // The next evaluation's workers are forked while this one's wait for the clock, on the cores beside it.
        self.zygote.prepare(sides.len() as u32, referee.cores.spare.clone());
        let mut best: Option<Measurement> = None;
        let mut remeasured = 0;
        loop {
            let plan = Plan {
                settings,
                inputs: &inputs,
                restore: self.restore,
                call_seed: settings.seed >> 1,
                seed: settings.seed.wrapping_add(remeasured.into()),
                deadline: self.deadline,
                output_limit: MAX_OUTPUT,
            };
            let measurement = self.measure_once(&plan, &mut sides, at)?;
            for side in &measurement.sides {
                self.report.cost.trials_ns += side.calls.as_nanos() as u64;
            }
            if best.as_ref().is_none_or(|best| measurement.noise < best.noise) {
                best = Some(measurement);
            }
            let settled = best.as_ref().is_some_and(|best| best.noise <= settings.max_iqr_ratio);
            if settled || remeasured >= settings.max_remeasure {
                break;
            }
            remeasured += 1;
            let seed = settings.seed ^ u64::from(remeasured + 1);
            inputs = TimingInputs::new(self.sample.metas(), settings, seed).map_err(block_stop)?;
        }
        if let Some(cores) = &referee.cores.other {
            sides.iter().for_each(|side| side.pin(cores));
        }
        drop(measuring);
        best.map_or(Ok(None), |best| self.record(route, &best, has_control, remeasured))
    }

    fn measure_once(&mut self, plan: &Plan<'_>, sides: &mut [&mut Worker], at: i32) -> Result<Measurement, Stop> {
        let last = sides.len() - 1;
        let mut wrong = Ok(());
        let mut checked = 0;
        let measurement = plan.run(sides, &mut |returned, block, set| {
            checked += 1;
            if let (Some(expected), Some(got)) = (returned.first(), returned.get(last))
                && wrong.is_ok()
            {
                wrong =
                    pair(expected, got, block, set).map_err(Stop::from).and_then(|pairs| Ok(judge_timed(&pairs, at)?));
            }
        });
        self.report.evidence.timed_calls_checked += checked;
        wrong?;
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
        let settings = &self.referee.settings;
        let (Some(eager), Some(candidate)) = (measurement.sides.first(), measurement.sides.last()) else {
            return Ok(None);
        };
        if self.candidate.is_foreign()
            && let Some(hidden) = unexplained_time(&measurement.sides[..measurement.sides.len() - 1], candidate)
        {
            let message = format!(
                "each block of timed calls took {hidden:?} longer by the referee's clock than its trial times explain; \
                 work must be done inside the timed call"
            );
            return Err(Failure::new(Status::Integrity, "clock_disagrees", message).into());
        }
        let control = if has_control { &measurement.sides[1] } else { eager };
        let raw = json!({
            "path": route.path, "eager": eager, "control": control, "candidate": candidate, "unit": "ns",
        });
        let raw = raw.to_string().into_bytes();
        let id = ContentId::of(&raw);
        self.report.blobs.push(raw);
        // Where the path without rewriting is eager mode itself, both baselines are one measurement.
        for (baseline, side) in [("eager", eager), ("control", control)] {
            let Some(mut timing) = describe(route.path, baseline, (side, candidate), settings, remeasured) else {
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
