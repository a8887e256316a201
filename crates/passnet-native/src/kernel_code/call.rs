//! Calls that show a kernel nothing of earlier ones: neither on the stack nor in registers.

use passnet_objects::StackUse;

use super::entry::Entry;

/// Bytes that are cleared where an object does not say how much stack it uses. Such kernels are compiled so that they
/// initialise all locals; this is for what a compiler leaves out.
const UNBOUNDED: usize = 16 << 10;
/// Bytes that are cleared in one step.
const STEP: usize = 64;

/// Calls a kernel. The stack that it is going to use is cleared, and so are the registers that a caller does not keep.
///
/// # Safety
///
/// `entry` is a function that is loaded; `words` has one word for each of its parameters, and the memory that it touches
/// through them is there.
#[expect(unsafe_code, reason = "the caller vouches for the arguments")]
pub unsafe fn call(entry: Entry, words: &[u64], stack: StackUse) {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the caller's word; the stack below is unused, and the kernel would use as much of it.
        unsafe { call_with(entry, words, stack_bytes(stack), level()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (stack, UNBOUNDED, STEP);
        // SAFETY: the caller's word.
        unsafe { entry(words.as_ptr()) }
    }
}

/// Returns the bytes to clear for a use of the stack.
pub(super) fn stack_bytes(stack: StackUse) -> usize {
    let bytes = match stack {
        StackUse::Bytes(bytes) => usize::try_from(bytes).unwrap_or(UNBOUNDED),
        StackUse::Unbounded => UNBOUNDED,
    };
    bytes.next_multiple_of(STEP).max(STEP)
}

/// Calls a kernel with [`stack_bytes`] cleared, on a CPU with vector registers of a [`level`].
///
/// # Safety
///
/// As [`call`].
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the caller vouches for the arguments")]
pub(super) unsafe fn call_with(entry: Entry, words: &[u64], bytes: usize, level: u8) {
    // SAFETY: the caller's word.
    unsafe { clean::call(entry, words.as_ptr(), bytes, level) }
}

#[cfg(target_arch = "x86_64")]
pub(super) use clean::level;

#[cfg(target_arch = "x86_64")]
mod clean {
    use std::{
        arch::asm,
        sync::atomic::{AtomicU8, Ordering},
    };

    use crate::kernel_code::entry::Entry;

    const UNKNOWN: u8 = u8::MAX;

    /// Vector registers of this CPU: 0 for SSE, 1 for AVX, 2 for AVX-512.
    pub(in crate::kernel_code) fn level() -> u8 {
        static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);
        let known = LEVEL.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        let has_wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        let level = if has_wide { 2 } else { u8::from(is_x86_feature_detected!("avx")) };
        LEVEL.store(level, Ordering::Relaxed);
        level
    }

    /// Clears `bytes` (a multiple of 64) below the stack pointer and the registers, and calls.
    ///
    /// # Safety
    ///
    /// As `super::call`; `level` is that of this CPU.
    #[expect(unsafe_code, reason = "the compiler does not clear what it does not use")]
    pub(super) unsafe fn call(entry: Entry, words: *const u64, bytes: usize, level: u8) {
        // SAFETY: without `nostack` the stack pointer is aligned and nothing below it is in use. All registers that a
        // function of C may change are declared as changed.
        unsafe {
            asm!(
                "xorps xmm0, xmm0",
                "mov rax, rsp",
                "sub rax, rcx",
                // Large areas are faster with the string instruction, which takes a while to start.
                "cmp rcx, 2048",
                "jb 2f",
                "mov r8, rdi; mov rdi, rax; shr rcx, 3; xor eax, eax; cld; rep stosq; mov rdi, r8",
                "jmp 3f",
                "2:",
                "movaps [rax], xmm0",
                "movaps [rax + 16], xmm0",
                "movaps [rax + 32], xmm0",
                "movaps [rax + 48], xmm0",
                "add rax, 64",
                "cmp rax, rsp",
                "jb 2b",
                "3:",
                "test edx, edx",
                "jz 4f",
                "vzeroall",
                "cmp edx, 2",
                "jne 5f",
                "vpxord zmm16, zmm16, zmm16; vpxord zmm17, zmm17, zmm17; vpxord zmm18, zmm18, zmm18; vpxord zmm19, zmm19, zmm19",
                "vpxord zmm20, zmm20, zmm20; vpxord zmm21, zmm21, zmm21; vpxord zmm22, zmm22, zmm22; vpxord zmm23, zmm23, zmm23",
                "vpxord zmm24, zmm24, zmm24; vpxord zmm25, zmm25, zmm25; vpxord zmm26, zmm26, zmm26; vpxord zmm27, zmm27, zmm27",
                "vpxord zmm28, zmm28, zmm28; vpxord zmm29, zmm29, zmm29; vpxord zmm30, zmm30, zmm30; vpxord zmm31, zmm31, zmm31",
                "kxorq k0, k0, k0; kxorq k1, k1, k1; kxorq k2, k2, k2; kxorq k3, k3, k3",
                "kxorq k4, k4, k4; kxorq k5, k5, k5; kxorq k6, k6, k6; kxorq k7, k7, k7",
                // The upper halves of 16 to 31 need no `vzeroupper`; those of 0 to 15 are clean.
                "jmp 5f",
                "4:",
                "xorps xmm1, xmm1; xorps xmm2, xmm2; xorps xmm3, xmm3; xorps xmm4, xmm4; xorps xmm5, xmm5",
                "xorps xmm6, xmm6; xorps xmm7, xmm7; xorps xmm8, xmm8; xorps xmm9, xmm9; xorps xmm10, xmm10",
                "xorps xmm11, xmm11; xorps xmm12, xmm12; xorps xmm13, xmm13; xorps xmm14, xmm14; xorps xmm15, xmm15",
                "5:",
                "xor eax, eax; xor ecx, ecx; xor edx, edx; xor esi, esi",
                "xor r8d, r8d; xor r9d, r9d; xor r10d, r10d; xor r11d, r11d",
                "cld",
                "call r12",
                in("r12") entry,
                inout("rdi") words => _,
                inout("rcx") bytes => _,
                inout("edx") u32::from(level) => _,
                clobber_abi("C"),
            );
        }
    }
}
