//! Reading of files that a user names on the command line.

use std::{
    io::{self, Read as _},
    os::unix::fs::FileTypeExt as _,
    path::Path,
};

use fs_err as fs;

/// Opens a file, `/dev/null`, or a pipe that is already connected, such as `/dev/stdin` or the `<(command)` of a shell.
///
/// # Errors
/// If the file cannot be opened, or is a named pipe, a socket or a device: a read from these could wait forever.
pub fn open_input(path: &Path) -> io::Result<fs::File> {
    let kind = fs::metadata(path)?.file_type();
    let ends = match fs::canonicalize(path) {
        Ok(path) => kind.is_file() || kind.is_dir() || path == Path::new("/dev/null"),
        // A connected pipe has no name in a folder, so the path does not resolve.
        Err(_) => kind.is_fifo(),
    };
    if ends {
        return fs::File::open(path);
    }
    let text =
        format!("{}: this is a named pipe, a socket or a device; name a file, or use /dev/stdin", path.display());
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Reads a file of any kind that [`open_input`] accepts.
///
/// # Errors
/// If the file cannot be opened or read.
pub fn read_input(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_input(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text file of any kind that [`open_input`] accepts.
///
/// # Errors
/// If the file cannot be opened or read, or is not UTF-8.
pub fn read_input_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_input(path)?).map_err(|_| {
        let text = format!("{}: this is not a text in UTF-8", path.display());
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}
