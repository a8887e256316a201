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
    /// Runs the candidate five more times: once under watch, twice with its kernels doing nothing, and on the two contents of
    /// those as it is. If it comes to the right results without its kernels, somebody else does the work: it has computed on
    /// neither content before, so that no memory that was left over holds them, and they differ, so that one result that lay
    /// there by chance is not enough.
    pub(super) fn take_census(&mut self, candidate: &mut Worker) -> Result<(), Stop> {
        let seeds = Stream::new(self.referee.settings.seed, "census").group(0);
        let limit = self.referee.settings.memory_bytes;
        let block = |seed: u32| InputBlock::new(self.sample.metas(), &[(seed.into(), Content::Random)], limit);
        let blocks = [block(seeds[0]), block(seeds[1]), block(seeds[3])];
        let blocks = blocks.into_iter().collect::<Result<Vec<_>, _>>().map_err(block_stop)?;
        let (plain, call_seed) = (Watch::default(), u64::from(seeds[2]));
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
        let makes_tensors = format!("violation:{}", integrity::MAKES_TENSORS);
        if !watched.outputs.notes.contains(&makes_tensors) {
            return Ok(());
        }
        let mut without = Vec::new();
        for content in [1, 2] {
            match call(content, Watch { idle: true, ..plain }) {
                Ok(idle) => without.push(idle),
                // Nothing says that a graph can bear what its kernels leave undone.
                Err(Fault::Failed(_) | Fault::Died { .. } | Fault::Deadline) => return Ok(()),
                Err(fault) => return Err(fault).candidate(phase),
            }
        }
        let first = call(1, plain).candidate(phase)?;
        let second = call(2, plain).candidate(phase)?;
        let same = |a, b, content: usize| pair(a, b, &blocks[content], 0, false).is_ok_and(|pairs| same_bytes(&pairs));
        if same(&first, &without[0], 1) && same(&second, &without[1], 2) && !same(&first, &second, 1) {
            let message = "the result is the same when the kernels of the pass do nothing; compute it in them";
            return Err(Failure::new(Status::Integrity, "idle_kernels", message).into());
        }
        Ok(())
    }
}
