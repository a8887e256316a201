//! A counting semaphore that admits waiters in the order of their arrival.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

#[derive(Debug, Default)]
struct Queue {
    free: usize,
    next_ticket: u64,
    waiting: VecDeque<u64>,
}

/// Limits how many evaluations run at a time. First come, first served: with many attempts of one evaluation each, none
/// starves.
#[derive(Debug)]
pub(crate) struct Semaphore {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// One evaluation's right to run, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a>(&'a Semaphore);

impl Semaphore {
    pub(crate) fn new(permits: usize) -> Self {
        Self { queue: Mutex::new(Queue { free: permits.max(1), ..Queue::default() }), changed: Condvar::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a permit.
    pub(crate) fn acquire(&self) -> Permit<'_> {
        let mut queue = self.queue();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push_back(ticket);
        while queue.free == 0 || queue.waiting.front() != Some(&ticket) {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.waiting.pop_front();
        queue.free -= 1;
        drop(queue);
        // Wakes all waiting threads, because a condition variable cannot wake only the next one in order.
        self.changed.notify_all();
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.queue().free += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_given_in_order_of_arrival() {
        let semaphore = Semaphore::new(1);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let held = semaphore.acquire();
            for index in 0..20 {
                let (semaphore, order) = (&semaphore, &order);
                scope.spawn(move || {
                    let _permit = semaphore.acquire();
                    order.lock().unwrap().push(index);
                });
                while semaphore.queue().waiting.len() <= index {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(order.into_inner().unwrap(), (0..20).collect::<Vec<_>>());
    }
}
