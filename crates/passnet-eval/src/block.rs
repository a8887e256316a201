//! Blocks of memory that cross a process boundary.

use std::{
    fs::File,
    io,
    num::NonZero,
    ops::Range,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    os::unix::fs::FileExt as _,
};

use passnet_inputs::{AllInputs, Content, GraphFacts, InputError, byte_size, fill_among};
use passnet_record::{Layout, TensorMeta, WorkerRequest};
use rustix::fs::{FileType, MemfdFlags, SealFlags, fcntl_add_seals, fstat, memfd_create};

/// Alignment of each tensor inside a block, in bytes. PyTorch's CPU allocator has the same alignment, so vector loads take as long as
/// they do outside the referee.
const ALIGNMENT: u64 = 64;

/// Error of making a block of inputs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlockError {
    /// The metadata is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The inputs need more memory than a worker may have.
    #[error("the inputs need {needed} bytes, the limit is {limit}")]
    TooLarge {
        /// Bytes of all inputs.
        needed: u64,
        /// Bytes that a worker may have.
        limit: u64,
    },
    #[error("cannot make a shared block: {0}")]
    Io(#[from] io::Error),
}

/// A sealed block of inputs: no process with the descriptor can write to it.
#[derive(Debug)]
pub(crate) struct InputBlock {
    file: File,
    /// Layouts of the first set. All sets have the same layout.
    first: Vec<Layout>,
    /// Bytes from one set to the next.
    stride: u64,
}

impl InputBlock {
    /// Makes one set of values per entry of `contents` (seed and kind), all in one block, for any graph and by the published rules.
    #[cfg(test)]
    pub(crate) fn new(metas: &[TensorMeta], contents: &[(u64, Content)], limit: u64) -> Result<Self, BlockError> {
        Self::of_graph(metas, &GraphFacts::default(), contents, limit)
    }

    /// Makes one set of values per entry of `contents` (seed and kind), all in one block.
    pub(crate) fn of_graph(
        metas: &[TensorMeta],
        facts: &GraphFacts,
        contents: &[(u64, Content)],
        limit: u64,
    ) -> Result<Self, BlockError> {
        let mut first = Vec::with_capacity(metas.len());
        let mut stride = 0_u64;
        for meta in metas {
            let nbytes = byte_size(meta)? as u64;
            let (name, shape) = (meta.name.clone(), meta.shape.clone());
            first.push(Layout { name, dtype: meta.dtype, shape, offset: stride, nbytes });
            stride = align(stride.saturating_add(nbytes));
        }
        let end = stride.saturating_mul(contents.len() as u64);
        // The limit is checked before memory is allocated, because the metadata comes from files and may ask for any size.
        if limit > 0 && end > limit {
            return Err(BlockError::TooLarge { needed: end, limit });
        }
        let file = memory_file()?;
        file.set_len(end)?;
        let all = AllInputs::of(metas, facts);
        for (&(seed, content), start) in contents.iter().zip((0..).step_by(stride.max(1) as usize)) {
            for (number, (meta, layout)) in metas.iter().zip(&first).enumerate() {
                write(&file, &fill_among(meta, number, seed, content, all)?, start + layout.offset)?;
            }
        }
        seal(&file)?;
        Ok(Self { file, first, stride })
    }

    /// Returns a block with one set that is part of a sealed file.
    pub(crate) fn part_of(file: File, layouts: Vec<Layout>) -> Self {
        Self { file, first: layouts, stride: 0 }
    }

    /// Returns the layout of one set.
    pub(crate) fn layouts(&self, set: usize) -> impl Iterator<Item = Layout> + '_ {
        let start = self.stride * set as u64;
        self.first.iter().map(move |layout| Layout { offset: start + layout.offset, ..layout.clone() })
    }

    /// Returns the request that sends some of the sets, with their numbers. The caller sends the block's descriptor with the request.
    pub(crate) fn request(&self, sets: Range<usize>) -> WorkerRequest {
        let (set, count) = (sets.start as u32, sets.len() as u32);
        WorkerRequest::Inputs { set, count, stride: self.stride, tensors: self.layouts(sets.start).collect() }
    }

    /// Returns the values of one tensor.
    pub(crate) fn read(&self, layout: &Layout) -> io::Result<Vec<u8>> {
        read(&self.file, layout.offset, layout.nbytes as usize)
    }
}

