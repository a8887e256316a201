//! Contents of timed calls: made and sent before the device is locked, so that no other evaluation waits for them.

use passnet_record::Weights;

use super::{
    context::GraphEvaluation,
    stop::{Stop, block_stop},
};
use crate::{pools::Pools, schedule::least_calls, timing::SideFault, worker::Worker};

/// Pools, and how many of their windows a call has seen.
pub(super) struct TimedContents {
    pub(super) pools: Pools,
    /// Calls of earlier measurements, each with a separate window.
    pub(super) seen: u64,
    /// Calls of the last measurement.
    last: u64,
    /// The workers have them.
    pub(super) is_sent: bool,
}

impl TimedContents {
    /// True if another measurement like the last one finds a new window for each call.
    pub(super) fn has_room(&self) -> bool {
        self.seen + self.last <= self.pools.calls()
    }

    /// Notes that a measurement has seen the next `calls` windows.
    pub(super) fn enter(&mut self, calls: u64) {
        (self.seen, self.last) = (self.seen + calls, calls);
    }
}

impl GraphEvaluation<'_> {
    /// Makes contents that no call has seen, for the measurement of a number and those after it.
    pub(super) fn timed_contents(&self, number: u64) -> Result<TimedContents, Stop> {
        let (metas, settings) = (self.sample.metas(), &self.machine.settings);
        let least = least_calls(settings);
        let pools = if self.machine.options.defences.contents {
            let seed = self.seeds.seed("timed contents", number);
            // Weights that are state of the module stay as they are while it is timed.
            let fixed: Vec<&str> = match settings.weights {
                Weights::Static => self.sample.weights().collect(),
                Weights::Inputs => Vec::new(),
            };
            Pools::new(metas, seed, least, &fixed, settings.memory_bytes)
        } else {
            Pools::fixed(metas, self.seeds.seed("timed contents", 0), settings.memory_bytes)
        };
        Ok(TimedContents { pools: pools.map_err(block_stop)?, seen: 0, last: least, is_sent: false })
    }

    /// Sends contents to all sides that lack them. All sides create their tensors at the same time.
    pub(super) fn send_contents(
        &self,
        contents: &mut TimedContents,
        sides: &mut [&mut Worker],
    ) -> Result<(), SideFault> {
        if std::mem::replace(&mut contents.is_sent, true) {
            return Ok(());
        }
        // Those that they had are no longer needed.
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
