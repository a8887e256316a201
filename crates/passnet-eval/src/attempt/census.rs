//! Whose work the result is: which kernels ran, and whether the result needs those of the pass.

use passnet_record::{Status, Watch};

use super::{
    Attempt,
    check::MAX_OUTPUT,
    stop::{OrStop as _, Stop, block_stop},
};
use crate::{
    block::InputBlock,
    failure::Failure,
    inputs::Content,
    integrity,
    judge::{pair, same_bytes},
    philox::Stream,
    worker::{Fault, Worker},
};

impl Attempt<'_> {
    /// Runs the candidate four more times, on two contents in turn: under watch, twice as it is, and with its kernels
    /// doing nothing. If the last gives what the same content gave before, although memory that was left over holds the
    /// other's, somebody else does the work.
    pub(super) fn take_census(&mut self, candidate: &mut Worker) -> Result<(), Stop> {
        let seeds = Stream::new(self.referee.settings.seed, "census").group(0);
        let contents = [seeds[0], seeds[1]].map(|seed| (u64::from(seed), Content::Random));
        let limit = self.referee.settings.memory_bytes;
        let block = InputBlock::new(self.sample.metas(), &contents, limit).map_err(block_stop)?;
        let (plain, call_seed) = (Watch::default(), u64::from(seeds[2]));
        let mut call = |set: usize, watch: Watch| {
            self.send_inputs(candidate, &block, set..set + 1)?;
            self.send_call(candidate, set, call_seed, watch)?;
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
        let makes_tensors = format!("violation:{}", integrity::MAKES_TENSORS);
        if !watched.outputs.notes.contains(&makes_tensors) {
            return Ok(());
        }
        let right = call(1, plain).candidate(phase)?;
        let other = call(0, plain).candidate(phase)?;
        let idle = match call(1, Watch { idle: true, ..plain }) {
            Ok(idle) => idle,
            // Nothing says that a graph can bear what its kernels leave undone.
            Err(Fault::Failed(_) | Fault::Died { .. } | Fault::Deadline) => return Ok(()),
            Err(fault) => return Err(fault).candidate(phase),
        };
        let same = |a, b, set| pair(a, b, &block, set, false).is_ok_and(|pairs| same_bytes(&pairs));
        if same(&right, &idle, 1) && !same(&right, &other, 1) {
            let message = "the result is the same when the kernels of the pass do nothing; compute it in them";
            return Err(Failure::new(Status::Integrity, "idle_kernels", message).into());
        }
        Ok(())
    }
}
