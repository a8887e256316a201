//! Exit codes of errors, and their display.

use std::{fmt, io, path::Path, process::ExitCode};

use passnet_agent::corpus::{ExportError, ReadError};
use passnet_author::{AuthorError, PassDirError};
use passnet_dataset::{
    OpenError, folders::FolderError, import::TransferError, pipeline::PipelineError, shard::ShardError,
};
use passnet_eval::RunError;
use passnet_fleet::FleetError;
use passnet_run::{StoreError, SuiteError, archive::ArchiveError, bundle::BundleError};
use passnet_score::LogError;
use passnet_services::{HelperError, PropagateError};
use passnet_site::SiteError;

/// Exit code: a check failed (a wrong result, a file that does not parse).
pub(crate) const BAD: u8 = 1;
/// Exit code: wrong usage.
pub(crate) const USAGE: u8 = 2;
/// Exit code: the environment is not fit (no PyTorch, no such device).
pub(crate) const UNFIT: u8 = 3;

/// An error whose exit code is not [`BAD`]; wraps the message.
#[derive(Debug)]
pub(crate) struct WithCode {
    code: u8,
    message: String,
}

impl fmt::Display for WithCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WithCode {}

/// Returns the error for wrong usage, with exit code [`USAGE`].
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    WithCode { code: USAGE, message: message.into() }.into()
}

/// Returns the error for an environment that is not fit, with exit code [`UNFIT`].
pub(crate) fn unfit(message: impl Into<String>) -> anyhow::Error {
    WithCode { code: UNFIT, message: message.into() }.into()
}

/// Returns exit code 0 if a check succeeded, else [`BAD`].
pub(crate) fn exit_code(good: bool) -> anyhow::Result<ExitCode> {
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(BAD) })
}

/// Refuses a folder for results that cannot be one, before anything is computed for it.
pub(crate) fn check_folder(out: &Path) -> anyhow::Result<()> {
    let existing = out.ancestors().find(|folder| folder.exists());
    // An empty last ancestor is the folder that the command runs in.
    let existing = existing.unwrap_or_else(|| Path::new("."));
    if !existing.is_dir() {
        return Err(usage(format!("{}: cannot be a folder, since {} is a file", out.display(), existing.display())));
    }
    // Permissions do not show read-only and special file systems. Creating a file without a name does, and leaves no file.
    tempfile::tempfile_in(existing)
        .map(drop)
        .map_err(|error| unfit(format!("{}: cannot write to {}: {error}", out.display(), existing.display())))
}

/// Refuses a file for results that cannot be written, before anything is computed for it.
pub(crate) fn check_file(out: &Path) -> anyhow::Result<()> {
    if out.is_dir() {
        return Err(usage(format!("{}: this is a folder; name a file for the results", out.display())));
    }
    // A file that exists may be a pipe or a device, in whose folder no file can be made.
    if out.exists() { Ok(()) } else { out.parent().map_or(Ok(()), check_folder) }
}

/// Prints how to continue, and returns [`BAD`].
pub(crate) fn interrupted() -> anyhow::Result<ExitCode> {
    say_how_to_continue();
    exit_code(false)
}

/// Prints that the command was interrupted, and how to continue.
pub(crate) fn say_how_to_continue() {
    eprintln!("interrupted; run the same command again to continue");
}

/// Prints an error with its causes and returns the exit code. A reader that closed the pipe (`| head`) is not an error.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let pipe_closed = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    };
    // The reader has read all that it needs, so this is a success.
    if error.chain().any(pipe_closed) {
        return ExitCode::SUCCESS;
    }
    let mut before = error.to_string();
    eprintln!("error: {before}");
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        // Some errors quote their cause.
        if !before.contains(&text) {
            eprintln!("  caused by: {text}");
            before = text;
        }
    }
    let code = error.chain().find_map(code_of).unwrap_or(BAD);
    ExitCode::from(code)
}

/// Returns the exit code that a cause asks for; `None` for the default.
fn code_of(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if let Some(coded) = cause.downcast_ref::<WithCode>() {
        return Some(coded.code);
    }
    if let Some(site) = cause.downcast_ref::<SiteError>() {
        return match site {
            SiteError::Occupied(_)
            | SiteError::NoRuns
            | SiteError::NoFolder(_)
            | SiteError::NoDataset(_)
            | SiteError::NoBisected(_)
            | SiteError::NoCurve(_) => Some(USAGE),
            SiteError::Listen { .. } => Some(UNFIT),
            SiteError::Suite(error) => code_of(error),
            SiteError::Run(error) => code_of(error),
            _ => None,
        };
    }
    // Errors that are shown as their source are not in the chain of causes themselves.
    let hidden = match (cause.downcast_ref(), cause.downcast_ref()) {
        (Some(AuthorError::Io(error)), _) | (_, Some(ArchiveError::Io(error))) => Some(error),
        _ => cause.downcast_ref(),
    };
    if let Some(error) = hidden {
        return code_of_io(error.kind());
    }
    let propagated = match cause.downcast_ref() {
        Some(AuthorError::Propagate(error)) => Some(error),
        _ => cause.downcast_ref(),
    };
    if let Some(PropagateError::Helper(HelperError::Start { .. } | HelperError::Ended { .. })) = propagated {
        return Some(UNFIT);
    }
    // The user named a wrong file.
    if cause.is::<LogError>() {
        return Some(USAGE);
    }
    let unread = match cause.downcast_ref::<ExportError>() {
        Some(ExportError::Read(error)) => Some(error),
        _ => cause.downcast_ref::<ReadError>(),
    };
    if unread.is_some_and(|error| !matches!(error, ReadError::Io { .. })) {
        return Some(USAGE);
    }
    if let Some(error) = cause.downcast_ref::<OpenError>() {
        return code_of_opening(error);
    }
    if let Some(error) = cause.downcast_ref::<SuiteError>() {
        return code_of_suite(error);
    }
    code_of_folder(cause).or_else(|| code_of_run(cause))
}

