//! The loop that evaluates the submissions in the inbox of a board.

use std::{sync::atomic::AtomicBool, thread, time::Duration};

use passnet_eval::Referee;
use passnet_run::Suite;

use crate::{error::BoardError, store::Board};

/// Pause between two checks of the inbox.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Pause after a failed evaluation. The cause may be the machine, for example a full disk, and may last a while.
const RETRY_EVERY: Duration = Duration::from_secs(60);

impl Board {
    /// Evaluates the waiting submissions one after the other, and passes one line for each to `say`.
    ///
    /// # Errors
    /// If the referee fails, or the board cannot be written. Submissions that were not evaluated still wait.
    pub fn review_all(
        &self,
        referee: &Referee,
        suite: &Suite,
        stop: &AtomicBool,
        say: &dyn Fn(String),
    ) -> Result<(), BoardError> {
        while let Some((id, state)) = self.review_next(referee, suite, stop)? {
            say(format!("{id}: {state}"));
        }
        Ok(())
    }

    /// Evaluates submissions as they arrive, without end. After a failure, the submission stays in the inbox and is tried again,
    /// because the cause may be the machine.
    pub fn review_forever(&self, referee: &Referee, suite: &Suite, say: &dyn Fn(String)) -> ! {
        let stop = AtomicBool::new(false);
        loop {
            match self.review_all(referee, suite, &stop, say) {
                Ok(()) => thread::sleep(LOOK_EVERY),
                Err(error) => {
                    tracing::error!("a submission could not be evaluated: {error}");
                    thread::sleep(RETRY_EVERY);
                }
            }
        }
    }
}
