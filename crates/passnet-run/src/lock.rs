//! Advisory locks between processes.

use std::{fs::File, io, path::Path};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

/// An exclusive lock on a file. Dropping the value releases the lock.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Acquires the lock and creates the file if necessary. Returns `None` while another holder has the lock.
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

    /// Returns whether another process holds the lock. A file that does not exist is not locked.
    ///
    /// # Errors
    /// If the file cannot be opened, or the system has no locks for it.
    pub fn is_held(path: &Path) -> io::Result<bool> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        // A shared lock, so that two processes that check at the same time do not see each other's locks. Closing the file releases the
        // lock.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(flock(&file, FlockOperation::Unlock).map(|()| false)?),
            Err(Errno::WOULDBLOCK) => Ok(true),
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
                // A signal interrupted the wait.
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl Drop for FileLock {
    /// Unlocks explicitly. A child process between `fork` and `exec` shares the open file, so if this process only closed the file, the
    /// lock would stay until the child closes the file as well.
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
        assert!(FileLock::is_held(&path).unwrap());
        drop(first);
        assert!(!FileLock::is_held(&path).unwrap());
        assert!(!FileLock::is_held(&folder.path().join("none")).unwrap());
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
