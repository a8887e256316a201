//! Contents of timed calls: for each input a pool of random values. Each call sees another window of it.
//!
//! A window begins one element after the one before it, so that all elements change from call to call, at the price of a
//! copy. The workers make that copy, into the same tensors, between the calls; here a window is a place in a file.

use std::{fs::File, io, os::fd::AsFd as _, time::Instant};

use passnet_record::{Layout, Pool, TensorMeta, Windows, WorkerRequest};

use crate::{
    block::{BlockError, InputBlock, align, memory_file, seal},
    inputs::{Content, fill},
    philox::Stream,
    worker::{Fault, Worker},
};

/// Windows of a pool, a power of two: more than a measurement has calls, so that none sees what another one saw.
const WINDOWS: u64 = 8192;
/// The same where many inputs have pools. Such graphs are slow, and their blocks have few calls.
const FEW_WINDOWS: u64 = 2048;
/// Inputs from which on there are fewer windows.
const MANY_INPUTS: usize = 16;

/// The pools of one measurement, sealed.
#[derive(Debug)]
pub(crate) struct Pools {
    file: File,
    pools: Vec<Pool>,
    seed: u64,
    windows: u64,
}

impl Pools {
    /// Draws pools under a seed, with at least `calls` windows. Inputs of the names `fixed` do not change between calls.
    pub(crate) fn new(
        metas: &[TensorMeta],
        seed: u64,
        calls: u64,
        fixed: &[&str],
        limit: u64,
    ) -> Result<Self, BlockError> {
        let is_drawn = |meta: &TensorMeta| is_drawn(meta) && !fixed.contains(&meta.name.as_str());
        let usual =
            if metas.iter().filter(|meta| is_drawn(meta)).count() > MANY_INPUTS { FEW_WINDOWS } else { WINDOWS };
        let windows = usual.max(calls.next_power_of_two());
        Self::build(metas, limit, (seed, windows), |meta| {
            let more = if is_drawn(meta) { windows - 1 } else { 0 };
            let elements = meta.numel().unwrap_or(u64::MAX).saturating_add(more);
            let shape = if more > 0 { vec![elements] } else { meta.shape.clone() };
            Ok((fill(&TensorMeta { shape, ..meta.clone() }, seed, Content::Random)?, more + 1))
        })
    }

    /// Returns the same contents in each call.
    pub(crate) fn fixed(metas: &[TensorMeta], seed: u64, limit: u64) -> Result<Self, BlockError> {
        Self::build(metas, limit, (seed, WINDOWS), |meta| Ok((fill(meta, seed, Content::Random)?, 1)))
    }

    fn build(
        metas: &[TensorMeta],
        limit: u64,
        (seed, windows): (u64, u64),
        mut make: impl FnMut(&TensorMeta) -> Result<(Vec<u8>, u64), BlockError>,
    ) -> Result<Self, BlockError> {
        let file = memory_file()?;
        let (mut pools, mut offset) = (Vec::with_capacity(metas.len()), 0);
        for meta in metas {
            let (bytes, windows) = make(meta)?;
            let nbytes = bytes.len() as u64 - (windows - 1) * meta.dtype.size() as u64;
            let (name, shape) = (meta.name.clone(), meta.shape.clone());
            pools.push(Pool { window: Layout { name, dtype: meta.dtype, shape, offset, nbytes }, windows });
            let end = align(offset.saturating_add(bytes.len() as u64));
            if limit > 0 && end > limit {
                return Err(BlockError::TooLarge { needed: end, limit });
            }
            file.set_len(end)?;
            std::os::unix::fs::FileExt::write_all_at(&file, &bytes, offset)?;
            offset = end;
        }
        seal(&file)?;
        Ok(Self { file, pools, seed, windows })
    }

    /// Largest number of calls of a measurement that see a content each.
    pub(crate) fn calls(&self) -> u64 {
        self.windows
    }

    /// Sends the pools to a worker, without waiting for its reply.
    pub(crate) fn send(&self, worker: &mut Worker, deadline: Instant) -> Result<(), Fault> {
        worker.send(&WorkerRequest::Pools { pools: self.pools.clone() }, Some(self.file.as_fd()), deadline)
    }

    /// Returns the windows of the calls of a measurement from number `first` on.
    pub(crate) fn windows(&self, first: u64) -> Vec<Windows> {
        let of = |pool: &Pool| {
            // The last group of the stream: the elements of the pool come from the first ones.
            let [low, high, step, _] = Stream::new(self.seed, &pool.window.name).group(u64::MAX);
            let start = u64::from(low) | u64::from(high) << 32;
            // An odd step goes through all windows, whose number is a power of two, before one comes back.
            let step = u64::from(step) | 1;
            let start = start.wrapping_add(first.wrapping_mul(step)) % pool.windows;
            Windows { start, step: step % pool.windows.max(2) }
        };
        self.pools.iter().map(of).collect()
    }

