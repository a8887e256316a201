//! Advisory locks between processes.

use std::{fs::File, io, path::Path};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

/// An exclusive lock on a file. Dropping it lets the next holder in.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Takes the lock and creates the file if necessary. Returns `None` while another holder has the lock.
    ///
    /// # Errors
    /// If the file cannot be opened or locked.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits for the lock and creates the file if necessary.
    ///
    /// # Errors
    /// If the file cannot be opened or locked.
    pub fn acquire(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl Drop for FileLock {
    /// Unlocks explicitly: a child between `fork` and `exec` shares the open file, so closing it here alone would keep the
    /// lock until that child has closed it too.
    fn drop(&mut self) {
        // Unlocking fails only for a descriptor that is not open.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = FileLock::try_acquire(&path).unwrap().unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(first);
        let second = FileLock::acquire(&path).unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(second);
    }

    #[test]
    fn a_child_that_shares_the_open_file_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = FileLock::try_acquire(&path).unwrap().unwrap();
        let shared = lock.0.try_clone().unwrap();
        drop(lock);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
        drop(shared);
    }
}
