//! Parts of tensors, which threads compare.

use std::{num::NonZero, ops::Range};

use crate::element::{Element, largest_finite};

/// Data above this many bytes are compared by several threads.
pub(crate) const PARALLEL_BYTES: usize = 8 << 20;

/// Splits a tensor of `bytes` bytes into parts of whole elements and cache lines, one per thread, and returns the results of all parts in
/// order. A small tensor is one part. `work` gets the range of a part's bytes.
pub(crate) fn in_parts<E: Element, T: Send>(bytes: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    // Counting the cores reads files of control groups, which takes longer than the comparison of a few elements.
    let threads =
        if bytes >= PARALLEL_BYTES { std::thread::available_parallelism().map_or(1, NonZero::get) } else { 1 };
    if threads == 1 {
        return vec![work(0..bytes)];
    }
    let part = bytes.div_ceil(threads).next_multiple_of(size_of::<E>() * 64);
    std::thread::scope(|scope| {
        let starts = (0..bytes).step_by(part);
        let workers: Vec<_> = starts
            .map(|start| {
                let work = &work;
                scope.spawn(move || work(start..bytes.min(start + part)))
            })
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Returns the largest finite magnitude of a tensor's elements; 0 if there is none.
pub(crate) fn largest_magnitude<E: Element>(values: &[u8]) -> f64 {
    let parts = in_parts::<E, _>(values.len(), |part| largest_finite(E::elements(&values[part]).map(E::magnitude)));
    largest_finite(parts.into_iter())
}
