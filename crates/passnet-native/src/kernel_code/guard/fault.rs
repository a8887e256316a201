//! The handler of faults in guarded calls.

use std::{
    io, mem, ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering},
};

use super::region::OverlapCopy;

/// An access to closed pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageFault {
    /// Number of the region.
    pub(super) region: usize,
    pub(super) address: usize,
    pub(super) is_write: bool,
}

/// First byte and number of bytes of the mapping of each region, for the handler.
type Mappings = Vec<(usize, usize)>;

static MAPPINGS: AtomicPtr<Mappings> = AtomicPtr::new(ptr::null_mut());
static HAS_FAULT: AtomicBool = AtomicBool::new(false);
static REGION: AtomicUsize = AtomicUsize::new(0);
static ADDRESS: AtomicUsize = AtomicUsize::new(0);
static IS_WRITE: AtomicBool = AtomicBool::new(false);

/// Runs `work` and returns the first fault in one of the regions. A fault elsewhere ends the process.
pub(super) fn watch(regions: &[OverlapCopy], work: impl FnOnce()) -> io::Result<Option<PageFault>> {
    let mut mappings: Mappings = regions.iter().map(OverlapCopy::mapping).collect();
    HAS_FAULT.store(false, Ordering::SeqCst);
    MAPPINGS.store(&raw mut mappings, Ordering::SeqCst);
    let before = Handler::install()?;
    work();
    drop(before);
    MAPPINGS.store(ptr::null_mut(), Ordering::SeqCst);
    Ok(HAS_FAULT.load(Ordering::SeqCst).then(|| PageFault {
        region: REGION.load(Ordering::SeqCst),
        address: ADDRESS.load(Ordering::SeqCst),
        is_write: IS_WRITE.load(Ordering::SeqCst),
    }))
}

/// An installed handler. Dropping the value restores the previous handler.
struct Handler {
    before: libc::sigaction,
}

impl Handler {
    #[expect(unsafe_code, reason = "the standard library has no signals")]
    fn install() -> io::Result<Self> {
        // SAFETY: plain data, valid as zeros; the handler calls nothing but system calls.
        unsafe {
            let (mut action, mut before) = (mem::zeroed::<libc::sigaction>(), mem::zeroed::<libc::sigaction>());
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { before })
        }
    }
}

impl Drop for Handler {
    #[expect(unsafe_code, reason = "the standard library has no signals")]
    fn drop(&mut self) {
        // SAFETY: what `sigaction` returned.
        unsafe {
            libc::sigaction(libc::SIGSEGV, &raw const self.before, ptr::null_mut());
        }
    }
}

/// Opens the region that was accessed. A fault elsewhere ends the process.
#[expect(unsafe_code, reason = "a signal handler")]
extern "C" fn on_fault(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes valid pointers; the mappings live until the handler is removed.
    unsafe {
        let address = (*info).si_addr() as usize;
        let mappings = MAPPINGS.load(Ordering::SeqCst);
        let regions = if mappings.is_null() { &[][..] } else { (&*mappings).as_slice() };
        for (number, &(base, bytes)) in regions.iter().enumerate() {
            if address.wrapping_sub(base) >= bytes {
                continue;
            }
            if !HAS_FAULT.swap(true, Ordering::SeqCst) {
                REGION.store(number, Ordering::SeqCst);
                ADDRESS.store(address, Ordering::SeqCst);
                IS_WRITE.store(is_write(context), Ordering::SeqCst);
            }
            if libc::mprotect(base as *mut libc::c_void, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 {
                return;
            }
        }
        let text: &[u8] = if address < 65536 {
            b"a kernel accessed an address near zero, or one that no process can have\n"
        } else {
            b"a kernel accessed an address far from all of its arguments\n"
        };
        libc::write(2, text.as_ptr().cast(), text.len());
        // The instruction is repeated with the default handler, which ends the process.
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
    }
}

/// Returns whether the access was a write: bit 1 of the page fault's error code.
#[expect(unsafe_code, reason = "the context is known by address")]
unsafe fn is_write(context: *mut libc::c_void) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the kernel passes the context of the thread.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        context.uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = context;
        false
    }
}
