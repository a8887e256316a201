//! Calls of a kernel in which neither the stack nor the registers contain values of earlier calls or of its callers. The status of the x87
//! floating-point unit is clear as well: its exception flags would tell whether an earlier call had rounded.

use std::sync::atomic::{AtomicBool, Ordering};

use passnet_objects::StackUse;

use super::entry::Entry;
#[cfg(target_arch = "x86_64")]
use super::{containers::RunningCall, stack};

/// True in workers of the referee.
static HIDES_STATE: AtomicBool = AtomicBool::new(false);

/// Makes this process call kernels with clean stacks and registers from now on. Programs of users call kernels like other functions: no
/// measurement depends on them, and signal handlers and profilers expect the stack of the thread.
pub fn hide_state() {
    HIDES_STATE.store(true, Ordering::Relaxed);
}

/// Returns whether kernels of this process are called with clean stacks and registers.
pub fn hides_state() -> bool {
    HIDES_STATE.load(Ordering::Relaxed)
}

/// Calls a kernel on a cleared [`stack`], with cleared registers. Its arguments are on that stack as well.
///
/// # Safety
///
/// `entry` must be a loaded function. `words` must have one word for each of its parameters, and the memory that the function accesses
/// through them must be valid.
#[expect(unsafe_code, reason = "the caller vouches for the arguments")]
pub unsafe fn call(entry: Entry, words: &[u64], stack: StackUse) {
    #[cfg(target_arch = "x86_64")]
    {
        let area = stack::of(stack, arguments(words.len()));
        let _running = RunningCall::begin();
        // SAFETY: the caller guarantees the requirements; the area is this thread's, and no call of it is running.
        stack::with_current(stack, || unsafe { call_on(area, entry, words, level()) });
        stack::release(area);
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = stack;
        // SAFETY: the caller guarantees the requirements.
        unsafe { entry(words.as_ptr()) }
    }
}

/// Calls a kernel's function in a thread that the kernel has started, with an unchanged pointer. In the thread that called the kernel,
/// the function runs on the stack of the kernel.
///
/// # Safety
///
/// As [`call`], with the argument of the function.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the caller vouches for the arguments")]
pub(super) unsafe fn call_in_thread(entry: Entry, argument: *const u64, stack: StackUse) {
    if stack::current().is_some() {
        // SAFETY: the caller guarantees the requirements.
        return unsafe { entry(argument) };
    }
    let area = stack::of(stack, 0);
    // SAFETY: the caller guarantees the requirements; the area is this thread's, and no call of it is running.
    stack::with_current(stack, || unsafe { clean::call(entry, argument, (area, area.top), level()) });
    stack::release(area);
}

/// Returns the number of bytes that this number of arguments takes on a stack.
#[cfg(target_arch = "x86_64")]
pub(super) fn arguments(words: usize) -> usize {
    (words * size_of::<u64>()).next_multiple_of(64)
}

