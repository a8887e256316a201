//! Progress and results of uploads, and their text.

use std::{collections::BTreeMap, fmt};

use passnet_record::counted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadProgress<'a> {
    /// Number of files, and their size in bytes.
    Found(usize, u64),
    /// A large file is being sent: its path, bytes so far, all bytes.
    Sending(&'a str, u64, u64),
    /// The storage already had a large file.
    Stored(&'a str),
}

/// Result of [`super::upload`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// Files of the commit by path in the repository, with their sizes in bytes. In a dry run: files that would be in the commit.
    pub files: BTreeMap<String, u64>,
    /// Bytes of large files that were sent or, in a dry run, would be sent.
    pub sent_bytes: u64,
    /// Number of files that the hub already had, unchanged.
    pub present: usize,
    /// Files that were removed or, in a dry run, would be removed.
    pub deleted: Vec<String>,
    /// True if nothing was sent.
    pub is_dry: bool,
    /// Address of the commit; `None` if nothing had changed, or in a dry run.
    pub commit: Option<String>,
}

impl fmt::Display for UploadProgress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(files, nbytes) => write!(f, "{}, {}", counted(*files, "file"), mib(*nbytes)),
            Self::Sending(path, sent, all) => write!(f, "{path}: {} of {}", mib(*sent), mib(*all)),
            Self::Stored(path) => write!(f, "{path}: the hub's storage has it"),
        }
    }
}

impl fmt::Display for Uploaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (files, present) = (counted(self.files.len(), "file"), self.present);
        let (sent, removed) = (mib(self.sent_bytes), self.deleted.len());
        if self.is_dry {
            self.files.iter().try_for_each(|(path, nbytes)| writeln!(f, "{path}\t{nbytes} bytes"))?;
            self.deleted.iter().try_for_each(|path| writeln!(f, "{path}\tremoved"))?;
            return write!(f, "would commit {files} ({sent} of large files) and remove {removed}; {present} are there");
        }
        match &self.commit {
            Some(commit) => write!(
                f,
                "{files} committed ({sent} of large files sent), {removed} removed; {present} already existed\n{commit}"
            ),
            None => write!(f, "nothing to do: {} already there", counted(present, "file")),
        }
    }
}

fn mib(nbytes: u64) -> String {
    format!("{:.1} MiB", nbytes as f64 / f64::from(1 << 20))
}
