//! Calls of a kernel with access only to its tensors, so that accesses outside of them are detected.
//!
//! The kernel gets copies. Each copy is at one end of separate pages, with closed pages on both sides. Copies of `const`
//! arguments are read-only. The kernel runs in a forked process without any other memory (`forked`). Some calls use the
//! tensors in place, with the same addresses as in timed calls.
//!
//! If a fork is not possible, or a call has many launches, the kernel runs in this process. There, the first access to a closed page is
//! recorded, the pages are opened, and the kernel continues. The call ends normally, but its results are not used.

mod fault;
mod inputs;
mod memory;
mod reach;
mod region;

use std::{
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};

pub use inputs::protect_inputs;
pub use memory::{ALIGNMENT, GuardPlace, StrayAccess, TensorMemory};
use region::{GUARD, OverlapCopy};

use super::{
    containers,
    entry::Entry,
    keep::{Access, Reach},
    place::PlacedImage,
    split::{self, Range},
};
use crate::random::random_word;

/// Bytes of tensors above which a call is not guarded, because copies need the same amount of memory again.
const MOST_BYTES: usize = 256 << 20;
/// Number of launches of a call that are forked. Launch `n` after them is forked with a chance of this number divided by `n`. In guarded
/// calls among timed ones, launches are counted from a random one.
const FORKED: u64 = 8;

static SIDE: AtomicU8 = AtomicU8::new(0);
/// Number of launches since the side was set.
static LAUNCHES: AtomicU64 = AtomicU64::new(0);
/// Number of launches of the last guarded call.
static KNOWN_LAUNCHES: AtomicU64 = AtomicU64::new(0);
/// Number of the launch from which launches are counted.
static FIRST_LAUNCH: AtomicU64 = AtomicU64::new(0);
/// Lock for one call at a time, because the handler of faults knows only one list of regions.
static CALL: Mutex<()> = Mutex::new(());

/// Sets the place of tensors in guarded calls from now on; `None` for unguarded calls.
pub fn set_side(side: Option<GuardPlace>) {
    let launches = LAUNCHES.swap(0, Ordering::Relaxed);
    if launches > 0 {
        KNOWN_LAUNCHES.store(launches, Ordering::Relaxed);
    }
    let first = match side {
        // Otherwise, the last launches of a long call would be forked in few calls only.
        Some(GuardPlace::Hidden) => {
            random_word().map_or(0, |word| word % KNOWN_LAUNCHES.load(Ordering::Relaxed).max(1))
        }
        _ => 0,
    };
    FIRST_LAUNCH.store(first, Ordering::Relaxed);
    let code = match side {
        None => 0,
        Some(GuardPlace::Start) => 1,
        Some(GuardPlace::End) => 2,
        Some(GuardPlace::Home) => 3,
        Some(GuardPlace::Hidden) => 4,
    };
    SIDE.store(code, Ordering::Relaxed);
}

/// Returns the place of tensors in guarded calls; `None` if calls are not guarded.
pub fn side() -> Option<GuardPlace> {
    match SIDE.load(Ordering::Relaxed) {
        1 => Some(GuardPlace::Start),
        2 => Some(GuardPlace::End),
        3 => Some(GuardPlace::Home),
        4 => Some(GuardPlace::Hidden),
        _ => None,
    }
}

/// A kernel that can be called in a forked process.
#[derive(Clone, Copy, Debug)]
pub struct GuardedKernel<'c> {
    /// Image of the kernel.
    pub loaded: &'c PlacedImage,
    /// Function through which the kernel is called.
    pub entry: Entry,
    /// The two parameters that are a range, if the kernel has a range.
    pub range: Option<Range>,
}

