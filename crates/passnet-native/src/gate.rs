//! The beginning and the end of a block of calls, as another process sees them.

use std::{
    io,
    os::fd::RawFd,
    time::{Duration, Instant},
};

/// Time of looking for a message without sleeping. Waking a thread takes tens of microseconds, and the answer usually comes sooner.
const LOOKING: Duration = Duration::from_micros(300);

/// A socket to the process that measures a block of calls with its own clock.
///
/// Messages are byte strings that both sides know. The socket belongs to the caller and stays open.
#[derive(Clone, Copy, Debug)]
pub struct Gate(RawFd);

impl Gate {
    /// Returns a gate that uses a connected stream socket in blocking mode.
    #[must_use]
    pub const fn new(socket: RawFd) -> Self {
        Self(socket)
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// If the socket is closed.
    pub fn send(self, message: &[u8]) -> io::Result<()> {
        let mut rest = message;
        while !rest.is_empty() {
            // SAFETY: the address and the length are those of `rest`.
            #[expect(unsafe_code, reason = "the standard library would take ownership of the socket")]
            let sent = unsafe { libc::send(self.0, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) };
            rest = &rest[count(sent)?..];
        }
        Ok(())
    }

    /// Waits for a message.
    ///
    /// # Errors
    ///
    /// If another message comes, or the socket is closed.
    pub fn wait_for(self, message: &[u8]) -> io::Result<()> {
        let (mut got, mut received) = (vec![0; message.len()], 0);
        let begin = Instant::now();
        while received < got.len() {
            let flags = if begin.elapsed() < LOOKING { libc::MSG_DONTWAIT } else { 0 };
            let rest = &mut got[received..];
            // SAFETY: the address and the length are those of `rest`.
            #[expect(unsafe_code, reason = "the standard library would take ownership of the socket")]
            let read = unsafe { libc::recv(self.0, rest.as_mut_ptr().cast(), rest.len(), flags) };
            match count(read) {
                Ok(0) if read == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => received += read,
                Err(error) => return Err(error),
            }
        }
        if got == message {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "another message was expected"))
        }
    }
}

/// Returns the number of bytes of a transfer: 0 if there was none yet.
fn count(result: isize) -> io::Result<usize> {
    usize::try_from(result).or_else(|_| {
        let error = io::Error::last_os_error();
        let again = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
        if again.contains(&error.kind()) { Ok(0) } else { Err(error) }
    })
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        os::{fd::AsRawFd as _, unix::net::UnixStream},
        thread,
    };

    use super::*;

    #[test]
    fn a_message_is_awaited_in_parts_and_for_as_long_as_it_takes() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let gate = Gate::new(ours.as_raw_fd());
        let other = thread::spawn(move || {
            let mut armed = [0; 5];
            theirs.read_exact(&mut armed).unwrap();
            theirs.write_all(b"g").unwrap();
            thread::sleep(LOOKING * 10);
            theirs.write_all(b"o").unwrap();
            armed
        });
        gate.send(b"armed").unwrap();
        gate.wait_for(b"go").unwrap();
        assert_eq!(other.join().unwrap(), *b"armed");
    }

    #[test]
    fn other_messages_and_closed_sockets_are_errors() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let gate = Gate::new(ours.as_raw_fd());
        theirs.write_all(b"no").unwrap();
        assert_eq!(gate.wait_for(b"go").unwrap_err().kind(), io::ErrorKind::InvalidData);
        theirs.write_all(b"g").unwrap();
        drop(theirs);
        assert_eq!(gate.wait_for(b"go").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(gate.send(b"ended").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