/// Returns the exit code for a folder of samples or passes that does not exist or cannot be read.
fn code_of_folder(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if let Some(TransferError::Empty(_)) = transfer_error(cause) {
        return Some(USAGE);
    }
    if let Some(error) = folder_error(cause) {
        return match error {
            FolderError::Io(error) => code_of_io(error.kind()),
            FolderError::Missing(_) | FolderError::IsFile(_) | FolderError::IsSample(_) => Some(USAGE),
            FolderError::Path(_) | FolderError::Name(_) => None,
        };
    }
    let passes = match cause.downcast_ref() {
        Some(AuthorError::Directory(error)) => Some(error),
        _ => cause.downcast_ref(),
    };
    matches!(passes, Some(PassDirError::Missing { .. } | PassDirError::IsFile { .. })).then_some(USAGE)
}

/// Returns the exit code for a run or a bundle that cannot be read.
fn code_of_run(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    match store_error(cause) {
        Some(StoreError::Io(error)) => return code_of_io(error.kind()),
        // A run that is damaged, in use, or of other settings: the user named a wrong run.
        Some(_) => return Some(USAGE),
        None => {}
    }
    if let Some(ArchiveError::Bundle { .. }) = cause.downcast_ref::<ArchiveError>() {
        return Some(USAGE);
    }
    match cause.downcast_ref::<BundleError>()? {
        // `passnet bundle --verify` has found damage.
        BundleError::Io(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
            Some(BAD)
        }
        _ => None,
    }
}

fn code_of_opening(error: &OpenError) -> Option<u8> {
    match error {
        OpenError::Suite(error) => code_of_suite(error),
        OpenError::Store(_) | OpenError::Definition(_) | OpenError::Damaged { .. } => Some(USAGE),
        OpenError::NotCaptured { .. } | OpenError::NoCache { .. } => Some(UNFIT),
        OpenError::Unpack { source, .. } => code_of_io(source.kind()),
        OpenError::Transfer(_) => None,
    }
}

/// Returns the exit code for a suite that cannot be read. A damaged suite is wrong usage.
fn code_of_suite(error: &SuiteError) -> Option<u8> {
    match error {
        SuiteError::Io(error) => code_of_io(error.kind()),
        _ => Some(USAGE),
    }
}

/// Returns the error of an import or export that a cause passes on, as [`store_error`] does.
fn transfer_error<'c>(cause: &'c (dyn std::error::Error + 'static)) -> Option<&'c TransferError> {
    if let Some(PipelineError::Transfer(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(ShardError::Transfer(error)) = shard_error(cause) {
        return Some(error);
    }
    cause.downcast_ref()
}

/// Returns the error of a folder of samples that a cause passes on, as [`store_error`] does.
fn folder_error<'c>(cause: &'c (dyn std::error::Error + 'static)) -> Option<&'c FolderError> {
    if let Some(TransferError::Folder(error)) = transfer_error(cause) {
        return Some(error);
    }
    if let Some(ShardError::Folder(error)) = shard_error(cause) {
        return Some(error);
    }
    cause.downcast_ref()
}

fn shard_error<'c>(cause: &'c (dyn std::error::Error + 'static)) -> Option<&'c ShardError> {
    if let Some(FleetError::Shard(error)) = cause.downcast_ref() {
        return Some(error);
    }
    cause.downcast_ref()
}

/// Returns the error of a run that a cause passes on: errors that are shown as their source are not in the chain of causes.
fn store_error<'c>(cause: &'c (dyn std::error::Error + 'static)) -> Option<&'c StoreError> {
    if let Some(ArchiveError::Run(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(BundleError::Run(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(RunError::Store(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(FleetError::Store(error)) = cause.downcast_ref() {
        return Some(error);
    }
    cause.downcast_ref()
}

/// Returns the exit code for a file that cannot be read or written: the wrong file was named, or the machine refuses.
fn code_of_io(kind: io::ErrorKind) -> Option<u8> {
    use io::ErrorKind;
    match kind {
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::AlreadyExists
        // A file of another kind, or a truncated file.
        | ErrorKind::InvalidData
        | ErrorKind::UnexpectedEof
        | ErrorKind::InvalidFilename
        // A pipe or a device instead of a file.
        | ErrorKind::Unsupported => Some(USAGE),
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::StorageFull
        | ErrorKind::QuotaExceeded
        | ErrorKind::AddrInUse => Some(UNFIT),
        _ => None,
    }
}
