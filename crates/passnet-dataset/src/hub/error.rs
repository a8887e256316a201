//! Errors of uploads.

use std::{io, path::PathBuf};

/// An error of [`super::upload`]. No message contains the token.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The destination is not an address of a dataset.
    #[error("{0}: not a dataset of the hub; write `hf://datasets/OWNER/NAME` or `hf://datasets/OWNER/NAME/FOLDER`")]
    Address(String),
    /// The token would be sent without encryption.
    #[error("{0}: the address of the hub must begin with https://, because the token is sent to it")]
    Insecure(String),
    /// There is no token.
    #[error("the hub needs a token; set HF_TOKEN to one with write access (https://huggingface.co/settings/tokens)")]
    NoToken,
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder has no files of a dataset.
    #[error("{0}: no tables of a dataset; `passnet dataset import FOLDER --out DIR` makes one")]
    Empty(PathBuf),
    /// The file has changed since it was hashed.
    #[error("{0}: the file changed during the upload; run the same command again")]
    Changed(PathBuf),
    /// The hub has files of tables that the dataset does not have.
    #[error(
        "the hub has {} of tables that this dataset does not have, such as {first}; pass --delete to remove them",
        passnet_record::counted(*.count, "file")
    )]
    Stale {
        count: usize,
        /// Path of one of these files in the repository.
        first: String,
    },
    /// The hub refused a request.
    #[error("{url} refused the request ({code}): {message}")]
    Refused {
        url: String,
        /// Status code of HTTP.
        code: u16,
        /// The hub's reason, and how to fix it where that is known.
        message: String,
    },
    /// The hub cannot be reached, even after several attempts.
    #[error("{url}: {message}; run the same command again to send the remaining files")]
    Unreachable { url: String, message: String },
    /// The answer is not that of a hub.
    #[error("{url} gave an unexpected answer: {message}; check HF_ENDPOINT")]
    Answer { url: String, message: String },
}
