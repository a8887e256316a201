//! Memory that a forked process has, and memory that is left out of the fork.

use std::{
    arch::asm,
    cell::Cell,
    ffi::{CStr, c_void},
    fs, io,
    sync::OnceLock,
};

use super::control;
use crate::kernel_code::{containers, keep::Keep, stack};

const PAGE: usize = 4096;
/// End of the addresses of a process.
const END: usize = (1 << 47) - PAGE;
/// Bytes behind the thread pointer with glibc's state of a thread.
const THREAD_STATE: usize = 4096;
/// Libraries of the system that kernels call, and the libraries that these call.
const LIBRARIES: [&str; 5] = ["libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];

/// Returns the memory of libraries, of this module and of the thread, and `stack` bytes of the unused part of the stack.
pub(super) fn of_process(stack: usize) -> io::Result<(Vec<Keep>, Keep)> {
    let mut keeps = libraries();
    let thread = thread_pointer();
    // SAFETY: returns an address that is valid in this thread.
    #[expect(unsafe_code, reason = "thread-local values are known by address")]
    let errno = unsafe { libc::__errno_location() as usize };
    let start = errno.min(thread) / PAGE * PAGE;
    keeps.push(Keep { start, end: (thread + THREAD_STATE).next_multiple_of(PAGE), protection: None });
    if let Some((start, end)) = vdso() {
        keeps.push(Keep { start, end, protection: None });
    }
    let here = stack_pointer() / PAGE * PAGE;
    let low = stack_bottom()?.max(here.saturating_sub(stack) / PAGE * PAGE);
    Ok((keeps, Keep { start: low, end: here, protection: None }))
}

/// Returns the segments of the libraries and of this module. Code is executable, all other segments are read-only. The process has only
/// one page of this module's variables, because other variables differ between checked and timed calls.
fn libraries() -> Vec<Keep> {
    struct Found {
        keeps: Vec<Keep>,
        own: usize,
    }
    #[expect(unsafe_code, reason = "called by C")]
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> libc::c_int {
        // SAFETY: the loader passes valid values, and `found` is that below.
        unsafe {
            let (info, found) = (&*info, &mut *found.cast::<Found>());
            let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
            let name = name.to_str().unwrap_or_default();
            let file = name.rsplit('/').next().unwrap_or_default();
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            let place = |header: &libc::Elf64_Phdr| {
                let start = info.dlpi_addr as usize + header.p_vaddr as usize;
                (start / PAGE * PAGE, start + header.p_memsz as usize)
            };
            let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
            let is_own = loaded.clone().map(place).any(|(start, end)| (start..end).contains(&found.own));
            if !is_own && !LIBRARIES.contains(&file) {
                return 0;
            }
            for header in loaded {
                let (start, end) = place(header);
                let is_code = header.p_flags & libc::PF_X != 0;
                let protection = if is_code { libc::PROT_READ | libc::PROT_EXEC } else { libc::PROT_READ };
                let keep = |start, end| Keep { start, end, protection: Some(protection) };
                if !is_own || header.p_flags & libc::PF_W == 0 {
                    found.keeps.push(keep(start, end.next_multiple_of(PAGE)));
                    continue;
                }
                // Addresses that the loader has filled in and that do not change any more.
                let fixed = headers.iter().filter(|header| header.p_type == libc::PT_GNU_RELRO).map(place);
                let fixed = fixed.map(|(from, to)| (from.max(start), to.min(end) / PAGE * PAGE));
                found.keeps.extend(fixed.filter(|(from, to)| from < to).map(|(from, to)| keep(from, to)));
            }
            if is_own {
                let (start, end) = control::page();
                found.keeps.push(Keep { start, end, protection: Some(libc::PROT_READ) });
            }
        }
        0
    }
    let mut found = Found { keeps: Vec::new(), own: libraries as *const () as usize };
    // SAFETY: the function above gets the address of `found`, which lives meanwhile.
    #[expect(unsafe_code, reason = "the loader's list")]
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut found).cast());
    }
    found.keeps
}

/// Returns the pages with the clock of the Linux kernel (vDSO).
pub(super) fn vdso() -> Option<(usize, usize)> {
    static PAGES: OnceLock<Option<(usize, usize)>> = OnceLock::new();
    *PAGES.get_or_init(|| {
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        let pages = |line: &&str| ["[vdso]", "[vvar]", "[vvar_vclock]"].iter().any(|name| line.ends_with(name));
        let ranges: Vec<_> = maps.lines().filter(pages).filter_map(range).collect();
        Some((ranges.iter().map(|range| range.0).min()?, ranges.iter().map(|range| range.1).max()?))
    })
}

