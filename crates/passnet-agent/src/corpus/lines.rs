//! Files of JSON lines.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use fs_err as fs;
use serde::Serialize;

/// Compression level of files: trajectories compress well because each repeats the prompts and tools of the last.
const LEVEL: i32 = 10;

/// A file of JSON lines that appears when it is complete. It is compressed if its name ends in `.zst`.
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
    pub(super) fn create(path: &Path) -> io::Result<Self> {
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

    pub(super) fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        match &mut self.out {
            Out::Plain(out) => out.write_all(&line),
            Out::Packed(out) => out.write_all(&line),
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        let out = match self.out {
            Out::Plain(out) => out,
            Out::Packed(out) => out.finish()?,
        };
        // Synchronised before the rename, so that a power cut cannot leave the final name on an empty file.
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(self.temporary, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["below/plain.jsonl", "below/packed.jsonl.zst"] {
            let path = folder.path().join(name);
            let mut lines = Lines::create(&path).unwrap();
            lines.push(&[1, 2]).unwrap();
            assert!(!path.exists());
            lines.finish().unwrap();
            let bytes = fs::read(&path).unwrap();
            let text = if name.ends_with("zst") { zstd::decode_all(bytes.as_slice()).unwrap() } else { bytes };
            assert_eq!(text, b"[1,2]\n");
        }
    }
}
