//! Census: records the kernels that ran, and tests whether the result needs the kernels of the pass.

use std::{iter::zip, slice::from_ref};

use passnet_inputs::Content;
use passnet_record::{Status, Watch, WatchFinding, WorkerNote};

use super::{
    context::{GraphEvaluation, MAX_OUTPUT},
    stop::{OrStop as _, Stop, block_stop},
};
use crate::{
    failure::Failure,
    integrity,
    judge::{CallProperties, pair, same_bytes},
    worker::{Worker, WorkerFault},
};

impl GraphEvaluation<'_> {
    /// Runs the candidate five more times: once under watch, then on two contents, first with idle kernels and then unchanged. If the
    /// results are right although the kernels do nothing, other code does the work. The candidate has not seen either content before, so
    /// the results cannot be left in memory. The contents differ, so one result that is right by chance is not enough. Before a failure
    /// is reported, the results of the candidate's functions are overwritten once: only outputs that then change depend on these
    /// functions.
    pub(super) fn take_census(&mut self, candidate: &mut Worker) -> Result<(), Stop> {
        let seed = |number| self.seeds.seed("census", number);
        let block = |number| self.inputs(&[(seed(number), Content::Random)]);
        let blocks = [block(0), block(1), block(2)];
        let blocks = blocks.into_iter().collect::<Result<Vec<_>, _>>().map_err(block_stop)?;
        let (plain, call_seed) = (Watch::default(), seed(3) >> 1);
        let mut call = |content: usize, watch: Watch| {
            self.send_inputs(candidate, &blocks[content], 0..1)?;
            self.send_call(candidate, 0, call_seed, watch)?;
            candidate.receive_done(self.deadline)?;
            let returned = candidate.receive_outputs(MAX_OUTPUT, self.deadline);
            candidate.drop_inputs(self.deadline)?;
            returned
        };
        let phase = "being watched";
        let watched = call(0, Watch { census: true, ..self.watch() }).candidate(phase)?;
        if let Some(failure) = integrity::violation_seen(&watched.outputs.notes) {
            return Err(failure.into());
        }
        if !watched.outputs.notes.contains(&WorkerNote::Violation(WatchFinding::MakesTensors)) {
            return Ok(());
        }
        let mut without = Vec::new();
        for content in [1, 2] {
            match call(content, Watch { idle: true, ..plain }) {
                Ok(idle) => without.push(idle),
                // An honest candidate may also fail on the results of idle kernels.
                Err(WorkerFault::Failed(_) | WorkerFault::Died { .. } | WorkerFault::Deadline) => return Ok(()),
                Err(fault) => return Err(fault).candidate(phase),
            }
        }
        let first = call(1, plain).candidate(phase)?;
        let second = call(2, plain).candidate(phase)?;
        let pairs = |a, b, content: usize| pair(a, b, &blocks[content], 0, CallProperties::default()).ok();
        let same = |a, b, content: usize| pairs(a, b, content).is_some_and(|pairs| same_bytes(&pairs));
        if !(same(&first, &without[0], 1) && same(&second, &without[1], 2) && !same(&first, &second, 1)) {
            return Ok(());
        }
        // An honest candidate gets here if the right result equals an input, for example where a mask of ones is multiplied in place.
        let given = |returned, content: usize| {
            let pairs = pairs(returned, returned, content)?;
            pairs.iter().map(|pair| pair.is_input(&blocks[content]).ok()).collect::<Option<Vec<_>>>()
        };
        if let Some((one, other)) = given(&first, 1).zip(given(&second, 2))
            && zip(one, other).all(|(one, other)| one && other)
        {
            return Ok(());
        }
        // An honest candidate also gets here if zero weights multiply the results, or if a result is the same for all inputs and still in
        // memory.
        if let Ok(spoilt) = call(1, Watch { spoil: true, ..plain }) {
            let differ =
                |a, b| Some(pairs(a, b, 1)?.iter().map(|pair| !same_bytes(from_ref(pair))).collect::<Vec<_>>());
            let changes = differ(&first, &spoilt).zip(differ(&first, &second));
            let is_needed = changes.is_none_or(|(of_pass, of_inputs)| zip(of_pass, of_inputs).any(|(a, b)| a && b));
            if !is_needed {
                return Ok(());
            }
            // The results could be values that an earlier call left in memory. These are overwritten now, so the call is repeated.
            let Ok(again) = call(1, Watch { idle: true, ..plain }) else { return Ok(()) };
            if !same(&first, &again, 1) {
                return Ok(());
            }
        }
        let message = "the result is the same when the kernels of the pass do nothing; compute it in them";
        Err(Failure::new(Status::Integrity, "idle_kernels", message).into())
    }
}