/// Calls a kernel on a stack whose uncleared part is zero, on a CPU with vector registers of a [`level`].
///
/// # Safety
///
/// As [`call`]; nothing uses the stack.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the caller vouches for the arguments")]
pub(super) unsafe fn call_on(area: stack::Area, entry: Entry, words: &[u64], level: u8) {
    let first = area.top - arguments(words.len());
    // SAFETY: the caller guarantees the requirements; the area has room for the arguments.
    unsafe {
        std::ptr::write_bytes(first as *mut u8, 0, area.top - first);
        std::ptr::copy_nonoverlapping(words.as_ptr(), first as *mut u64, words.len());
        clean::call(entry, first as *const u64, (area, first), level);
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use clean::level;

#[cfg(target_arch = "x86_64")]
mod clean {
    use std::{
        arch::asm,
        sync::atomic::{AtomicU8, Ordering},
    };

    use crate::kernel_code::{entry::Entry, stack::Area};

    const UNKNOWN: u8 = u8::MAX;
    /// Bit of a level, set if the system lets programs use the base of `gs`.
    const HAS_BASE: u8 = 4;
    /// Bit of this feature in the second word of the system's list of features.
    const FSGSBASE: libc::c_ulong = 2;

    /// Returns the level of this CPU: 0 for SSE, 1 for AVX, 2 for AVX-512, with the bit [`HAS_BASE`] if it applies.
    pub(in crate::kernel_code) fn level() -> u8 {
        static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);
        let known = LEVEL.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        let has_wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        let vectors = if has_wide { 2 } else { u8::from(is_x86_feature_detected!("avx")) };
        // SAFETY: a question about the system.
        #[expect(unsafe_code, reason = "the standard library does not have it")]
        let features = unsafe { libc::getauxval(libc::AT_HWCAP2) };
        let level = vectors | if features & FSGSBASE != 0 { HAS_BASE } else { 0 };
        LEVEL.store(level, Ordering::Relaxed);
        level
    }

    /// Clears a stack below an address and the registers, and calls the function on this stack. The base of `gs` stores the caller's
    /// stack pointer meanwhile, because kernels have no instruction that reads it. If this base is not available, `r15` stores it.
    ///
    /// # Safety
    ///
    /// As `super::call`; the address is one of the area, aligned to 64 bytes; `level` is that of this CPU.
    #[expect(unsafe_code, reason = "the compiler does not clear what it does not use")]
    pub(super) unsafe fn call(entry: Entry, argument: *const u64, (area, top): (Area, usize), level: u8) {
        let bytes = area.cleared - (area.top - top);
        // SAFETY: the stack is unused. All registers that are changed are declared so, or kept on the old stack.
        unsafe {
            asm!(
                "push rbx; push rbp; mov rbx, rdi",
                "mov rdi, rsi; xor eax, eax; cld; rep stosq",
                "test r14d, 4; jz 2f",
                "rdgsbase rax; push rax; mov r15, rsp; wrgsbase r15; xor r15d, r15d",
                "jmp 3f",
                "2:",
                "mov r15, rsp",
                "3:",
                "mov rsp, r13; mov rdi, rbx",
                "test r14d, 3; jz 4f",
                "vzeroall",
                "test r14d, 2; jz 5f",
                "vpxord zmm16, zmm16, zmm16; vpxord zmm17, zmm17, zmm17; vpxord zmm18, zmm18, zmm18; vpxord zmm19, zmm19, zmm19",
                "vpxord zmm20, zmm20, zmm20; vpxord zmm21, zmm21, zmm21; vpxord zmm22, zmm22, zmm22; vpxord zmm23, zmm23, zmm23",
                "vpxord zmm24, zmm24, zmm24; vpxord zmm25, zmm25, zmm25; vpxord zmm26, zmm26, zmm26; vpxord zmm27, zmm27, zmm27",
                "vpxord zmm28, zmm28, zmm28; vpxord zmm29, zmm29, zmm29; vpxord zmm30, zmm30, zmm30; vpxord zmm31, zmm31, zmm31",
                "kxorq k0, k0, k0; kxorq k1, k1, k1; kxorq k2, k2, k2; kxorq k3, k3, k3",
                "kxorq k4, k4, k4; kxorq k5, k5, k5; kxorq k6, k6, k6; kxorq k7, k7, k7",
                // This path needs no `vzeroupper`: the upper halves of registers 0 to 15 are clear, and those of 16 to 31 do not count.
                "jmp 5f",
                "4:",
                "xorps xmm0, xmm0; xorps xmm1, xmm1; xorps xmm2, xmm2; xorps xmm3, xmm3; xorps xmm4, xmm4; xorps xmm5, xmm5",
                "xorps xmm6, xmm6; xorps xmm7, xmm7; xorps xmm8, xmm8; xorps xmm9, xmm9; xorps xmm10, xmm10",
                "xorps xmm11, xmm11; xorps xmm12, xmm12; xorps xmm13, xmm13; xorps xmm14, xmm14; xorps xmm15, xmm15",
                "5:",
                // Reading the status is five times as cheap as clearing it.
                "fnstsw ax; test ax, ax; jz 8f; fninit; 8:",
                "xor eax, eax; xor ecx, ecx; xor edx, edx; xor esi, esi; xor ebx, ebx; xor ebp, ebp; xor r13d, r13d",
                "xor r8d, r8d; xor r9d, r9d; xor r10d, r10d; xor r11d, r11d",
                "cld",
                "call r12",
                "test r14d, 4; jz 6f",
                "rdgsbase r15; mov rsp, r15; pop rax; wrgsbase rax",
                "jmp 7f",
                "6:",
                "mov rsp, r15",
                "7:",
                "pop rbp; pop rbx",
                inout("rdi") argument => _,
                inout("rsi") area.top - area.cleared => _,
                inout("rcx") bytes / 8 => _,
                inout("r12") entry => _,
                inout("r13") top => _,
                inout("r14d") u32::from(level) => _,
                out("r15") _,
                clobber_abi("C"),
            );
        }
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use std::arch::asm;

    use super::*;

    /// Writes two words to its first argument: the bitwise or of all values on the stack below it, and its stack pointer. It also fills
    /// this part of the stack.
    #[expect(unsafe_code, reason = "a kernel that looks where kernels must not")]
    unsafe extern "C" fn look(words: *const u64) {
        // SAFETY: the words are the address of two others and of the first byte of the stack.
        unsafe {
            let (seen, here): (u64, u64);
            asm!("mov {}, rsp", out(reg) here);
            let (out, bottom) = (*words as *mut u64, *words.add(1));
            asm!(
                "xor {seen}, {seen}",
                "mov {at}, {bottom}",
                "2: or {seen}, [{at}]",
                "mov qword ptr [{at}], 7",
                "add {at}, 8",
                "lea {end}, [rsp - 1024]",
                "cmp {at}, {end}",
                "jb 2b",
                seen = out(reg) seen, at = out(reg) _, end = out(reg) _, bottom = in(reg) bottom,
            );
            out.write(seen);
            out.add(1).write(here);
        }
    }

    #[test]
    #[expect(unsafe_code, reason = "calls a kernel")]
    fn a_kernel_has_a_stack_of_its_own_without_values() {
        for stack in [StackUse::Bytes(64), StackUse::Bytes(100_000), StackUse::Unbounded] {
            let area = stack::of(stack, 64);
            for _ in 0..3 {
                let mut seen = [1_u64; 2];
                let words = [seen.as_mut_ptr() as u64, area.bottom as u64];
                // SAFETY: the words are what the function reads.
                unsafe { call(look, &words, stack) };
                assert_eq!(seen[0], 0, "{stack:?}");
                assert!((area.bottom..area.top).contains(&(seen[1] as usize)), "{stack:?}");
            }
        }
    }

    /// Writes the status of the floating-point unit to its argument, then rounds a quotient, which sets a flag of the status.
    #[expect(unsafe_code, reason = "a kernel that looks where kernels must not")]
    unsafe extern "C" fn look_at_status(words: *const u64) {
        // SAFETY: the word is the address of another.
        unsafe {
            let status: u64;
            asm!("xor eax, eax; fnstsw ax; fld1; fldpi; fdivp; fstp st(0)", out("rax") status);
            (*words as *mut u64).write(status);
        }
    }

    #[test]
    #[expect(unsafe_code, reason = "calls a kernel")]
    fn the_status_of_the_floating_point_unit_is_clear() {
        for _ in 0..3 {
            let mut status = 1_u64;
            // SAFETY: the words are what the function reads.
            unsafe { call(look_at_status, &[(&raw mut status) as u64], StackUse::Bytes(64)) };
            assert_eq!(status, 0);
        }
    }

    #[test]
    #[expect(unsafe_code, reason = "calls a kernel")]
    fn calls_within_a_call_continue_on_its_stack() {
        unsafe extern "C" fn outer(words: *const u64) {
            // SAFETY: the words are those of `look`.
            unsafe { call_in_thread(look, words, StackUse::Bytes(64)) }
        }
        let area = stack::of(StackUse::Bytes(9000), 64);
        let mut seen = [1_u64; 2];
        // SAFETY: as above.
        unsafe { call(outer, &[seen.as_mut_ptr() as u64, area.bottom as u64], StackUse::Bytes(9000)) };
        assert_eq!(seen[0], 0);
        assert!((area.bottom..area.top).contains(&(seen[1] as usize)));
    }
}
