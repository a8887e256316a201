//! Contents of timed calls: made and sent before the device is locked, so that no other evaluation waits for them.

use passnet_record::Weights;

use super::{
    context::GraphEvaluation,
    stop::{Stop, block_stop},
};
use crate::{pools::Pools, schedule::least_calls, timing::SideFault, worker::Worker};

/// Pools, with the number of their windows that calls have used.
pub(super) struct TimedContents {
    pub(super) pools: Pools,
    /// Number of calls of earlier measurements. Each call used a separate window.
    pub(super) seen: u64,
    /// Number of calls of the last measurement.
    last: u64,
    /// True if the workers have these contents.
    pub(super) is_sent: bool,
}

impl TimedContents {
    /// Returns whether the pools have an unused window for each call of another measurement like the last one.
    pub(super) fn has_room(&self) -> bool {
        self.seen + self.last <= self.pools.calls()
    }

    /// Records that a measurement has used the next `calls` windows.
    pub(super) fn enter(&mut self, calls: u64) {
        (self.seen, self.last) = (self.seen + calls, calls);
    }
}

impl<'a> GraphEvaluation<'a> {
    /// Makes contents that no call has seen, for the measurement with the given number and later measurements.
    pub(super) fn timed_contents(&self, number: u64) -> Result<TimedContents, Stop> {
        let (metas, settings) = (self.sample.metas(), &self.machine.settings);
        let least = least_calls(settings);
        let pools = if self.machine.options.defences.contents {
            let seed = self.seeds.seed("timed contents", number);
            Pools::new(metas, seed, least, &self.fixed_inputs(), settings.memory_bytes)
        } else {
            Pools::fixed(metas, self.seeds.seed("timed contents", 0), settings.memory_bytes)
        };
        Ok(TimedContents { pools: pools.map_err(block_stop)?, seen: 0, last: least, is_sent: false })
    }

    /// Returns the inputs that do not change from one timed call to the next: weights that are state of the module.
    pub(super) fn fixed_inputs(&self) -> Vec<&'a str> {
        match self.machine.settings.weights {
            Weights::Static => self.sample.weights().collect(),
            Weights::Inputs => Vec::new(),
        }
    }

    /// Sends contents to all sides that do not have them. All sides create their tensors at the same time.
    pub(super) fn send_contents(
        &self,
        contents: &mut TimedContents,
        sides: &mut [&mut Worker],
    ) -> Result<(), SideFault> {
        if std::mem::replace(&mut contents.is_sent, true) {
            return Ok(());
        }
        // The contents that the sides had are no longer needed.
        self.drop_contents(sides)?;
        for (side, worker) in sides.iter_mut().enumerate() {
            contents.pools.send(worker, self.deadline).map_err(|fault| SideFault { side, fault })?;
        }
        for (side, worker) in sides.iter_mut().enumerate() {
            worker.receive_done(self.deadline).map_err(|fault| SideFault { side, fault })?;
        }
        Ok(())
    }

    /// Makes all sides drop the contents of timed calls.
    pub(super) fn drop_contents(&self, sides: &mut [&mut Worker]) -> Result<(), SideFault> {
        for (side, worker) in sides.iter_mut().enumerate() {
            worker.drop_inputs(self.deadline).map_err(|fault| SideFault { side, fault })?;
        }
        Ok(())
    }
}