/// Calls `work` with `words` that have the addresses of guarded copies, and copies results back. If a fork is possible, calls `callee` in
/// a forked process instead. Returns the first access outside of the tensors, if any; the results are then not usable.
///
/// # Errors
///
/// If the system has no memory. No call was made then.
///
/// # Safety
///
/// The memory of the tensors must be valid, and no other code may change it meanwhile.
#[expect(unsafe_code, reason = "tensors are known by address")]
pub unsafe fn call_guarded(
    words: &[u64],
    tensors: &[TensorMemory],
    side: GuardPlace,
    callee: Option<GuardedKernel<'_>>,
    work: impl FnOnce(&[u64]),
) -> io::Result<Option<StrayAccess>> {
    let _one = CALL.lock().unwrap_or_else(PoisonError::into_inner);
    let tensors = &inputs::without_writes_to_inputs(tensors);
    if tensors.iter().map(|tensor| tensor.nbytes).sum::<usize>() > MOST_BYTES {
        work(words);
        return Ok(None);
    }
    let callee = callee.filter(|_| is_forked());
    if let (GuardPlace::Home | GuardPlace::Hidden, Some(callee)) = (side, callee) {
        let reach = Reach { is_filled: side == GuardPlace::Home, ..Reach::of_tensors(tensors) };
        let arena = if side == GuardPlace::Hidden { containers::of_thread() } else { None };
        if let Some(stray) = in_fork((callee, arena), words, &[], reach, tensors) {
            return Ok(stray);
        }
    }
    if side == GuardPlace::Hidden {
        work(words);
        return Ok(None);
    }
    // SAFETY: the caller guarantees the requirements.
    let regions = unsafe { OverlapCopy::all(tensors, side)? };
    let mut moved = words.to_vec();
    for region in &regions {
        for tensor in &region.tensors {
            moved[tensor.parameter] = region.address_of(tensor) as u64;
        }
    }
    let forked = callee.filter(|_| side != GuardPlace::Home);
    let forked =
        forked.and_then(|callee| in_fork((callee, None), &moved, &regions, Reach::of_regions(&regions), tensors));
    let stray = match forked {
        Some(stray) => stray,
        None => fault::watch(&regions, || work(&moved))?
            .and_then(|fault| regions.get(fault.region).map(|region| region.stray(fault.address, fault.is_write))),
    };
    let stray = stray.or_else(|| regions.iter().find_map(OverlapCopy::write_to_gap));
    for region in &regions {
        // SAFETY: the caller guarantees the requirements.
        unsafe { region.copy_back() };
    }
    Ok(stray)
}

/// Returns whether a launch is forked: the first launches of a call always, later launches by chance.
fn is_forked() -> bool {
    let launch = LAUNCHES.fetch_add(1, Ordering::Relaxed);
    let (first, known) = (FIRST_LAUNCH.load(Ordering::Relaxed), KNOWN_LAUNCHES.load(Ordering::Relaxed));
    let number = number_from(launch, first, known);
    number <= FORKED || random_word().is_ok_and(|word| word % number < FORKED)
}

/// Returns the number of a launch, counted from 1 at launch `first` of `known` launches and continued at the beginning.
fn number_from(launch: u64, first: u64, known: u64) -> u64 {
    if launch >= known || first >= known { launch + 1 } else { (launch + known - first) % known + 1 }
}

