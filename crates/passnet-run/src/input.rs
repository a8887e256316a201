//! Files that a person names.

use std::{
    io::{self, Read as _},
    os::unix::fs::FileTypeExt as _,
    path::Path,
};

use fs_err as fs;

/// Opens a file, `/dev/null`, or a pipe that is connected already, such as `/dev/stdin` or the `<(command)` of a shell.
///
/// # Errors
/// If the file cannot be opened, or is a named pipe, a socket or a device: reading one could wait without end.
pub fn open_input(path: &Path) -> io::Result<fs::File> {
    let kind = fs::metadata(path)?.file_type();
    let ends = match fs::canonicalize(path) {
        Ok(path) => kind.is_file() || kind.is_dir() || path == Path::new("/dev/null"),
        // A pipe that is connected has no name in a folder.
        Err(_) => kind.is_fifo(),
    };
    if ends {
        return fs::File::open(path);
    }
    let text =
        format!("{}: this is a named pipe, a socket or a device; name a file, or use /dev/stdin", path.display());
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Reads a file that [`open_input`] opens.
///
/// # Errors
/// If the file cannot be opened or read.
pub fn read_input(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_input(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text file that [`open_input`] opens.
///
/// # Errors
/// If the file cannot be opened or read, or is not UTF-8.
pub fn read_input_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_input(path)?).map_err(|_| {
        let text = format!("{}: this is not a text in UTF-8", path.display());
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}