/// Returns the first aligned offset at or after `offset`.
pub(crate) fn align(offset: u64) -> u64 {
    offset.saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
}

/// Bytes that one thread reads or writes. The kernel makes or copies a page at a time, which takes most of the time of larger blocks.
const PART_BYTES: usize = 32 << 20;

/// Reads bytes of a file, on several threads if there are many.
fn read(file: &File, offset: u64, nbytes: usize) -> io::Result<Vec<u8>> {
    let (mut bytes, size) = (vec![0; nbytes], part_of(nbytes));
    on_threads(bytes.chunks_mut(size), |number, part| file.read_exact_at(part, offset + (number * size) as u64))?;
    Ok(bytes)
}

/// Writes bytes to a file, on several threads if there are many.
fn write(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let size = part_of(bytes.len());
    on_threads(bytes.chunks(size), |number, part| file.write_all_at(part, offset + (number * size) as u64))
}

/// Returns the size of the parts of a block: one per thread, but none is small.
fn part_of(nbytes: usize) -> usize {
    if nbytes <= PART_BYTES {
        return PART_BYTES;
    }
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    nbytes.div_ceil(threads).max(PART_BYTES)
}

/// Does the work of all parts, which have numbers, each on its own thread if there is more than one.
fn on_threads<T: Send>(
    parts: impl ExactSizeIterator<Item = T>,
    work: impl Fn(usize, T) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let is_one = parts.len() <= 1;
    let mut parts = parts.enumerate();
    if is_one {
        return parts.try_for_each(|(number, part)| work(number, part));
    }
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = parts.map(|(number, part)| scope.spawn(move || work(number, part))).collect();
        let mut joined = workers.into_iter().map(|worker| worker.join());
        joined.try_for_each(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Returns an empty file in memory that can be sealed.
pub(crate) fn memory_file() -> io::Result<File> {
    Ok(File::from(memfd_create("passnet-inputs", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?))
}

/// Seals a memory file without mappings. Writes, truncation and new writable mappings then fail.
///
/// This does not use `F_SEAL_WRITE`, which also checks for existing mappings and other users of the pages. There are no mappings here,
/// but the kernel itself uses pages at times, to move or to merge them, and that seal then fails with `EBUSY`.
pub(crate) fn seal(file: &File) -> io::Result<()> {
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE;
    Ok(fcntl_add_seals(file, seals)?)
}

impl AsFd for InputBlock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A block of values that a worker sent. The block is read and never mapped: a sender that can still write to it may shrink it, and
/// access to the mapping would then crash.
#[derive(Debug)]
pub(crate) enum SentBlock {
    /// The block was read at once.
    Read(Vec<u8>),
    /// The block is sealed. It cannot change and may be read later.
    Sealed {
        /// Memory file.
        file: File,
        /// Bytes to read.
        nbytes: u64,
    },
}

impl SentBlock {
    /// Accepts a block and seals it. A block that cannot be sealed is read at once.
    ///
    /// # Errors
    /// If the descriptor is not a memory file, or has fewer bytes than announced.
    pub(crate) fn take(descriptor: OwnedFd, nbytes: u64) -> io::Result<Self> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
        let stat = fstat(&descriptor)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(invalid("the block of values is not a memory file".to_owned()));
        }
        let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
        // A worker that kept a writable mapping could change values after they were judged. Sealing fails in this case, and the bytes are
        // copied at once.
        let is_sealed = fcntl_add_seals(&descriptor, seals).is_ok();
        // The size is read after the seal, because it could change before.
        let size = fstat(&descriptor)?.st_size;
        if u64::try_from(size).unwrap_or(0) < nbytes {
            return Err(invalid(format!("{nbytes} bytes of values were announced, the block has {size}")));
        }
        let sealed = Self::Sealed { file: File::from(descriptor), nbytes };
        if is_sealed { Ok(sealed) } else { sealed.read().map(Self::Read) }
    }

    /// Returns the bytes.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn read(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Read(bytes) => Ok(bytes),
            Self::Sealed { file, nbytes } => read(&file, 0, nbytes as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;
    use rustix::fs::sendfile;

    use super::*;

    fn meta(name: &str, dtype: DType, shape: &[u64]) -> TensorMeta {
        TensorMeta {
            name: name.to_owned(),
            original_name: None,
            shape: shape.to_vec(),
            dtype,
            device: "cpu".to_owned(),
            mean: None,
            std: None,
            data: None,
            min_val: None,
            max_val: None,
        }
    }

    #[test]
    fn tensors_are_aligned_and_sealed() {
        let metas = [meta("a", DType::Float32, &[3]), meta("b", DType::Bool, &[5]), meta("c", DType::Float64, &[0, 4])];
        let block = InputBlock::new(&metas, &[(1, Content::Random), (2, Content::Zeros)], 0).unwrap();
        let offsets: Vec<u64> = (0..2).flat_map(|set| block.layouts(set).map(|layout| layout.offset)).collect();
        assert_eq!(offsets, [0, 64, 128, 128, 192, 256]);
        let first = |set| block.read(&block.layouts(set).next().unwrap()).unwrap();
        assert_eq!(first(0), passnet_inputs::fill(&metas[0], 1, Content::Random).unwrap());
        assert_eq!(first(1), [0; 12]);
        assert!(block.file.write_all_at(b"x", 0).is_err());
        assert!(block.file.set_len(0).is_err());
    }

    #[test]
    fn large_blocks_are_written_and_read_in_parts() {
        let file = memory_file().unwrap();
        let bytes: Vec<u8> = (0..2 * PART_BYTES + 12345).map(|place| (place % 251) as u8).collect();
        write(&file, &bytes, 7).unwrap();
        assert!(read(&file, 7, bytes.len()).unwrap() == bytes);
        assert!(read(&file, 8, bytes.len()).is_err(), "the file ends before");
    }

    #[test]
    fn pages_in_use_are_sealed_too() {
        let file = File::from(memfd_create("held", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap());
        file.write_all_at(&[7; 4096], 0).unwrap();
        // Splicing from a file to a pipe passes on the page itself and not a copy.
        let (_reader, writer) = io::pipe().unwrap();
        assert_eq!(sendfile(&writer, &file, None, 4096).unwrap(), 4096);
        seal(&file).unwrap();
        assert!(file.write_all_at(b"x", 0).is_err());
    }

    #[test]
    fn limits_hold_before_memory_is_taken() {
        let metas = [meta("a", DType::Float32, &[1 << 40])];
        let error = InputBlock::new(&metas, &[(1, Content::Random)], 1 << 30).unwrap_err();
        assert!(matches!(error, BlockError::TooLarge { needed, .. } if needed == 1 << 42));
    }

    #[test]
    fn blocks_that_lie_are_refused() {
        let short = memfd_create("short", MemfdFlags::CLOEXEC).unwrap();
        assert!(SentBlock::take(short, 10).unwrap_err().to_string().contains("announced"));
        let (pipe, _writer) = io::pipe().unwrap();
        assert!(SentBlock::take(pipe.into(), 10).unwrap_err().to_string().contains("memory file"));
    }

    #[test]
    fn a_sender_cannot_change_what_is_read_later() {
        let sent = File::from(memfd_create("values", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap());
        sent.write_all_at(b"right", 0).unwrap();
        let block = SentBlock::take(sent.try_clone().unwrap().into(), 5).unwrap();
        assert!(matches!(block, SentBlock::Sealed { .. }));
        assert!(sent.write_all_at(b"wrong", 0).is_err() && sent.set_len(0).is_err());
        assert_eq!(block.read().unwrap(), b"right");
    }

    #[test]
    fn a_block_that_cannot_be_sealed_is_read_at_once() {
        let sent = File::from(memfd_create("values", MemfdFlags::CLOEXEC).unwrap());
        sent.write_all_at(b"right", 0).unwrap();
        let block = SentBlock::take(sent.try_clone().unwrap().into(), 5).unwrap();
        sent.write_all_at(b"wrong", 0).unwrap();
        assert_eq!(block.read().unwrap(), b"right");
    }
}
