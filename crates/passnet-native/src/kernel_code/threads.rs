//! Threads that a kernel starts with OpenMP. Each runs the kernel's code on a clean stack, like the thread that called the kernel.

use std::{
    ffi::{c_uint, c_void},
    sync::OnceLock,
};

use passnet_objects::StackUse;

use super::{call, entry::Entry, libraries, stack};

type Parallel = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);

/// Work of a team of threads.
struct Team {
    body: Entry,
    data: *const u64,
    stack: StackUse,
}

/// Stands in for OpenMP's function `GOMP_parallel`, which kernels call.
#[expect(unsafe_code, reason = "called by kernels")]
pub(super) unsafe extern "C" fn parallel(body: Entry, data: *mut c_void, threads: c_uint, flags: c_uint) {
    if let (false, Some(library)) = (call::hides_state(), library()) {
        // SAFETY: the kernel's own function and data, as without this function between them.
        return unsafe { library(body_of(body), data, threads, flags) };
    }
    let team = Team { body, data: data.cast(), stack: stack::current().unwrap_or(StackUse::Unbounded) };
    match library() {
        // SAFETY: it returns when all threads have come back from `work`, which only reads `team`.
        Some(library) => unsafe { library(work, (&raw const team).cast_mut().cast(), threads, flags) },
        // SAFETY: the kernel's own function and data. Images are loaded only where the library is.
        None => unsafe { body(team.data) },
    }
}

/// Returns a kernel's function with the type that OpenMP expects.
fn body_of(body: Entry) -> extern "C" fn(*mut c_void) {
    // SAFETY: both take one pointer, and return nothing.
    #[expect(unsafe_code, reason = "OpenMP calls functions by address")]
    unsafe {
        std::mem::transmute::<Entry, extern "C" fn(*mut c_void)>(body)
    }
}

extern "C" fn work(team: *mut c_void) {
    // SAFETY: `parallel` gives its own `Team`; the kernel's function takes the kernel's data.
    #[expect(unsafe_code, reason = "OpenMP passes a pointer")]
    unsafe {
        let team = &*team.cast::<Team>();
        call::call_in_thread(team.body, team.data, team.stack);
    }
}

fn library() -> Option<Parallel> {
    static LIBRARY: OnceLock<Option<Parallel>> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let address = libraries::kernel_openmp(c"GOMP_parallel")?;
        // SAFETY: the function has this type in all libraries of OpenMP.
        #[expect(unsafe_code, reason = "functions of libraries are known by address")]
        Some(unsafe { std::mem::transmute::<usize, Parallel>(address) })
    })
}
