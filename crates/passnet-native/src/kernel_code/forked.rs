//! Calls of a kernel in a forked process that has only the memory that the kernel may use.
//!
//! The process has the image of the kernel, the C libraries (functions executable, data read-only), the unused part of the stack, and the
//! tensors (inputs read-only, outputs writable). They have the same addresses as in its parent. All other memory is left out of the fork
//! (`MADV_DONTFORK`). The process can only make system calls that end it or that open memory of containers. Any other access is therefore
//! a fault, which the process reports with its address. It has a single thread, and runs no code of the C library that needs a lock or a
//! heap.
//!
//! - `control`: state that both processes see.
//! - `process`: code of the forked process.
//! - `stand_ins`: functions of OpenMP and of memory, for a process without threads and without a heap.
//! - `mappings`: memory to keep, and memory that is left out.
//! - `plan`: data that the parent prepares, in separate memory.

mod control;
mod mappings;
mod plan;
mod process;
mod stand_ins;

use std::{arch::asm, io, sync::atomic::Ordering};

use control::Report;
use mappings::LeftOut;
pub(super) use plan::ForkedCall;
use plan::{Plan, PlanMemory};

use super::{
    call,
    keep::{Access, Keep},
    stack,
};

pub(super) use mappings::place_of;

/// Largest part of the stack, in bytes, that a kernel can use in the forked process.
const STACK: usize = 64 << 20;

/// End of a forked process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The kernel returned, and results are in place.
    Done,
    /// The kernel accessed an address outside of its memory.
    Fault { address: usize, access: Access },
    /// The kernel accessed memory next to that of a container.
    Container { access: Access },
    /// The process ended in another way. The same call in this process shows how.
    Other,
}

/// Makes a call in a forked process and waits for its end.
///
/// # Errors
///
/// If the system has no memory or cannot fork.
pub(super) fn run(forked: &ForkedCall<'_>) -> io::Result<Outcome> {
    let memory = PlanMemory::new(forked)?;
    let (mut keeps, own) = mappings::of_process(STACK)?;
    keeps.push(own);
    let longest = forked.calls.iter().map(Vec::len).max().unwrap_or(0);
    let area = stack::of(forked.loaded.stack(), call::arguments(longest));
    keeps.push(Keep { start: area.bottom, end: area.top, protection: None });
    keeps.extend(memory.keeps());
    let mapping = forked.loaded.mapping();
    keeps.push(Keep { start: mapping.base, end: mapping.end, protection: None });
    keeps.extend(forked.reach.memory.iter().copied());
    keeps.extend(forked.arena.map(|(start, end)| Keep { start, end, protection: None }));
    let plan = plan(forked, &memory, &keeps, area);
    control::make_known(memory.control());
    let left_out = LeftOut::new(&keeps);
    let signals = Blocked::all();
    let child = fork(plan, own.end - 64);
    drop(signals);
    drop(left_out);
    wait(child?)?;
    let control = memory.control();
    let outcome = match control.report() {
        Report::Done => Outcome::Done,
        Report::Fault => {
            let address = control.address.load(Ordering::SeqCst) as usize;
            let access = Access::of_code(control.access.load(Ordering::SeqCst));
            let is_memory = matches!(access, Access::Read | Access::Write);
            let (heap, bytes) = stand_ins::heap(control);
            // Without an arena, an access far beyond a container counts as next to it. Around an arena, there is other memory.
            let bytes = if forked.arena.is_some() { bytes } else { 2 * bytes };
            if is_memory && (heap..heap + bytes).contains(&address) {
                Outcome::Container { access }
            } else {
                Outcome::Fault { address, access }
            }
        }
        Report::Nothing | Report::Other => Outcome::Other,
    };
    if outcome == Outcome::Done {
        memory.results(&forked.reach.results);
    }
    Ok(outcome)
}

fn plan<'m>(forked: &ForkedCall<'_>, memory: &'m PlanMemory, keeps: &[Keep], area: stack::Area) -> &'m Plan<'m> {
    let calls: Vec<&[u64]> = forked.calls.iter().map(|words| memory.place(words)).collect();
    let patches: Vec<_> =
        forked.loaded.slots().iter().filter_map(|(slot, name)| Some((*slot, stand_ins::of(name)?))).collect();
    let protections: Vec<_> = keeps.iter().filter_map(|keep| Some((keep.start, keep.end, keep.protection?))).collect();
    let mapping = forked.loaded.mapping();
    let plan = Plan {
        control: memory.control(),
        entry: forked.entry,
        area,
        level: call::level(),
        calls: memory.place(&calls),
        arena: forked.arena,
        protections: memory.place(&protections),
        fills: memory.place(&forked.reach.fills),
        copy: (!forked.reach.is_filled).then(|| memory.place_room(&forked.reach.fills)),
        exports: memory.place(&memory.exports(&forked.reach.results)),
        patches: memory.place(&patches),
        image: (mapping.base, mapping.constants, mapping.end),
        alternate: memory.alternate(),
        clock: mappings::vdso().unwrap_or((0, 0)),
    };
    &memory.place(&[plan])[0]
}

/// Forks a process that runs `process::main` on a stack that ends at `top`. It makes the system call directly, because the handlers that
/// libraries run at a fork need memory that the new process does not have.
#[expect(unsafe_code, reason = "a system call whose child continues elsewhere")]
fn fork(plan: &Plan<'_>, top: usize) -> io::Result<libc::pid_t> {
    let mut result = libc::SYS_clone;
    // SAFETY: the child has another stack and never comes back here; the parent continues behind the system call.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov rsp, r12",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r14",
            "ud2",
            "2:",
            inout("rax") result,
            in("rdi") libc::SIGCHLD as usize,
            in("rsi") 0_usize,
            in("rdx") 0_usize,
            in("r10") 0_usize,
            in("r8") 0_usize,
            in("r12") top,
            in("r13") std::ptr::from_ref(plan),
            in("r14") process::main as extern "C" fn(&Plan<'_>) -> !,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    match libc::pid_t::try_from(result) {
        Ok(pid) if pid > 0 => Ok(pid),
        _ => Err(io::Error::from_raw_os_error(-result as i32)),
    }
}

/// Waits for the end of a process.
fn wait(pid: libc::pid_t) -> io::Result<()> {
    loop {
        let mut status = 0;
        // SAFETY: the status is this function's own.
        #[expect(unsafe_code, reason = "a system call")]
        let ended = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        if ended == pid {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Guard that blocks the signals of this thread until it is dropped, because handlers of the parent must not run in the child.
struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    #[expect(unsafe_code, reason = "the standard library has no signals")]
    fn all() -> Self {
        // SAFETY: sets of this function's own.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self { before }
        }
    }
}

impl Drop for Blocked {
    #[expect(unsafe_code, reason = "the standard library has no signals")]
    fn drop(&mut self) {
        // SAFETY: what was there before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}