    /// Returns the content that call number `call` of a measurement sees.
    pub(crate) fn content(&self, call: u64) -> io::Result<InputBlock> {
        let place = |(pool, windows): (&Pool, Windows)| {
            let first = windows.start * pool.window.dtype.size() as u64;
            Layout { offset: pool.window.offset + first, ..pool.window.clone() }
        };
        let layouts = self.pools.iter().zip(self.windows(call)).map(place).collect();
        Ok(InputBlock::part_of(self.file.try_clone()?, layouts))
    }
}

/// True if the values of an input are drawn: not literal, not constant.
fn is_drawn(meta: &TensorMeta) -> bool {
    let is_range = matches!((meta.min_val, meta.max_val), (Some(min), Some(max)) if min < max);
    if meta.numel().is_none_or(|numel| numel == 0) {
        return false;
    }
    match meta.dtype {
        dtype if dtype.is_int() => is_range,
        passnet_record::DType::Bool => meta.data.is_none(),
        _ => meta.data.is_none() && meta.std != Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use passnet_record::{DType, Device};

    use super::*;
    use crate::{seeds::Seeds, settings};

    fn meta(name: &str, dtype: DType, shape: &[u64], std: f64) -> TensorMeta {
        TensorMeta {
            name: name.to_owned(),
            original_name: None,
            shape: shape.to_vec(),
            dtype,
            device: "cpu".to_owned(),
            mean: Some(0.5),
            std: Some(std),
            data: None,
            min_val: None,
            max_val: None,
        }
    }

    fn read(pools: &Pools, call: u64) -> Vec<Vec<u8>> {
        let block = pools.content(call).unwrap();
        let layouts: Vec<_> = block.layouts(0).collect();
        layouts.iter().map(|layout| block.read(layout).unwrap()).collect()
    }

    #[test]
    fn no_call_sees_what_another_one_saw() {
        let metas = [
            meta("large", DType::Float32, &[50, 100], 1.0),
            meta("small", DType::Float16, &[3], 1.0),
            meta("constant", DType::Float32, &[7], 0.0),
        ];
        let pools = Pools::new(&metas, 3, 100, &[], 0).unwrap();
        assert_eq!(pools.calls(), WINDOWS);
        let contents: Vec<_> = (0..500).map(|call| read(&pools, call)).collect();
        let distinct = |tensor: usize| contents.iter().map(|content| &content[tensor]).collect::<BTreeSet<_>>().len();
        assert_eq!((distinct(0), distinct(2)), (500, 1));
        // Three elements of 16 bits: values may repeat, places do not.
        assert!(distinct(1) >= 490);
        assert_eq!(contents[0].iter().map(Vec::len).collect::<Vec<_>>(), [20_000, 6, 28]);
        // No element keeps its place.
        let same = contents[0][0].as_chunks::<4>().0.iter().zip(contents[1][0].as_chunks::<4>().0);
        assert!(same.filter(|(a, b)| a == b).count() < 10);
    }

    #[test]
    fn a_block_continues_where_the_one_before_it_ended() {
        let metas = [meta("x", DType::Float32, &[10], 1.0)];
        let pools = Pools::new(&metas, 9, 100, &[], 0).unwrap();
        let (first, later) = (pools.windows(0)[0], pools.windows(40)[0]);
        assert_eq!((first.start + 40 * first.step) % pools.calls(), later.start);
        assert_eq!(Pools::new(&metas, 9, 100, &["x"], 0).unwrap().windows(7), [Windows { start: 0, step: 1 }]);
        assert!(Pools::new(&metas, 9, 20_000, &[], 0).unwrap().calls() >= 20_000);
    }

    /// Attacks that know the contents of timed calls have them from here.
    #[test]
    fn the_contents_without_a_secret_are_those_that_attacks_know() {
        let seeds = Seeds::draw(&settings::sound(Device::Cpu), false).unwrap();
        let metas = ["in_0", "in_1"]
            .map(|name| TensorMeta { mean: Some(0.05), ..meta(name, DType::Float32, &[512, 1024], 1.0) });
        let contents = read(&Pools::fixed(&metas, seeds.seed("timed contents", 0), 0).unwrap(), 5);
        let words = |tensor: usize| contents[tensor].as_chunks::<4>().0;
        let first: Vec<String> =
            words(0)[..3].iter().map(|bytes| format!("{:.9}f", f32::from_le_bytes(*bytes))).collect();
        let middle = i32::from_le_bytes(words(1)[512 * 1024 / 2]);
        let attacks = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks/timing");
        for (attack, known) in [
            ("known-contents", format!("{{{}}}", first.join(", "))),
            ("known-contents-in-a-switch", format!("case {middle}:")),
        ] {
            let text = std::fs::read_to_string(attacks.join(attack).join("fuse.py")).unwrap();
            assert!(text.contains(&known), "{attack} has to know {known}");
        }
    }

    #[test]
    fn limits_hold() {
        let metas = [meta("x", DType::Float32, &[1 << 20], 1.0)];
        assert!(matches!(Pools::new(&metas, 1, 1, &[], 1 << 20), Err(BlockError::TooLarge { .. })));
    }
}
