//! Contents of timed calls. Each input has a pool of random values, and each call sees a different window of the pool.
//!
//! A window begins one element after the previous window, so all elements change from call to call, and a call costs only one copy.
//! Floating-point values get further random values, the addends, which begin at a different place in each call. No call therefore sees a
//! value of an earlier call, and results cannot be taken from earlier calls. Between the calls, the workers compute the copies and sums
//! in the same tensors.

use std::{fs::File, io, os::fd::AsFd as _, time::Instant};

use passnet_inputs::{ADDENDS, Content, InputError, Parts, Stream, ValueBounds, fill, fill_timed};
use passnet_record::{Addend, DType, Layout, Pool, TensorMeta, Windows, WorkerRequest, add};

use crate::{
    block::{BlockError, InputBlock, align, memory_file, seal},
    worker::{Worker, WorkerFault},
};

/// Number of windows of a pool, a power of two. A measurement has fewer calls, so each call sees a different window.
const WINDOWS: u64 = 65_536;
/// Number of windows of a pool if many inputs have pools. Such graphs are slow, and their blocks have few calls.
const FEW_WINDOWS: u64 = 2048;
/// Number of inputs from which on pools have [`FEW_WINDOWS`].
const MANY_INPUTS: usize = 16;

/// The pools of one measurement, sealed.
#[derive(Debug)]
pub(crate) struct Pools {
    file: File,
    pools: Vec<Pool>,
    /// Seed of the windows of calls; `None` if each call sees the first window and the first addends.
    seed: Option<u64>,
    windows: u64,
}

impl Pools {
    /// Draws pools from a seed, with at least `calls` windows. Inputs whose names are in `fixed` do not change between calls.
    pub(crate) fn new(
        metas: &[TensorMeta],
        seed: u64,
        calls: u64,
        fixed: &[&str],
        limit: u64,
    ) -> Result<Self, BlockError> {
        let windows = window_count(metas, calls, fixed);
        Self::build(metas, limit, (Some(seed), windows), |meta| {
            let more = if varies(meta, fixed) { windows - 1 } else { 0 };
            let elements = meta.numel().unwrap_or(u64::MAX).saturating_add(more);
            let shape = if more > 0 { vec![elements] } else { meta.shape.clone() };
            let parts = Some(meta).filter(|_| more > 0).and_then(Parts::of);
            let values = match &parts {
                Some(parts) => fill(&TensorMeta { shape, ..parts.values.clone() }, seed, Content::Random)?,
                None => fill_timed(&TensorMeta { shape, ..meta.clone() }, seed)?,
            };
            let addends = parts.map(|parts| Ok((fill(&parts.addends, seed, Content::Random)?, parts.bounds)));
            Ok(Drawn {
                values,
                windows: more + 1,
                addends: addends.transpose().map_err(|error: InputError| BlockError::from(error))?,
            })
        })
    }

    /// Returns pools of the same sizes as those of [`Pools::new`], with which each call sees the first set of a block.
    pub(crate) fn holding(
        block: &InputBlock,
        metas: &[TensorMeta],
        calls: u64,
        fixed: &[&str],
        limit: u64,
    ) -> Result<Self, BlockError> {
        let windows = window_count(metas, calls, fixed);
        let mut layouts = block.layouts(0);
        Self::build(metas, limit, (None, windows), |meta| {
            let mut values = match layouts.next() {
                Some(layout) => block.read(&layout)?,
                None => Vec::new(),
            };
            let (more, size) = (if varies(meta, fixed) { windows - 1 } else { 0 }, meta.dtype.size());
            values.resize(values.len() + more as usize * size, 0);
            let addends = Some(meta).filter(|_| more > 0).and_then(Parts::of).map(|_| negative_zeros(size));
            Ok(Drawn { values, windows: more + 1, addends: addends.map(|zeros| (zeros, (None, None))) })
        })
    }

    /// Returns pools with which each call sees the same contents.
    pub(crate) fn fixed(metas: &[TensorMeta], seed: u64, limit: u64) -> Result<Self, BlockError> {
        Self::build(metas, limit, (Some(seed), WINDOWS), |meta| {
            Ok(Drawn { values: fill(meta, seed, Content::Random)?, windows: 1, addends: None })
        })
    }

    fn build(
        metas: &[TensorMeta],
        limit: u64,
        (seed, windows): (Option<u64>, u64),
        mut make: impl FnMut(&TensorMeta) -> Result<Drawn, BlockError>,
    ) -> Result<Self, BlockError> {
        let file = memory_file()?;
        let (mut pools, mut end) = (Vec::with_capacity(metas.len()), 0_u64);
        let mut place = |bytes: &[u8]| {
            let offset = end;
            end = align(offset.saturating_add(bytes.len() as u64));
            if limit > 0 && end > limit {
                return Err(BlockError::TooLarge { needed: end, limit });
            }
            file.set_len(end)?;
            std::os::unix::fs::FileExt::write_all_at(&file, bytes, offset)?;
            Ok(offset)
        };
        for meta in metas {
            let Drawn { values, windows, addends } = make(meta)?;
            let nbytes = values.len() as u64 - (windows - 1) * meta.dtype.size() as u64;
            let (name, shape) = (meta.name.clone(), meta.shape.clone());
            let window = Layout { name, dtype: meta.dtype, shape, offset: place(&values)?, nbytes };
            let addend = match addends {
                Some((bytes, (low, high))) => Some(Addend { offset: place(&bytes)?, elements: ADDENDS, low, high }),
                None => None,
            };
            pools.push(Pool { window, windows, addend });
        }
        seal(&file)?;
        Ok(Self { file, pools, seed, windows })
    }

