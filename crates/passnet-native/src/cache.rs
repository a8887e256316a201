//! Eviction of the CPU's caches between trials.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Assumed size of the last-level cache where the kernel does not report it.
const DEFAULT_LLC_BYTES: usize = 32 << 20;
const LINE_BYTES: usize = 64;

/// Returns the size in bytes of the last-level cache of CPU 0.
pub fn last_level_bytes() -> usize {
    largest_cache(Path::new("/sys/devices/system/cpu/cpu0/cache")).unwrap_or(DEFAULT_LLC_BYTES)
}

/// Returns the largest `index*/size` below a sysfs cache directory, in bytes.
fn largest_cache(root: &Path) -> Option<usize> {
    let sizes: Vec<PathBuf> =
        fs::read_dir(root).ok()?.filter_map(|entry| Some(entry.ok()?.path().join("size"))).collect();
    sizes.iter().filter_map(|path| parse_size(&fs::read_to_string(path).ok()?)).max()
}

/// Parses a size such as `512K`, `32M` or `64`, in bytes.
fn parse_size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

/// A buffer as large as the last-level cache. Writing to all its lines evicts all other data from the cache.
#[derive(Debug)]
pub struct Sweeper {
    buffer: Vec<u8>,
}

impl Sweeper {
    /// Returns a sweeper for a cache of `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self { buffer: vec![0; bytes] }
    }

    /// Writes one byte of each cache line.
    pub fn sweep(&mut self) {
        for line in self.buffer.chunks_mut(LINE_BYTES) {
            line[0] = line[0].wrapping_add(1);
        }
        std::hint::black_box(&self.buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_size("32768K\n"), Some(32 << 20));
        assert_eq!(parse_size("64M"), Some(64 << 20));
        assert_eq!(parse_size("512"), Some(512));
        assert_eq!(parse_size(""), None);
        assert_eq!(parse_size("K"), None);
    }

    #[test]
    fn the_largest_level_wins() {
        let root = tempfile::tempdir().unwrap();
        for (level, size) in [("index0", "32K"), ("index2", "2048K"), ("index3", "36864K")] {
            fs::create_dir(root.path().join(level)).unwrap();
            fs::write(root.path().join(level).join("size"), size).unwrap();
        }
        assert_eq!(largest_cache(root.path()), Some(36 << 20));
        assert_eq!(largest_cache(&root.path().join("absent")), None);
    }

    #[test]
    fn a_sweep_writes_every_line() {
        let mut sweeper = Sweeper::new(3 * LINE_BYTES + 1);
        sweeper.sweep();
        sweeper.sweep();
        assert!(sweeper.buffer.iter().step_by(LINE_BYTES).all(|&byte| byte == 2));
    }
}
