//! An image in memory: code, jumps to libraries, constants.

use std::{io, ptr};

use passnet_objects::{CallTarget, Image, Import, RuntimeLibrary, StackUse};

#[cfg(target_arch = "x86_64")]
use super::threads;
use super::{entry::Entry, libraries};

/// Size of a page in bytes. Parts with different protection begin on separate pages.
const PAGE: usize = 4096;
/// Code of a jump to a library function: `jmp [rip + 2]` and padding, followed by the address that it reads.
const JUMP: [u8; 8] = [0xff, 0x25, 0x02, 0x00, 0x00, 0x00, 0xcc, 0xcc];
const JUMP_BYTES: usize = 16;
/// Bytes of stack that library functions need: functions of mathematics, and functions that allocate memory or start threads.
const MATHEMATICS: u64 = 6 << 10;
const LIBRARIES: u64 = 14 << 10;
/// Filler between jumps: `int3`.
const FILLER: u8 = 0xcc;

/// A reason why an image could not be placed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// This system lacks a library function.
    #[error("this system has no `{0}`, which the kernel calls")]
    NoFunction(String),
    /// An address does not fit. This does not happen for objects that a compiler wrote.
    #[error("the kernel is too large")]
    TooLarge,
    /// The system has no memory.
    #[error("no memory for the kernel: {0}")]
    Io(#[from] io::Error),
}

/// A placed image. Its memory is released when the value is dropped.
#[derive(Debug)]
pub struct PlacedImage {
    base: *mut u8,
    bytes: usize,
    constants: usize,
    slots: Vec<(usize, String)>,
    image: Image,
}

/// Memory of a placed image.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageMapping {
    pub(super) base: usize,
    /// First byte of the constants, which are behind the code.
    pub(super) constants: usize,
    pub(super) end: usize,
}

// SAFETY: the mapping is written before it is handed out, and only read and executed afterwards.
#[expect(unsafe_code, reason = "a mapping is known by its address")]
unsafe impl Send for PlacedImage {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a mapping is known by its address")]
unsafe impl Sync for PlacedImage {}

impl PlacedImage {
    /// Places an image: resolves the functions that it calls, fills in addresses, and makes the memory executable.
    ///
    /// # Errors
    ///
    /// If the system lacks a function or memory.
    pub fn new(image: Image) -> Result<Self, LoadError> {
        let jumps = image.code().len().next_multiple_of(JUMP_BYTES);
        let constants = (jumps + image.imports().len() * JUMP_BYTES).next_multiple_of(PAGE);
        let bytes = (constants + image.constants().len()).next_multiple_of(PAGE);
        let mut memory = vec![FILLER; constants];
        memory.resize(bytes, 0);
        memory[..image.code().len()].copy_from_slice(image.code());
        memory[constants..constants + image.constants().len()].copy_from_slice(image.constants());
        for (number, import) in image.imports().iter().enumerate() {
            let address = address_of(import).ok_or_else(|| LoadError::NoFunction(import.name.clone()))? as u64;
            let jump = jumps + number * JUMP_BYTES;
            memory[jump..jump + 8].copy_from_slice(&JUMP);
            memory[jump + 8..jump + JUMP_BYTES].copy_from_slice(&address.to_le_bytes());
        }
        for fixup in image.fixups() {
            let target = match fixup.target {
                CallTarget::Code(offset) => offset,
                CallTarget::Constants(offset) => constants + offset,
                CallTarget::Import(number) => jumps + number * JUMP_BYTES,
            };
            // Only differences of addresses within the mapping matter, so its address does not.
            let difference = (target as i64).wrapping_add(fixup.addend).wrapping_sub(fixup.offset as i64);
            let difference = i32::try_from(difference).map_err(|_| LoadError::TooLarge)?;
            let place = memory.get_mut(fixup.offset..fixup.offset + 4).ok_or(LoadError::TooLarge)?;
            place.copy_from_slice(&difference.to_le_bytes());
        }
        let base = map(&memory, constants)?;
        let slot = |number: usize| base as usize + jumps + number * JUMP_BYTES + JUMP.len();
        let slots = image.imports().iter().enumerate().map(|(number, import)| (slot(number), import.name.clone()));
        Ok(Self { base, bytes, constants, slots: slots.collect(), image })
    }

    /// Returns the function through which the kernel `name` is called. It is valid as long as this value exists.
    pub fn entry(&self, name: &str) -> Option<Entry> {
        let offset = self.image.entry(name)?;
        // SAFETY: the offset is one of the mapping's code, where the image has a function with this parameter.
        #[expect(unsafe_code, reason = "functions of images are known by address")]
        Some(unsafe { std::mem::transmute::<*mut u8, Entry>(self.base.add(offset)) })
    }

    /// Returns the places of the addresses of library functions, with the names of the functions.
    pub(super) fn slots(&self) -> &[(usize, String)] {
        &self.slots
    }

    /// Returns the memory of the image.
    pub(super) fn mapping(&self) -> ImageMapping {
        let base = self.base as usize;
        ImageMapping { base, constants: base + self.constants, end: base + self.bytes.max(PAGE) }
    }

