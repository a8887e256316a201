//! Files of JSON lines.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::Result;
use fs_err as fs;
use serde::Serialize;

/// Compression level of files: trajectories compress well because each repeats the prompts and tools of the last.
const LEVEL: i32 = 10;

/// A file of JSON lines that appears when it is whole; compressed where its name ends in `.zst`.
pub(super) struct Lines {
    out: Out,
    temporary: PathBuf,
    path: PathBuf,
}

enum Out {
    Plain(BufWriter<fs::File>),
    Packed(zstd::Encoder<'static, BufWriter<fs::File>>),
}

impl Lines {
    pub(super) fn create(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".incomplete");
        let temporary = PathBuf::from(temporary);
        let file = BufWriter::new(fs::File::create(&temporary)?);
        let out = match path.extension() {
            Some(kind) if kind == "zst" => Out::Packed(zstd::Encoder::new(file, LEVEL)?),
            _ => Out::Plain(file),
        };
        Ok(Self { out, temporary, path: path.to_owned() })
    }

    pub(super) fn push(&mut self, value: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        match &mut self.out {
            Out::Plain(out) => out.write_all(&line)?,
            Out::Packed(out) => out.write_all(&line)?,
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        let out = match self.out {
            Out::Plain(out) => out,
            Out::Packed(out) => out.finish()?,
        };
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok(fs::rename(self.temporary, self.path)?)
    }
}
