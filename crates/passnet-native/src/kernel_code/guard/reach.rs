//! Memory of tensors for a forked process.

use super::{
    memory::TensorMemory,
    region::{OverlapCopy, PAGE},
};
use crate::kernel_code::keep::{ByteRange, Keep, Reach};

impl Reach {
    /// Returns the memory of copies between closed pages. The parent has protected the pages and shares them.
    pub(super) fn of_regions(regions: &[OverlapCopy]) -> Self {
        let keep = |region: &OverlapCopy| {
            let (start, end, is_written) = region.open();
            let protection = if is_written { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
            Keep { start, end, protection: Some(protection) }
        };
        Self { memory: regions.iter().map(keep).collect(), ..Self::default() }
    }

    /// Returns the memory of the tensors themselves: whole pages, which are read-only unless they have a tensor that the kernel may write
    /// to.
    pub(super) fn of_tensors(tensors: &[TensorMemory]) -> Self {
        let used: Vec<_> = tensors.iter().filter(|tensor| tensor.nbytes > 0).collect();
        let pages = |tensor: &TensorMemory| {
            let end = (tensor.address + tensor.nbytes).next_multiple_of(PAGE);
            (tensor.address / PAGE * PAGE, end)
        };
        let mut borders: Vec<usize> = used.iter().flat_map(|tensor| <[usize; 2]>::from(pages(tensor))).collect();
        borders.sort_unstable();
        borders.dedup();
        let mut reach = Self::default();
        for pair in borders.windows(2) {
            let here: Vec<_> =
                used.iter().filter(|tensor| pages(tensor).0 <= pair[0] && pair[1] <= pages(tensor).1).collect();
            if here.is_empty() {
                continue;
            }
            let is_written = here.iter().any(|tensor| tensor.is_written);
            let protection = if is_written { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
            reach.memory.push(Keep { start: pair[0], end: pair[1], protection: Some(protection) });
        }
        let mut spans: Vec<_> = used.iter().map(|tensor| (tensor.address, tensor.address + tensor.nbytes)).collect();
        spans.sort_unstable();
        for keep in &reach.memory {
            let mut place = keep.start;
            for &(start, end) in spans.iter().filter(|(start, _)| *start < keep.end) {
                if start > place {
                    reach.fills.push(ByteRange { start: place, bytes: start - place });
                }
                place = place.max(end).min(keep.end);
            }
            if place < keep.end {
                reach.fills.push(ByteRange { start: place, bytes: keep.end - place });
            }
        }
        let results = used.iter().filter(|tensor| tensor.is_written);
        reach.results = results.map(|tensor| ByteRange { start: tensor.address, bytes: tensor.nbytes }).collect();
        reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(address: usize, nbytes: usize, is_written: bool) -> TensorMemory {
        TensorMemory { parameter: 0, address, nbytes, is_written }
    }

    #[test]
    fn bytes_of_no_tensor_are_filled_and_pages_of_inputs_are_read_only() {
        let reach = Reach::of_tensors(&[
            tensor(0x10_010, 0x20, false),
            tensor(0x10_800, 0x1000, false),
            tensor(0x11_900, 0x10, true),
            tensor(0x20_000, 0x1000, false),
            tensor(0x30_000, 0, true),
        ]);
        let (read, both) = (Some(libc::PROT_READ), Some(libc::PROT_READ | libc::PROT_WRITE));
        let keep = |start, end, protection| Keep { start, end, protection };
        assert_eq!(
            reach.memory,
            [keep(0x10_000, 0x11_000, read), keep(0x11_000, 0x12_000, both), keep(0x20_000, 0x21_000, read)]
        );
        let fills: Vec<_> = reach.fills.iter().map(|span| (span.start, span.bytes)).collect();
        assert_eq!(fills, [(0x10_000, 0x10), (0x10_030, 0x7d0), (0x11_800, 0x100), (0x11_910, 0x6f0)]);
        assert_eq!(reach.results, [ByteRange { start: 0x11_900, bytes: 0x10 }]);
    }
}
