//! Admission in the order of arrival.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

#[derive(Debug, Default)]
struct Queue {
    free: usize,
    next: u64,
    waiting: VecDeque<u64>,
}

/// Lets a number of evaluations in at once. Who came first goes first, so that of many attempts, each with one evaluation at
/// a time, none starves.
#[derive(Debug)]
pub(crate) struct Gate {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The right to be inside.
#[derive(Debug)]
pub(crate) struct Pass<'a>(&'a Gate);

impl Gate {
    pub(crate) fn new(places: usize) -> Self {
        Self { queue: Mutex::new(Queue { free: places.max(1), ..Queue::default() }), changed: Condvar::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its turn.
    pub(crate) fn enter(&self) -> Pass<'_> {
        let mut queue = self.queue();
        let ticket = queue.next;
        queue.next += 1;
        queue.waiting.push_back(ticket);
        while queue.free == 0 || queue.waiting.front() != Some(&ticket) {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.waiting.pop_front();
        queue.free -= 1;
        drop(queue);
        self.changed.notify_all();
        Pass(self)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.queue().free += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_taken_in_order() {
        let gate = Gate::new(1);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let held = gate.enter();
            for index in 0..20 {
                let (gate, order) = (&gate, &order);
                scope.spawn(move || {
                    let _inside = gate.enter();
                    order.lock().unwrap().push(index);
                });
                // Until it stands in the queue.
                while gate.queue().waiting.len() <= index {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(order.into_inner().unwrap(), (0..20).collect::<Vec<_>>());
    }
}
