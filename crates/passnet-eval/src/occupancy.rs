//! Shared and sole use of the memory of a device.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Pause between two looks at whether the wait was halted.
const PAUSE: Duration = Duration::from_millis(50);
/// Time after which an evaluation that waits to be the only one lets no other begin. A run ends before: while such evaluations wait, fewer
/// run at the same time, so that the memory suffices, and the last ones follow each other. A server never runs out of evaluations.
const PATIENCE: Duration = Duration::from_secs(180);

/// Evaluations of this process that hold memory on a device. Usually there are several. An evaluation that ran out of memory is repeated
/// as the only one, so that its verdict does not depend on the others.
#[derive(Debug, Default)]
pub(crate) struct Occupancy {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Evaluations on the device.
    present: usize,
    /// Evaluations that have waited too long to be the only one. Others do not begin before them.
    overdue: usize,
    /// True while the evaluation on the device is the only one that may be there.
    is_sole: bool,
}

/// Number of evaluations that may be on the device at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Any number.
    Shared,
    /// Only one.
    Sole,
}

/// Presence of one evaluation on the device. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Occupant<'a>(&'a Occupancy);

impl Occupancy {
    /// Waits until an evaluation with this share may begin. Returns `None` if `is_halted` becomes true before.
    pub(crate) fn enter(&self, share: Share, is_halted: impl Fn() -> bool) -> Option<Occupant<'_>> {
        self.enter_within(share, PATIENCE, is_halted)
    }

    fn enter_within(&self, share: Share, patience: Duration, is_halted: impl Fn() -> bool) -> Option<Occupant<'_>> {
        let (begin, mut is_overdue) = (Instant::now(), false);
        let mut state = self.lock();
        let may_begin = |state: &State| match share {
            Share::Shared => !state.is_sole && state.overdue == 0,
            Share::Sole => state.present == 0,
        };
        while !may_begin(&state) && !is_halted() {
            if share == Share::Sole && !is_overdue && begin.elapsed() >= patience {
                is_overdue = true;
                state.overdue += 1;
            }
            state = self.changed.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.overdue -= usize::from(is_overdue);
        if !may_begin(&state) {
            self.changed.notify_all();
            return None;
        }
        state.present += 1;
        state.is_sole = share == Share::Sole;
        Some(Occupant(self))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Occupant<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.present -= 1;
        state.is_sole = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_sole_evaluation_is_alone_and_others_continue_afterwards() {
        let (occupancy, present, sole) = (Occupancy::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for number in 0..24 {
                let share = if number % 6 == 0 { Share::Sole } else { Share::Shared };
                let (occupancy, present, sole) = (&occupancy, &present, &sole);
                scope.spawn(move || {
                    let _here = occupancy.enter(share, || false).unwrap();
                    present.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    if share == Share::Sole {
                        assert_eq!(present.load(Ordering::SeqCst), 1);
                        sole.fetch_add(1, Ordering::SeqCst);
                    }
                    present.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(sole.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn an_overdue_evaluation_lets_no_other_begin_before_it_and_a_halt_ends_the_wait() {
        let occupancy = Occupancy::default();
        let first = occupancy.enter(Share::Shared, || false).unwrap();
        assert!(occupancy.enter(Share::Sole, || true).is_none(), "another evaluation is on the device");
        drop(occupancy.enter(Share::Shared, || true).expect("nothing waits any more"));
        std::thread::scope(|scope| {
            let patient = scope.spawn(|| occupancy.enter(Share::Sole, || false).map(drop));
            drop(occupancy.enter(Share::Shared, || false).expect("a patient evaluation does not come first"));
            let sole = scope.spawn(|| occupancy.enter_within(Share::Sole, Duration::ZERO, || false).map(drop));
            while occupancy.lock().overdue == 0 {
                std::thread::yield_now();
            }
            assert!(occupancy.enter(Share::Shared, || true).is_none(), "the sole evaluation comes first");
            drop(first);
            assert!(sole.join().unwrap().is_some() && patient.join().unwrap().is_some());
        });
        assert!(occupancy.enter(Share::Shared, || false).is_some());
    }
}
