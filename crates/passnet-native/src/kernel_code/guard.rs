//! Calls of a kernel in which pages around each tensor are not accessible, so that an access outside of it is noticed.
//!
//! The kernel gets copies. Each lies at one end of pages of its own, with closed pages on both sides, and copies that it may
//! only read are read-only. The first access to a closed page is recorded, the pages are opened, and the kernel continues:
//! the call ends in an ordinary way, and its results do not matter any more.

mod fault;
mod memory;
mod region;

use std::{
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

pub use memory::{ALIGNMENT, Side, StrayAccess, TensorMemory};
use region::Region;

/// Larger calls are not guarded: copies need as much memory again.
const MOST_BYTES: usize = 256 << 20;

static SIDE: AtomicU8 = AtomicU8::new(0);
/// One call at a time: the handler of faults knows one list of regions.
static CALL: Mutex<()> = Mutex::new(());

/// Sets where tensors of the calls from now on lie; `None` for unguarded calls.
pub fn set_side(side: Option<Side>) {
    SIDE.store(side.map_or(0, |side| if side == Side::Start { 1 } else { 2 }), Ordering::Relaxed);
}

/// Returns where tensors lie in guarded calls; `None` if calls are not guarded.
pub fn side() -> Option<Side> {
    match SIDE.load(Ordering::Relaxed) {
        1 => Some(Side::Start),
        2 => Some(Side::End),
        _ => None,
    }
}

/// Calls `work` with `words` in which the addresses of tensors are those of guarded copies, and copies results back.
/// Returns the first access outside of them.
///
/// # Errors
///
/// Fails where the system gives no memory; nothing was called then.
///
/// # Safety
///
/// The memory of the tensors is there, and nothing else changes it meanwhile.
#[expect(unsafe_code, reason = "tensors are known by address")]
pub unsafe fn call_guarded(
    words: &[u64],
    tensors: &[TensorMemory],
    side: Side,
    work: impl FnOnce(&[u64]),
) -> io::Result<Option<StrayAccess>> {
    let _one = CALL.lock().unwrap_or_else(PoisonError::into_inner);
    if tensors.iter().map(|tensor| tensor.nbytes).sum::<usize>() > MOST_BYTES {
        work(words);
        return Ok(None);
    }
    // SAFETY: the caller's word.
    let regions = unsafe { Region::all(tensors, side)? };
    let mut moved = words.to_vec();
    for region in &regions {
        for tensor in &region.tensors {
            moved[tensor.parameter] = region.address_of(tensor) as u64;
        }
    }
    let fault = fault::watch(&regions, || work(&moved))?;
    let gap = regions.iter().find_map(Region::write_to_gap);
    for region in &regions {
        // SAFETY: the caller's word.
        unsafe { region.copy_back() };
    }
    let faulty =
        fault.and_then(|fault| regions.get(fault.region).map(|region| region.stray(fault.address, fault.is_write)));
    Ok(faulty.or(gap))
}

#[cfg(target_arch = "x86_64")]
#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a guarded call of `work` on a tensor of `count` floats sees; `work` gets the address of the copy.
    fn seen(count: usize, is_written: bool, side: Side, work: impl FnOnce(*mut f32)) -> Option<StrayAccess> {
        let mut values: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let tensor = TensorMemory {
            parameter: 1,
            address: values.as_mut_ptr() as usize,
            nbytes: count * size_of::<f32>(),
            is_written,
        };
        // SAFETY: the memory is that of `values`.
        #[expect(unsafe_code, reason = "guards memory by address")]
        unsafe {
            call_guarded(&[7, tensor.address as u64, 9], &[tensor], side, |words| {
                assert_eq!((words[0], words[2]), (7, 9));
                assert_eq!(words[1] as usize % ALIGNMENT, tensor.address % ALIGNMENT);
                work(words[1] as *mut f32);
            })
            .unwrap()
        }
    }

    #[expect(unsafe_code, reason = "reads outside of a tensor")]
    fn read(at: *mut f32, place: isize) {
        // SAFETY: closed pages are opened when they are read.
        std::hint::black_box(unsafe { at.offset(place).read_volatile() });
    }

    #[expect(unsafe_code, reason = "writes outside of a tensor")]
    fn write(at: *mut f32, place: isize) {
        // SAFETY: as above.
        unsafe { at.offset(place).write_volatile(1.0) }
    }

    #[test]
    fn accesses_within_a_tensor_are_not_stray() {
        for side in [Side::Start, Side::End] {
            for count in [1, 5, 16, 1024, 5000] {
                let all = |at| (0..count as isize).for_each(|place| read(at, place));
                assert_eq!(seen(count, false, side, all), None);
                assert_eq!(seen(count, true, side, |at| write(at, count as isize - 1)), None);
            }
        }
    }

    #[test]
    fn an_element_before_or_behind_a_tensor_is_stray() {
        let mut aligned = vec![0_u8; 8192 + ALIGNMENT];
        let address = (aligned.as_mut_ptr() as usize).next_multiple_of(ALIGNMENT);
        let tensor = TensorMemory { parameter: 0, address, nbytes: 4096, is_written: true };
        for (side, place, is_write) in
            [(Side::Start, -1, false), (Side::Start, -1, true), (Side::End, 1024, false), (Side::End, 1024, true)]
        {
            // SAFETY: the memory is that of `aligned`.
            #[expect(unsafe_code, reason = "guards memory by address")]
            let stray = unsafe {
                call_guarded(&[address as u64], &[tensor], side, |words| {
                    let at = words[0] as *mut f32;
                    if is_write { write(at, place) } else { read(at, place) }
                })
                .unwrap()
            };
            let expected = StrayAccess { parameter: 0, offset: place as i64 * 4, nbytes: 4096, is_write };
            assert_eq!(stray, Some(expected));
        }
    }

    #[test]
    fn writes_to_inputs_and_to_gaps_are_stray() {
        for side in [Side::Start, Side::End] {
            let stray = seen(16, false, side, |at| write(at, 3)).unwrap();
            assert_eq!((stray.offset, stray.is_write), (12, true));
            // Within the alignment there may be no closed page at this end.
            for place in [-1, 5] {
                let stray = seen(5, true, side, |at| write(at, place)).unwrap();
                assert_eq!((stray.offset, stray.is_write), (place as i64 * 4, true), "{side:?}");
            }
        }
    }

    #[test]
    fn results_reach_the_tensor_and_arguments_that_overlap_stay_so() {
        let mut values = vec![1.0_f32; 64];
        let address = values.as_mut_ptr() as usize;
        let input = TensorMemory { parameter: 0, address, nbytes: 128, is_written: false };
        let output = TensorMemory { parameter: 1, address: address + 64, nbytes: 192, is_written: true };
        // SAFETY: the memory is that of `values`.
        #[expect(unsafe_code, reason = "guards memory by address")]
        let stray = unsafe {
            call_guarded(&[address as u64, address as u64 + 64], &[input, output], Side::End, |words| {
                assert_eq!(words[1] - words[0], 64);
                (words[1] as *mut f32).write(5.0);
                assert_eq!((words[0] as *const f32).add(16).read(), 5.0);
            })
            .unwrap()
        };
        assert_eq!((stray, values[16], values[17]), (None, 5.0, 1.0));
    }
}