/// Calls a kernel in a forked process, with containers in the arena if there is one. Returns the first stray access, if any; `None` if
/// the call has to be made in this process.
#[cfg(target_arch = "x86_64")]
fn in_fork(
    (callee, arena): (GuardedKernel<'_>, Option<(usize, usize)>),
    words: &[u64],
    regions: &[OverlapCopy],
    reach: Reach,
    tensors: &[TensorMemory],
) -> Option<Option<StrayAccess>> {
    use super::forked::{ForkedCall, Outcome, place_of, run};

    let calls = split::calls(words, callee.range, split::threads(), random_word().ok()?);
    let call = ForkedCall { loaded: callee.loaded, entry: callee.entry, calls, reach, arena };
    match run(&call).ok()? {
        Outcome::Done => Some(None),
        Outcome::Other => None,
        Outcome::Container { access } => {
            Some(Some(StrayAccess::Far { place: "memory next to that of a container".to_owned(), access }))
        }
        Outcome::Fault { address, access: access @ (Access::Jump | Access::SystemCall) } => {
            let is_call = access == Access::SystemCall;
            let place = if is_call { format!("system call {address}") } else { place_of(address) };
            Some(Some(StrayAccess::Far { place, access }))
        }
        Outcome::Fault { address, access } => {
            let is_write = access == Access::Write;
            let region = regions.iter().find(|region| address.wrapping_sub(region.mapping().0) < region.mapping().1);
            let near = match region {
                Some(region) => Some(region.stray(address, is_write)),
                None => near(tensors, address, is_write),
            };
            Some(Some(near.unwrap_or_else(|| StrayAccess::Far { place: place_of(address), access })))
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn in_fork(
    _: (GuardedKernel<'_>, Option<(usize, usize)>),
    _: &[u64],
    _: &[OverlapCopy],
    _: Reach,
    _: &[TensorMemory],
) -> Option<Option<StrayAccess>> {
    None
}

/// Describes an access to an address near a tensor.
fn near(tensors: &[TensorMemory], address: usize, is_write: bool) -> Option<StrayAccess> {
    let distance = |tensor: &&TensorMemory| {
        let end = tensor.address + tensor.nbytes;
        if address < tensor.address { tensor.address - address } else { (address + 1).saturating_sub(end) }
    };
    let used = tensors.iter().filter(|tensor| tensor.nbytes > 0);
    let tensor = used.min_by_key(distance).filter(|tensor| distance(tensor) < GUARD)?;
    let offset = address as i64 - tensor.address as i64;
    Some(StrayAccess::Near { parameter: tensor.parameter, offset, nbytes: tensor.nbytes, is_write })
}

#[cfg(target_arch = "x86_64")]
#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a guarded call of `work` on a tensor of `count` floats sees; `work` gets the address of the copy.
    fn seen(count: usize, is_written: bool, side: GuardPlace, work: impl FnOnce(*mut f32)) -> Option<StrayAccess> {
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
            call_guarded(&[7, tensor.address as u64, 9], &[tensor], side, None, |words| {
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
    fn each_launch_is_the_first_one_of_some_guarded_call() {
        for first in 0..20 {
            let mut numbers: Vec<u64> = (0..20).map(|launch| number_from(launch, first, 20)).collect();
            assert_eq!(numbers[first as usize], 1);
            numbers.sort_unstable();
            assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
        }
        // The first guarded call, and calls with more launches than the last one.
        assert_eq!([number_from(0, 0, 0), number_from(9, 0, 0), number_from(25, 3, 20)], [1, 10, 26]);
    }

    #[test]
    fn accesses_within_a_tensor_are_not_stray() {
        for side in [GuardPlace::Start, GuardPlace::End] {
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
        for (side, place, is_write) in [
            (GuardPlace::Start, -1, false),
            (GuardPlace::Start, -1, true),
            (GuardPlace::End, 1024, false),
            (GuardPlace::End, 1024, true),
        ] {
            // SAFETY: the memory is that of `aligned`.
            #[expect(unsafe_code, reason = "guards memory by address")]
            let stray = unsafe {
                call_guarded(&[address as u64], &[tensor], side, None, |words| {
                    let at = words[0] as *mut f32;
                    if is_write { write(at, place) } else { read(at, place) }
                })
                .unwrap()
            };
            let expected = StrayAccess::Near { parameter: 0, offset: place as i64 * 4, nbytes: 4096, is_write };
            assert_eq!(stray, Some(expected));
        }
    }

    #[test]
    fn writes_to_inputs_and_to_gaps_are_stray() {
        for side in [GuardPlace::Start, GuardPlace::End] {
            let near = |offset, nbytes| Some(StrayAccess::Near { parameter: 1, offset, nbytes, is_write: true });
            assert_eq!(seen(16, false, side, |at| write(at, 3)), near(12, 64));
            // Within the alignment there may be no closed page at this end.
            for place in [-1, 5] {
                assert_eq!(seen(5, true, side, |at| write(at, place)), near(place as i64 * 4, 20), "{side:?}");
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
            call_guarded(&[address as u64, address as u64 + 64], &[input, output], GuardPlace::End, None, |words| {
                assert_eq!(words[1] - words[0], 64);
                (words[1] as *mut f32).write(5.0);
                assert_eq!((words[0] as *const f32).add(16).read(), 5.0);
            })
            .unwrap()
        };
        assert_eq!((stray, values[16], values[17]), (None, 5.0, 1.0));
    }
}
