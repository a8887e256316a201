//! Recording of launches while a prepared function is observed.

use std::cell::RefCell;

use passnet_native::cuda::{self, Grid};
use pyo3::{intern, prelude::*, types::PyTuple};

use super::{
    argument::{Kind, word},
    function::Function,
};

/// One launch: kernel, configuration, arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordedWork {
    Cpp(Function),
    Cuda {
        kernel: cuda::Kernel,
        grid: Grid,
        /// Ordinal of the device that was current.
        device: i32,
        /// True if the kernel was compiled for the alignment of its pointers.
        is_aligned: bool,
    },
}

/// A word of a launch's arguments.
#[derive(Debug)]
pub(super) enum Word {
    /// The address of a tensor.
    Tensor(Py<PyAny>),
    Number(u64),
}

/// A launch that has been made, with the owner that keeps its kernel loaded.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) work: RecordedWork,
    pub(super) words: Vec<Word>,
    pub(super) owner: Py<PyAny>,
}

#[derive(Debug, Default)]
struct Record {
    launches: Vec<Launch>,
    /// True if a launch was made that cannot be repeated.
    is_partial: bool,
}

thread_local! {
    static RECORD: RefCell<Option<Record>> = const { RefCell::new(None) };
}

/// The recording of this thread. Dropping the value ends it.
#[derive(Debug)]
pub(super) struct Recording(());

impl Recording {
    pub(super) fn begin() -> Self {
        RECORD.set(Some(Record::default()));
        Self(())
    }

    /// Returns the launches in order; `None` if one of them cannot be repeated.
    pub(super) fn finish(self) -> Option<Vec<Launch>> {
        RECORD.take().filter(|record| !record.is_partial).map(|record| record.launches)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        RECORD.set(None);
    }
}

pub(super) fn is_recording() -> bool {
    RECORD.with_borrow(Option::is_some)
}

/// Records a launch. `None` stands for a launch that cannot be repeated.
pub(super) fn note(launch: impl FnOnce() -> PyResult<Option<Launch>>) -> PyResult<()> {
    if !is_recording() {
        return Ok(());
    }
    let launch = launch()?;
    RECORD.with_borrow_mut(|record| {
        if let Some(record) = record {
            record.is_partial |= launch.is_none();
            record.launches.extend(launch);
        }
    });
    Ok(())
}

/// Returns the words of a launch, for arguments with the kinds of their parameters.
pub(super) fn recorded_words<'py>(arguments: impl Iterator<Item = (Kind, Bound<'py, PyAny>)>) -> PyResult<Vec<Word>> {
    arguments
        .map(|(kind, value)| match kind {
            Kind::Pointer => Ok(Word::Tensor(value.unbind())),
            kind => Ok(Word::Number(word(kind, &value)?)),
        })
        .collect()
}

/// Returns the words of a launch with an argument for each kind.
pub(super) fn words_in_order(kinds: &[Kind], arguments: &Bound<'_, PyTuple>) -> PyResult<Vec<Word>> {
    recorded_words(kinds.iter().copied().zip(arguments.iter()))
}

/// Runs work that belongs to a launch and not to the observed function. While recording, modes of PyTorch do not see this work.
pub(super) fn unobserved<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    if !is_recording() {
        return work();
    }
    let unseen = py.import(intern!(py, "torch._C"))?.getattr(intern!(py, "DisableTorchFunction"))?.call0()?;
    unseen.call_method0(intern!(py, "__enter__"))?;
    let result = work();
    unseen.call_method1(intern!(py, "__exit__"), (py.None(), py.None(), py.None()))?;
    result
}
