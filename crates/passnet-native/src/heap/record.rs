//! Record of the allocations of a library, made by replacing `posix_memalign` in the library's table of imported functions.

use std::{
    ffi::{CStr, c_int, c_void},
    mem, ptr, slice,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

const FUNCTION: &CStr = c"posix_memalign";
const PAGE: usize = 4096;
/// Largest number of allocations between two visits.
const MOST: usize = 1 << 12;
/// Types of relocations for such entries, on x86-64 and on 64-bit ARM.
const ENTRIES: [u32; 4] = [6, 7, 1025, 1026];

static IS_ACTIVE: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static STARTS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static SIZES: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
/// Address of the function of the C library.
static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

/// Begins to record allocations.
pub(super) fn begin() {
    COUNT.store(0, Ordering::SeqCst);
    IS_ACTIVE.store(true, Ordering::SeqCst);
}

pub(super) fn end() {
    IS_ACTIVE.store(false, Ordering::SeqCst);
}

/// Calls `see` with the first byte and the end of each allocation since the last call, until `see` returns false. Returns whether all
/// allocations were passed.
pub(super) fn take(mut see: impl FnMut(usize, usize) -> bool) -> bool {
    let count = COUNT.swap(0, Ordering::SeqCst);
    let noted =
        STARTS.iter().zip(&SIZES).map(|(start, size)| (start.load(Ordering::Relaxed), size.load(Ordering::Relaxed)));
    count <= MOST && noted.take(count).all(|(start, size)| see(start, start + size))
}

/// Records an allocation, if there is a session.
fn note(start: usize, nbytes: usize) {
    if IS_ACTIVE.load(Ordering::Relaxed) {
        let place = COUNT.fetch_add(1, Ordering::Relaxed);
        if place < MOST {
            STARTS[place].store(start, Ordering::Relaxed);
            SIZES[place].store(nbytes, Ordering::Relaxed);
        }
    }
}

/// Installs the record for a library on the first call. Returns whether its allocations are recorded. A process can record only one
/// library.
pub(super) fn is_installed(library: &str) -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| install(library).is_some())
}

#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn allocate(block: *mut *mut c_void, alignment: usize, nbytes: usize) -> c_int {
    // SAFETY: `ORIGINAL` was set to the function of this name before this function was installed; the arguments come from the caller.
    unsafe {
        let original: unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int =
            mem::transmute(ORIGINAL.load(Ordering::Relaxed));
        let error = original(block, alignment, nbytes);
        if error == 0 {
            note(*block as usize, nbytes);
        }
        error
    }
}

/// Replaces the entry of the function in a library's table. Returns `None` if there is no such entry.
#[expect(unsafe_code, reason = "the loader's tables")]
fn install(library: &str) -> Option<()> {
    // SAFETY: looks a name up among what is loaded.
    let original = unsafe { libc::dlsym(libc::RTLD_DEFAULT, FUNCTION.as_ptr()) } as usize;
    let slot = find(library)?;
    if original == 0 {
        return None;
    }
    ORIGINAL.store(original, Ordering::SeqCst);
    let page = (slot.address / PAGE * PAGE) as *mut c_void;
    let bytes = slot.address % PAGE + size_of::<usize>();
    // SAFETY: the page has the table of a library that stays loaded; the new entry is a function of the same type.
    unsafe {
        if libc::mprotect(page, bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return None;
        }
        ptr::write_volatile(slot.address as *mut usize, allocate as *const () as usize);
        if slot.is_fixed {
            libc::mprotect(page, bytes, libc::PROT_READ);
        }
    }
    Some(())
}

/// An entry of a table.
#[derive(Clone, Copy, Debug)]
struct Slot {
    address: usize,
    /// True if the entry is read-only after loading.
    is_fixed: bool,
}

fn find(library: &str) -> Option<Slot> {
    struct Search<'n> {
        library: &'n str,
        slot: Option<Slot>,
    }
    #[expect(unsafe_code, reason = "called by C")]
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader passes valid values, and `search` is that below.
        unsafe {
            let (info, search) = (&*info, &mut *search.cast::<Search<'_>>());
            let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
            if name.to_str().unwrap_or_default().rsplit('/').next() == Some(search.library) {
                search.slot = slot_of(info);
                return 1;
            }
        }
        0
    }
    let mut search = Search { library, slot: None };
    // SAFETY: the function above gets the address of `search`, which lives meanwhile.
    #[expect(unsafe_code, reason = "the loader's list")]
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut search).cast());
    }
    search.slot
}

/// Returns the entry of the function in the tables of a library; `None` if there is no such entry.
///
/// # Safety
///
/// The library must stay loaded.
#[expect(unsafe_code, reason = "the loader's tables")]
unsafe fn slot_of(info: &libc::dl_phdr_info) -> Option<Slot> {
    /// Tags of the dynamic section: the two tables of entries with their sizes, the names, the symbols.
    const KINDS: [u64; 6] = [23, 2, 7, 8, 5, 6];
    let base = info.dlpi_addr as usize;
    // SAFETY: the caller guarantees the requirements. Tables have the layout of `elf.h`, and their addresses are absolute with glibc.
    unsafe {
        let headers = slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let mut values = [0_usize; KINDS.len()];
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [u64; 2];
        while (*entry)[0] != 0 {
            if let Some(place) = KINDS.iter().position(|kind| *kind == (*entry)[0]) {
                values[place] = (*entry)[1] as usize;
            }
            entry = entry.add(1);
        }
        let [jumps, jump_bytes, others, other_bytes, names, symbols] = values;
        let table = |address: usize, bytes: usize| match address {
            0 => &[],
            _ => slice::from_raw_parts(address as *const libc::Elf64_Rela, bytes / size_of::<libc::Elf64_Rela>()),
        };
        let is_it = |rela: &&libc::Elf64_Rela| {
            let symbol = &*(symbols as *const libc::Elf64_Sym).add((rela.r_info >> 32) as usize);
            ENTRIES.contains(&(rela.r_info as u32))
                && CStr::from_ptr((names + symbol.st_name as usize) as *const _) == FUNCTION
        };
        let rela = table(jumps, jump_bytes).iter().chain(table(others, other_bytes)).find(is_it)?;
        let address = base + rela.r_offset as usize;
        let fixed = headers.iter().filter(|header| header.p_type == libc::PT_GNU_RELRO);
        let is_fixed = fixed
            .map(|header| {
                base + header.p_vaddr as usize..(base + (header.p_vaddr + header.p_memsz) as usize) / PAGE * PAGE
            })
            .any(|range| range.contains(&address));
        Some(Slot { address, is_fixed })
    }
}