/// Returns the range of a line of `maps`.
fn range(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
}

/// Returns a description of the memory at an address: the name of a file or of an area.
pub(in crate::kernel_code) fn place_of(address: usize) -> String {
    if address < 1 << 16 {
        return "an address near zero".to_owned();
    }
    if address > END {
        return "an address that no process can have, or a clock of the CPU".to_owned();
    }
    if stack::is_around(address) {
        return "the stack outside of its frames".to_owned();
    }
    if containers::is_around(address) {
        return "memory of containers of other calls".to_owned();
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let line = maps.lines().find(|line| range(line).is_some_and(|(start, end)| (start..end).contains(&address)));
    let Some(line) = line else { return "an address without memory".to_owned() };
    let name = line.split_whitespace().nth(5).unwrap_or_default();
    match name {
        "" => "memory of other tensors or of the process".to_owned(),
        "[heap]" => "the heap of the process".to_owned(),
        "[stack]" => "the stack outside of its frames".to_owned(),
        "[vdso]" | "[vvar]" | "[vvar_vclock]" => "the clock of the system".to_owned(),
        _ => name.rsplit('/').next().unwrap_or_default().replace(':', "_"),
    }
}

/// Memory that is left out of processes that are forked while this value lives.
pub(super) struct LeftOut {
    gaps: Vec<(usize, usize)>,
}

impl LeftOut {
    /// Leaves out all memory except `keeps`.
    pub(super) fn new(keeps: &[Keep]) -> Self {
        let mut sorted: Vec<_> = keeps.iter().map(|keep| (keep.start, keep.end)).collect();
        sorted.sort_unstable();
        let (mut gaps, mut end) = (Vec::with_capacity(sorted.len() + 1), PAGE);
        for (start, next) in sorted.into_iter().chain([(END, END)]) {
            if start > end {
                gaps.push((end, start));
            }
            end = end.max(next);
        }
        for &gap in &gaps {
            advise(gap, libc::MADV_DONTFORK);
        }
        Self { gaps }
    }
}

impl Drop for LeftOut {
    fn drop(&mut self) {
        let refused: Vec<_> =
            self.gaps.iter().filter(|gap| advise(**gap, libc::MADV_DOFORK) == Some(libc::EINVAL)).collect();
        if refused.is_empty() {
            return;
        }
        // The advice fails for memory of devices, so the ranges behind such memory are advised separately.
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        for (start, end) in maps.lines().filter_map(range) {
            if refused.iter().any(|gap| gap.0 < end && start < gap.1) {
                advise((start, end), libc::MADV_DOFORK);
            }
        }
    }
}

/// Advises the system about all mapped memory in a range. Returns the error, if any.
fn advise((start, end): (usize, usize), advice: i32) -> Option<i32> {
    // SAFETY: neither advice changes memory of this process.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::madvise(start as *mut c_void, end - start, advice) };
    if status == 0 { None } else { io::Error::last_os_error().raw_os_error() }
}

fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the first word of a thread's state is its own address.
    #[expect(unsafe_code, reason = "a register")]
    unsafe {
        asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    pointer
}

fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    #[expect(unsafe_code, reason = "a register")]
    unsafe {
        asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// Returns the lowest address that this thread's stack can have.
fn stack_bottom() -> io::Result<usize> {
    thread_local! {
        static BOTTOM: Cell<usize> = const { Cell::new(0) };
    }
    if BOTTOM.get() == 0 {
        // SAFETY: attributes of this thread, in a value of this function.
        #[expect(unsafe_code, reason = "the standard library does not have it")]
        unsafe {
            let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
            let (mut address, mut bytes) = (std::ptr::null_mut(), 0);
            let error = libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes);
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            libc::pthread_attr_getstack(&raw const attributes, &raw mut address, &raw mut bytes);
            libc::pthread_attr_destroy(&raw mut attributes);
            BOTTOM.set((address as usize).next_multiple_of(PAGE));
        }
    }
    Ok(BOTTOM.get())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU8;

    use super::*;

    static VARIABLE: AtomicU8 = AtomicU8::new(1);
    static CONSTANT: u8 = 1;

    #[test]
    fn code_and_constants_of_this_module_are_there_and_variables_are_not() {
        let keeps = libraries();
        let has = |address: usize| keeps.iter().any(|keep| (keep.start..keep.end).contains(&address));
        assert!(has(libraries as *const () as usize) && has((&raw const CONSTANT).addr()) && has(control::page().0));
        assert!(!has((&raw const VARIABLE).addr()));
    }
}