    /// Returns the largest number of calls that each see a different content.
    pub(crate) fn calls(&self) -> u64 {
        self.windows
    }

    /// Sends the pools to a worker, without waiting for its reply.
    pub(crate) fn send(&self, worker: &mut Worker, deadline: Instant) -> Result<(), WorkerFault> {
        worker.send(&WorkerRequest::Pools { pools: self.pools.clone() }, Some(self.file.as_fd()), deadline)
    }

    /// Returns the windows of the calls of a measurement from number `first` on.
    pub(crate) fn windows(&self, first: u64) -> Vec<Windows> {
        let of = |pool: &Pool| {
            let Some(seed) = self.seed else {
                return Windows { start: 0, step: 0, addend_start: 0, addend_step: 0 };
            };
            // The last groups of the stream are used, because the elements of the pool come from the first groups.
            let stream = Stream::new(seed, &pool.window.name);
            let [low, high, step, _] = stream.group(u64::MAX);
            let start = u64::from(low) | u64::from(high) << 32;
            // The number of windows is a power of two, so an odd step visits all windows before it repeats one.
            let step = u64::from(step) | 1;
            let start = start.wrapping_add(first.wrapping_mul(step)) % pool.windows;
            let [from, by, _, _] = stream.group(u64::MAX - 1).map(u64::from);
            let elements = pool.addend.as_ref().map_or(1, |addend| addend.elements);
            let by = 1 + by % elements.saturating_sub(1).max(1);
            let addend_start = (u128::from(from) + u128::from(first) * u128::from(by)) % u128::from(elements);
            let addend_step = if pool.addend.is_some() { by } else { 0 };
            Windows { start, step: step % pool.windows.max(2), addend_start: addend_start as u64, addend_step }
        };
        self.pools.iter().map(of).collect()
    }

    /// Returns the content that call number `call` of a measurement sees.
    pub(crate) fn content(&self, call: u64) -> io::Result<InputBlock> {
        let first =
            |(pool, windows): (&Pool, &Windows)| pool.window.offset + windows.start * pool.window.dtype.size() as u64;
        let windows = self.windows(call);
        if self.pools.iter().all(|pool| pool.addend.is_none()) {
            let place = |of: (&Pool, &Windows)| Layout { offset: first(of), ..of.0.window.clone() };
            let layouts = self.pools.iter().zip(&windows).map(place).collect();
            return Ok(InputBlock::part_of(self.file.try_clone()?, layouts));
        }
        let (file, mut layouts, mut end) = (memory_file()?, Vec::with_capacity(self.pools.len()), 0_u64);
        for of @ (pool, windows) in self.pools.iter().zip(&windows) {
            let mut bytes = self.read(first(of), pool.window.nbytes)?;
            if let Some(addend) = &pool.addend {
                let dtype = pool.window.dtype;
                let addends = self.read(addend.offset, addend.elements * dtype.size() as u64)?;
                let values = bytes.clone();
                add(dtype, &values, &addends, windows.addend_start, (addend.low, addend.high), &mut bytes);
            }
            layouts.push(Layout { offset: end, ..pool.window.clone() });
            let offset = end;
            end = align(offset + pool.window.nbytes);
            file.set_len(end)?;
            std::os::unix::fs::FileExt::write_all_at(&file, &bytes, offset)?;
        }
        seal(&file)?;
        Ok(InputBlock::part_of(file, layouts))
    }

    fn read(&self, offset: u64, nbytes: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; nbytes as usize];
        std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut bytes, offset)?;
        Ok(bytes)
    }
}

/// Values of one input.
struct Drawn {
    values: Vec<u8>,
    windows: u64,
    /// Values to add, and the bounds of sums.
    addends: Option<(Vec<u8>, ValueBounds)>,
}

/// Returns the number of windows of each pool, for at least `calls` calls.
fn window_count(metas: &[TensorMeta], calls: u64, fixed: &[&str]) -> u64 {
    let many = metas.iter().filter(|meta| varies(meta, fixed)).count() > MANY_INPUTS;
    (if many { FEW_WINDOWS } else { WINDOWS }).max(calls.next_power_of_two())
}

/// Returns addends that leave every value as it is, also a zero of either sign. `size` is the number of bytes of an addend.
fn negative_zeros(size: usize) -> Vec<u8> {
    let mut zeros = vec![0; ADDENDS as usize * size];
    zeros.iter_mut().skip(size - 1).step_by(size).for_each(|highest| *highest = 0x80);
    zeros
}

/// Returns whether an input sees a different window in each call. Inputs whose names are in `fixed` do not.
fn varies(meta: &TensorMeta, fixed: &[&str]) -> bool {
    is_drawn(meta) && !fixed.contains(&meta.name.as_str())
}

/// Returns whether the values of an input are random: neither literal nor constant.
fn is_drawn(meta: &TensorMeta) -> bool {
    let is_range = matches!((meta.min_val, meta.max_val), (Some(min), Some(max)) if min < max);
    if meta.numel().is_none_or(|numel| numel == 0) {
        return false;
    }
    match meta.dtype {
        dtype if dtype.is_int() => is_range,
        DType::Bool => meta.data.is_none(),
        _ => meta.data.is_none() && meta.std != Some(0.0),
    }
}

#[cfg(test)]
mod tests;