    /// Returns the stack that the functions use, including the stack of library functions.
    pub fn stack(&self) -> StackUse {
        let of = |library| match library {
            RuntimeLibrary::C => 0,
            RuntimeLibrary::Math | RuntimeLibrary::VectorMath | RuntimeLibrary::Compiler => MATHEMATICS,
            RuntimeLibrary::Memory | RuntimeLibrary::OpenMp => LIBRARIES,
        };
        let below = self.image.imports().iter().map(|import| of(import.library)).max().unwrap_or(0);
        match self.image.stack() {
            StackUse::Bytes(bytes) => StackUse::Bytes(bytes.saturating_add(below)),
            StackUse::Unbounded => StackUse::Unbounded,
        }
    }
}

impl Drop for PlacedImage {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own; who calls an entry keeps the value.
        #[expect(unsafe_code, reason = "a mapping is known by its address")]
        unsafe {
            libc::munmap(self.base.cast(), self.bytes);
        }
    }
}

/// Returns the address of a function that a kernel calls; `None` where this system does not have it.
fn address_of(import: &Import) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if import.name == "GOMP_parallel" {
        return Some(threads::parallel as *const () as usize);
    }
    libraries::resolve(import)
}

/// Maps a copy of some bytes: executable up to `constants`, readable from there.
fn map(memory: &[u8], constants: usize) -> io::Result<*mut u8> {
    let (flags, bytes) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, memory.len().max(PAGE));
    // SAFETY: a separate mapping is written within its bounds; on failure it is released.
    #[expect(unsafe_code, reason = "there is no safe way to executable memory")]
    unsafe {
        let base = libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = base.cast::<u8>();
        ptr::copy_nonoverlapping(memory.as_ptr(), base, memory.len());
        let is_protected = libc::mprotect(base.cast(), bytes, libc::PROT_READ) == 0
            && libc::mprotect(base.cast(), constants, libc::PROT_READ | libc::PROT_EXEC) == 0;
        if is_protected {
            return Ok(base);
        }
        let error = io::Error::last_os_error();
        libc::munmap(base.cast(), bytes);
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{
        super::{call::call, containers},
        *,
    };

    const SOURCE: &str = r#"
        #include <cmath>
        #include <cstdint>
        #include <vector>
        static const float table[4] = {1, 2, 3, 4};
        extern "C" void passnet_call_k(const uint64_t* words) {
            auto x = reinterpret_cast<float*>(words[0]);
            std::vector<float> copy(x, x + words[1]);
            for (uint64_t i = 0; i < words[1]; ++i) x[i] = std::erf(copy[words[1] - 1 - i]) * table[i & 3];
        }
        extern "C" void passnet_call_stale(const uint64_t* words) {
            uint64_t buffer[512];
            volatile uint64_t* hidden = buffer;
            uint64_t sum = 0;
            for (int i = 0; i < 512; ++i) sum |= hidden[i];
            *reinterpret_cast<uint64_t*>(words[0]) = sum;
            for (int i = 0; i < 512; ++i) hidden[i] = 7;
        }
        extern "C" void passnet_call_heap(const uint64_t* words) {
            auto memory = static_cast<volatile uint64_t*>(::operator new(4096));
            *reinterpret_cast<uint64_t*>(words[0]) = memory[9];
            memory[9] = 7;
            ::operator delete(const_cast<uint64_t*>(memory));
        }
    "#;

    /// Returns a loaded object, where there is a compiler for x86-64.
    fn loaded() -> Option<PlacedImage> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("k.cpp"), SOURCE).unwrap();
        let run = Command::new("g++")
            .args(passnet_objects::compile::FLAGS)
            .args(passnet_objects::compile::FINAL_FLAGS)
            .args(["-c", "k.cpp", "-o", "k.o"])
            .current_dir(directory.path())
            .status();
        if std::env::consts::ARCH != "x86_64" || !run.is_ok_and(|status| status.success()) {
            return None;
        }
        let object = std::fs::read(directory.path().join("k.o")).unwrap();
        let image = passnet_objects::judge(&object).unwrap_or_else(|findings| panic!("{findings:?}"));
        Some(PlacedImage::new(image).unwrap())
    }

    #[test]
    #[expect(unsafe_code, reason = "calls a kernel")]
    fn kernels_compute_with_constants_libraries_and_containers() {
        let Some(loaded) = loaded() else { return };
        let mut x = [0.5_f32, 1.0, 2.0];
        let words = [x.as_mut_ptr() as u64, 3];
        // SAFETY: the words are the arguments of the function above.
        unsafe { call(loaded.entry("k").unwrap(), &words, loaded.stack()) };
        let expected = [0.995_322_3, 2.0 * 0.842_700_8, 3.0 * 0.520_499_9];
        assert!(x.iter().zip(expected).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-5), "{x:?}");
        assert!(loaded.entry("other").is_none());
    }

    #[test]
    #[expect(unsafe_code, reason = "calls a kernel")]
    fn nothing_of_the_last_call_is_left_on_stack_or_heap() {
        let Some(loaded) = loaded() else { return };
        for name in ["stale", "heap"] {
            for _ in 0..3 {
                let mut seen = 1_u64;
                let words = [&raw mut seen as u64];
                // SAFETY: the word is the argument of the function above.
                unsafe { call(loaded.entry(name).unwrap(), &words, loaded.stack()) };
                containers::wait_for_the_last_call();
                assert_eq!(seen, 0, "{name}");
            }
        }
    }
}
