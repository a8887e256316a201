//! Code of the forked process. It uses no heap, no locks and no thread-local values: it only makes system calls and copies, and calls the
//! kernel.

use std::{mem, ptr, slice, sync::atomic::Ordering};

use super::{
    control::{Control, Report, control, leave},
    plan::Plan,
    stand_ins,
};
use crate::kernel_code::{
    call,
    keep::{Access, FILLER},
};

/// Signals that the code of a kernel can cause.
const FAULTS: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGSYS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
/// Number of the CPU exception for an impossible address, and for reading a clock that is switched off.
const GENERAL_PROTECTION: i64 = 13;
/// Bits of the error code of a page fault.
const WRITE: i64 = 1 << 1;
const FETCH: i64 = 1 << 4;

/// Closes all memory that the kernel does not need, calls the kernel, and ends the process.
pub(super) extern "C" fn main(plan: &Plan<'_>) -> ! {
    if !(catch_faults(plan) && prepare(plan) && confine(plan.control)) {
        leave(Report::Other);
    }
    for words in plan.calls {
        // SAFETY: the caller of a guarded call vouches for the words; this process has the memory.
        #[expect(unsafe_code, reason = "calls a kernel")]
        unsafe {
            call::call_on(plan.area, plan.entry, words, plan.level);
        }
    }
    if let Some(address) = first_changed(plan) {
        report_fault(address, Access::Write);
    }
    for &(from, to, bytes) in plan.exports {
        // SAFETY: a tensor, and the place for its copy in shared memory.
        #[expect(unsafe_code, reason = "tensors are known by address")]
        unsafe {
            ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
        }
    }
    leave(Report::Done)
}

/// Returns the address of the first byte around the tensors that the call has changed.
#[expect(unsafe_code, reason = "tensors are known by address")]
fn first_changed(plan: &Plan<'_>) -> Option<usize> {
    let mut copy = plan.copy;
    plan.fills.iter().find_map(|span| {
        // SAFETY: on the pages of a tensor, and the copy of these bytes that `prepare` has made.
        let bytes = |start: usize| unsafe { slice::from_raw_parts(start as *const u8, span.bytes) };
        let (now, before) = (bytes(span.start), copy.map(bytes));
        copy = copy.map(|copy| copy + span.bytes);
        let is_changed = |place: usize| now[place] != before.map_or(FILLER, |before| before[place]);
        (0..span.bytes).find(|&place| is_changed(place)).map(|place| span.start + place)
    })
}

#[expect(unsafe_code, reason = "system calls, and memory by address")]
fn prepare(plan: &Plan<'_>) -> bool {
    let protect = |start: usize, end: usize, protection| {
        // SAFETY: memory of this process, which nothing but the kernel uses.
        unsafe { libc::mprotect(start as *mut libc::c_void, end - start, protection) == 0 }
    };
    let (base, constants, end) = plan.image;
    if !protect(base, end, libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: fills are on the pages of tensors, patches in the image; both can be written to, like the room for the copy.
    unsafe {
        let mut copy = plan.copy;
        for span in plan.fills {
            match copy {
                Some(copy) => ptr::copy_nonoverlapping(span.start as *const u8, copy as *mut u8, span.bytes),
                None => ptr::write_bytes(span.start as *mut u8, FILLER, span.bytes),
            }
            copy = copy.map(|copy| copy + span.bytes);
        }
        for &(place, function) in plan.patches {
            (place as *mut usize).write_unaligned(function);
        }
    }
    // Closes the pages of the system with the clock. Where Linux does not allow this, the filter below still refuses system calls.
    let (start, end_of_clock) = plan.clock;
    if start < end_of_clock {
        protect(start, end_of_clock, libc::PROT_NONE);
    }
    stand_ins::make_heap(plan.control, plan.arena)
        && protect(base, constants, libc::PROT_READ | libc::PROT_EXEC)
        && (constants >= end || protect(constants, end, libc::PROT_READ))
        && plan.protections.iter().all(|&(start, end, protection)| protect(start, end, protection))
}

/// Installs the handler of fault signals, on a separate stack.
#[expect(unsafe_code, reason = "system calls")]
fn catch_faults(plan: &Plan<'_>) -> bool {
    // SAFETY: plain data, valid as zeros; the handler makes one system call; the stack is in the plan's memory.
    unsafe {
        let stack =
            libc::stack_t { ss_sp: plan.alternate.0 as *mut libc::c_void, ss_flags: 0, ss_size: plan.alternate.1 };
        let mut action = mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigfillset(&raw mut action.sa_mask);
        let mut blocked = mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut blocked);
        let mut is_done = libc::sigaltstack(&raw const stack, ptr::null_mut()) == 0;
        for signal in FAULTS {
            is_done &= libc::sigaction(signal, &raw const action, ptr::null_mut()) == 0;
            libc::sigdelset(&raw mut blocked, signal);
        }
        is_done && libc::sigprocmask(libc::SIG_SETMASK, &raw const blocked, ptr::null_mut()) == 0
    }
}

