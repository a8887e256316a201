//! The steps of one evaluation, from forking workers to the last measurement.

use std::time::Instant;

use passnet_inputs::Content;
use passnet_record::{CandidateSpec, Depth, Remark, Status, UsagePair, WorkerReply, WorkerRequest};

use super::{
    check::{Batch, Round},
    context::{GraphEvaluation, elapsed},
    measure::PathMeasurements,
    stop::{OrStop as _, Stop, block_stop},
};
use crate::{
    block::BlockError,
    candidate::Route,
    failure::{Failure, no_match},
    integrity,
    judge::RoundTally,
    worker::Worker,
};

/// Workers of one path.
struct Sides<'w> {
    reference: &'w mut Worker,
    control: Option<Worker>,
    candidate: Worker,
}

impl GraphEvaluation<'_> {
    /// Runs all steps. A failure in `Ok` has measurements, which are recorded; a failure in `Err` ended the evaluation before.
    pub(crate) fn run(&mut self, adversarial: &[Content]) -> Result<Option<Failure>, Stop> {
        if let Some(unseen) = self.sample.graph().unseen() {
            let message = format!("{unseen}; its results cannot show whether a candidate is right");
            return Err(Failure::new(Status::ReferenceError, "unseen_results", message).into());
        }
        let routes = self.prepare()?;
        let (scored, others) = routes.split_first().ok_or_else(|| {
            Failure::new(Status::RuntimeError, "no_path", "the settings ask for no path that this author has")
        })?;
        let mut reference = self.fork("reference", false).reference("starting")?;
        let failure = self.route(scored, &mut reference, adversarial, true)?;
        let others = if self.depth >= Depth::Timing { others } else { &[] };
        for route in others {
            if failure.as_ref().is_some_and(|failure| failure.status != Status::Unstable) {
                break;
            }
            // A failure of a path that is not scored must not change the verdict on the scored path.
            match self.route(route, &mut reference, &[], false) {
                Ok(None) => {}
                Ok(Some(failure)) | Err(Stop::Failure(failure)) => {
                    let remark = Remark::PathFailed { path: route.path, code: failure.reason.code };
                    self.report.evidence.notes.push(remark);
                    break;
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(failure)
    }

    /// Loads, checks and measures one path. A failure in `Ok` has measurements, which are recorded; a failure in `Err` ended the path
    /// before.
    fn route(
        &mut self,
        route: &Route,
        reference: &mut Worker,
        adversarial: &[Content],
        scored: bool,
    ) -> Result<Option<Failure>, Stop> {
        let rounds = self.rounds(adversarial);
        let mut batches = self.batches(&rounds)?;
        let mut sides = self.fork_sides(route, reference, "", scored)?;
        // The referee makes inputs while the workers load.
        let first = batches.next().transpose().map_err(block_stop)?;
        self.load(&mut sides, scored)?;
        let tally = self.check_all(&mut sides, first.into_iter().map(Ok).chain(batches), scored)?;
        let failure = tally.failure();
        let Some(tolerance) = tally.tolerance() else { return Ok(failure) };
        let unstable = match self.depth {
            Depth::Timing => self.time(route, &rounds, &mut sides, tolerance, scored)?,
            _ => None,
        };
        if scored && self.depth >= Depth::Timing {
            self.report.evidence.usage = self.usage(&mut sides);
        }
        if scored && self.candidate.is_foreign() && self.machine.options.defences.census {
            self.take_census(&mut sides.candidate)?;
        }
        Ok(failure.or(if scored { unstable } else { None }))
    }

    /// Forks the workers of a path and requests that they load the graph and the candidate.
    fn fork_sides<'w>(
        &mut self,
        route: &Route,
        reference: &'w mut Worker,
        suffix: &str,
        loads_reference: bool,
    ) -> Result<Sides<'w>, Stop> {
        let name = |role: &str| format!("{role}-{:?}{suffix}", route.path).to_lowercase();
        let begin = Instant::now();
        let mut candidate = self.fork(&name("candidate"), self.candidate.is_foreign()).candidate("starting")?;
        let control_spec = route.control.as_ref().filter(|_| self.depth >= Depth::Timing);
        let mut control = match control_spec {
            Some(_) => Some(self.fork(&name("control"), false).reference("starting")?),
            None => None,
        };
        if loads_reference {
            self.send_load(reference, &CandidateSpec::Eager).reference("loading the graph")?;
        }
        self.send_load(&mut candidate, &route.spec).candidate("loading")?;
        if let (Some(control), Some(spec)) = (&mut control, control_spec) {
            self.send_load(control, spec).reference("loading the graph")?;
        }
        self.report.cost.start_ns += elapsed(begin);
        Ok(Sides { reference, control, candidate })
    }

    /// Waits until the workers of a path have loaded, and checks the candidate's report on loading.
    fn load(&mut self, sides: &mut Sides<'_>, scored: bool) -> Result<(), Stop> {
        let begin = Instant::now();
        if scored {
            sides.reference.ready(self.deadline).reference("starting")?;
        }
        sides.candidate.ready(self.deadline).candidate("starting")?;
        if let Some(control) = &mut sides.control {
            control.ready(self.deadline).reference("starting")?;
        }
        self.report.cost.start_ns += elapsed(begin);
        let begin = Instant::now();
        if scored {
            let loaded = self.receive_load(sides.reference).reference("loading the graph")?;
            self.report.evidence.nodes_before = loaded.nodes_before;
        }
        let loaded = self.receive_load(&mut sides.candidate).candidate("loading")?;
        if let Some(control) = &mut sides.control {
            self.receive_load(control).reference("loading the graph")?;
        }
        if scored {
            self.take_evidence(&loaded, &sides.candidate);
        }
        if self.candidate.is_foreign()
            && self.machine.options.defences.diff
            && let Some(failure) = integrity::computed_arguments(&loaded.notes)
        {
            return Err(failure.into());
        }
        if self.candidate.is_foreign() && loaded.passes.iter().all(|pass| pass.matches == 0) {
            return Err(no_match(&loaded.passes).into());
        }
        self.report.cost.load_ns += elapsed(begin);
        Ok(())
    }

    /// Asks both sides for their use of time and memory. Returns `None` if a side does not answer, which does not affect the verdict.
    fn usage(&self, sides: &mut Sides<'_>) -> Option<UsagePair> {
        let ask = |worker: &mut Worker| {
            worker.send(&WorkerRequest::Usage, None, self.deadline).ok()?;
            match worker.receive(self.deadline).ok()? {
                (WorkerReply::Usage(usage), _) => Some(usage),
                _ => None,
            }
        };
        Some(UsagePair { eager: ask(sides.reference)?, candidate: ask(&mut sides.candidate)? })
    }

    /// Runs all checked rounds.
    fn check_all<'r>(
        &mut self,
        sides: &mut Sides<'_>,
        mut batches: impl Iterator<Item = Result<Batch<'r>, BlockError>>,
        scored: bool,
    ) -> Result<RoundTally, Stop> {
        let begin = Instant::now();
        let mut tally = RoundTally::new(self.machine.settings.correct_at);
        let mut check_next = || {
            let Some(batch) = self.unlimited(|_| batches.next()) else { return Ok(false) };
            let (rounds, block) = batch.map_err(block_stop)?;
            self.check(sides.reference, &mut sides.candidate, rounds, &block, &mut tally).map(|()| true)
        };
        let checked = loop {
            match check_next() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(stop) => break Err(stop),
            }
        };
        if scored {
            // No tolerance forgives a failure on adversarial inputs.
            self.report.tolerance = if checked.is_ok() { tally.tolerance() } else { None };
            self.report.outputs = tally.report();
            self.report.evidence.notes.extend(tally.remarks());
        }
        self.report.cost.check_ns += elapsed(begin);
        checked.map(|()| tally)
    }

    /// Measures a path whose outputs are close at a tolerance. If the ratio of the scored path differs from 1, it is measured again in
    /// fresh processes.
    fn time(
        &mut self,
        route: &Route,
        rounds: &[Round],
        sides: &mut Sides<'_>,
        tolerance: i32,
        scored: bool,
    ) -> Result<Option<Failure>, Stop> {
        if let Some(control) = &mut sides.control {
            self.first_call(control).reference("running the control")?;
        }
        let begin = Instant::now();
        // One step looser than in checked calls: timed calls have other contents, on which the same kernel may be further off.
        let at = tolerance.max(self.machine.settings.correct_at) + 1;
        let mut measured = PathMeasurements::new(route.spec.clone());
        let [before, after] = self.disguised(rounds);
        self.check_disguised(route, &before, sides.reference, &mut sides.candidate, at)?;
        self.measure(sides.reference, sides.control.as_mut(), &mut sides.candidate, at, &mut measured)?;
        self.check_disguised(route, &after, sides.reference, &mut sides.candidate, at)?;
        let wanted = if scored { self.machine.settings.pairs as usize } else { 1 };
        // Processes differ in the layout of their memory, so a ratio from one pair of processes may be a property of that pair.
        while measured.pairs() < wanted && measured.differs() {
            self.measure_fresh(route, at, &mut measured)?;
        }
        if measured.pairs() > 1 && measured.are_split() {
            self.measure_fresh(route, at, &mut measured)?;
            let set_aside = measured.set_one_aside().map(|ratio| Remark::PairSetAside { ratio: format!("{ratio:.3}") });
            self.report.evidence.notes.extend(set_aside);
        }
        let unstable = self.record(route, &measured);
        self.report.cost.time_ns += elapsed(begin);
        unstable
    }

    /// Measures a path once more with a newly forked reference, control and candidate.
    fn measure_fresh(&mut self, route: &Route, at: i32, measured: &mut PathMeasurements) -> Result<(), Stop> {
        let number = measured.pairs();
        let mut reference = self.fork(&format!("reference-{number}"), false).reference("starting")?;
        let mut sides = self.fork_sides(route, &mut reference, &format!("-{number}"), true)?;
        self.load(&mut sides, true)?;
        self.first_call(sides.reference).reference("running the graph")?;
        self.first_call(&mut sides.candidate).candidate("running")?;
        if let Some(control) = &mut sides.control {
            self.first_call(control).reference("running the control")?;
        }
        self.measure(sides.reference, sides.control.as_mut(), &mut sides.candidate, at, measured)
    }
}