/// Confines the process: allows only the system calls that end it and that open memory of containers, and switches off the CPU's clock.
#[expect(unsafe_code, reason = "system calls")]
fn confine(control: &Control) -> bool {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_GREATER: u16 = 0x25;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    /// Offset of the first argument in the data of a system call.
    const ADDRESS: u32 = 16;
    const ADDRESS_HIGH: u32 = 20;
    const BYTES: u32 = 24;
    const BYTES_HIGH: u32 = 28;
    const PROTECTION: u32 = 32;
    let (start, bytes) = stand_ins::heap(control);
    let of = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let program = [
        of(LOAD, 0, 0, 0),
        of(JUMP_IF_EQUAL, 12, 0, libc::SYS_exit_group as u32),
        of(JUMP_IF_EQUAL, 0, 12, libc::SYS_mprotect as u32),
        of(LOAD, 0, 0, PROTECTION),
        of(JUMP_IF_EQUAL, 0, 10, (libc::PROT_READ | libc::PROT_WRITE) as u32),
        of(LOAD, 0, 0, ADDRESS_HIGH),
        of(JUMP_IF_EQUAL, 0, 8, (start >> 32) as u32),
        of(LOAD, 0, 0, ADDRESS),
        of(JUMP_IF_AT_LEAST, 0, 6, start as u32),
        of(JUMP_IF_AT_LEAST, 5, 0, (start + bytes) as u32),
        of(LOAD, 0, 0, BYTES_HIGH),
        of(JUMP_IF_EQUAL, 0, 3, 0),
        of(LOAD, 0, 0, BYTES),
        of(JUMP_IF_GREATER, 1, 0, bytes as u32),
        of(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        of(RETURN, 0, 0, libc::SECCOMP_RET_TRAP),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: options that touch no memory but the filter.
    unsafe {
        // The process dies with its parent; in a sandbox, it also dies with its namespace.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0);
        libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV as libc::c_ulong, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER as libc::c_ulong, &raw const filter, 0, 0)
                == 0
    }
}

/// Reports a fault and ends the process.
#[expect(unsafe_code, reason = "a signal handler")]
extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes valid pointers.
    let (address, registers) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        ((*info).si_addr() as usize, context.uc_mcontext.gregs)
    };
    let error = registers[libc::REG_ERR as usize];
    match signal {
        libc::SIGSYS => report_fault(registers[libc::REG_RAX as usize] as usize, Access::SystemCall),
        libc::SIGSEGV if registers[libc::REG_TRAPNO as usize] == GENERAL_PROTECTION => {
            report_fault(usize::MAX, Access::Read)
        }
        libc::SIGSEGV | libc::SIGBUS if error & FETCH != 0 => report_fault(address, Access::Jump),
        libc::SIGSEGV | libc::SIGBUS if error & WRITE != 0 => report_fault(address, Access::Write),
        libc::SIGSEGV | libc::SIGBUS => report_fault(address, Access::Read),
        _ => leave(Report::Other),
    }
}

fn report_fault(address: usize, access: Access) -> ! {
    if let Some(control) = control() {
        control.address.store(address as u64, Ordering::SeqCst);
        control.access.store(access as u32, Ordering::SeqCst);
    }
    leave(Report::Fault)
}
