//! Frames over a Unix socket. Every operation has a deadline (`docs/reference/worker-protocol.md`, Transport).

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
    },
};
use serde::{Serialize, de::DeserializeOwned};

/// Longest accepted body of a frame, in bytes. The length comes from a worker, which is not trusted: without a limit, one number
/// could make the referee allocate all memory.
const MAX_FRAME_BYTES: usize = 64 << 20;

/// Error of a channel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    /// The deadline passed.
    #[error("no answer in time")]
    Deadline,
    /// The other side has closed its end or died.
    #[error("the other process closed the connection")]
    Closed,
    /// The bytes are not a frame, or not the expected message.
    #[error("not a valid frame: {0}")]
    Malformed(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for ChannelError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PIPE | Errno::CONNRESET => Self::Closed,
            other => Self::Io(other.into()),
        }
    }
}

/// The referee's end of a control socket.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    /// Returns a channel and the socket of the other side. Both are closed on exec.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok((Self(ours), theirs))
    }

    /// Sends one message. `descriptor` is sent with the first byte.
    pub(crate) fn send(
        &self,
        message: &impl Serialize,
        descriptor: Option<BorrowedFd<'_>>,
        deadline: Instant,
    ) -> Result<(), ChannelError> {
        self.send_frame(&Self::frame(message)?, descriptor, deadline)
    }

    /// Sends a frame that [`Self::frame`] returned. `descriptor` is sent with the first byte.
    pub(crate) fn send_frame(
        &self,
        frame: &[u8],
        descriptor: Option<BorrowedFd<'_>>,
        deadline: Instant,
    ) -> Result<(), ChannelError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = descriptor.map(|descriptor| [descriptor]);
        if let Some(descriptors) = &descriptors {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let mut rest = frame;
        while !rest.is_empty() {
            let parts = [io::IoSlice::new(rest)];
            match sendmsg(&self.0, &parts, &mut ancillary, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    ancillary.clear();
                    rest = &rest[sent..];
                }
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, deadline)?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Receives one message, and the descriptor if one came with the message.
    pub(crate) fn receive<M: DeserializeOwned>(&self, deadline: Instant) -> Result<(M, Option<OwnedFd>), ChannelError> {
        let (body, descriptor) = self.receive_frame(deadline)?;
        Ok((Self::parse(&body)?, descriptor))
    }

    /// Receives the body of one frame, and the descriptor if one came with the frame.
    pub(crate) fn receive_frame(&self, deadline: Instant) -> Result<(Vec<u8>, Option<OwnedFd>), ChannelError> {
        let mut descriptor = None;
        let mut head = [0; 4];
        self.fill(&mut head, &mut descriptor, deadline)?;
        let length = u32::from_le_bytes(head) as usize;
        if length > MAX_FRAME_BYTES {
            return Err(ChannelError::Malformed(format!("a frame announces {length} bytes")));
        }
        // The buffer grows as bytes arrive, so an announced length alone takes no memory.
        let mut body = Vec::new();
        while body.len() < length {
            let start = body.len();
            body.resize(length.min(start + (1 << 20)), 0);
            self.fill(&mut body[start..], &mut descriptor, deadline)?;
        }
        Ok((body, descriptor))
    }

    fn fill(
        &self,
        mut buffer: &mut [u8],
        descriptor: &mut Option<OwnedFd>,
        deadline: Instant,
    ) -> Result<(), ChannelError> {
        while !buffer.is_empty() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
            match recvmsg(&self.0, &mut [io::IoSliceMut::new(buffer)], &mut ancillary, flags) {
                Ok(received) => {
                    for message in ancillary.drain() {
                        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                            // A message has at most one descriptor. A second descriptor replaces the first, which is closed.
                            descriptors.for_each(|received| *descriptor = Some(received));
                        }
                    }
                    if received.bytes == 0 {
                        return Err(ChannelError::Closed);
                    }
                    buffer = &mut buffer[received.bytes..];
                }
                Err(Errno::AGAIN) => self.wait(PollFlags::IN, deadline)?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Returns the frame of a message.
    pub(crate) fn frame(message: &impl Serialize) -> Result<Vec<u8>, ChannelError> {
        let mut frame = vec![0; 4];
        serde_json::to_writer(&mut frame, message).map_err(io::Error::from)?;
        let length = frame.len() - 4;
        if length > MAX_FRAME_BYTES {
            return Err(ChannelError::Malformed(format!("a message of {length} bytes is too long to send")));
        }
        frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
        Ok(frame)
    }

    /// Returns the message in the body of a frame.
    pub(crate) fn parse<M: DeserializeOwned>(body: &[u8]) -> Result<M, ChannelError> {
        serde_json::from_slice(body).map_err(|error| ChannelError::Malformed(error.to_string()))
    }

    fn wait(&self, events: PollFlags, deadline: Instant) -> Result<(), ChannelError> {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(ChannelError::Deadline);
        }
        let timeout = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: i64::from(rest.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.0, events)], Some(&timeout)) {
            Ok(0) => Err(ChannelError::Deadline),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        os::unix::net::UnixStream,
        time::Duration,
    };

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    #[test]
    fn messages_and_descriptors_cross() {
        let (ours, theirs) = Channel::pair().unwrap();
        let theirs = Channel(theirs);
        let file = tempfile::tempfile().unwrap();
        ours.send(&vec!["a", "b"], Some(file.as_fd()), soon()).unwrap();
        ours.send(&7, None, soon()).unwrap();
        let (message, descriptor) = theirs.receive::<Vec<String>>(soon()).unwrap();
        assert_eq!(message, ["a", "b"]);
        assert!(descriptor.is_some());
        let (message, descriptor) = theirs.receive::<i32>(soon()).unwrap();
        assert_eq!((message, descriptor.is_none()), (7, true));
    }

    #[test]
    fn silence_rubbish_and_ends_are_distinct() {
        let (ours, theirs) = Channel::pair().unwrap();
        let mut theirs = UnixStream::from(theirs);
        assert!(matches!(ours.receive::<i32>(soon()), Err(ChannelError::Deadline)));
        theirs.write_all(&[255; 4]).unwrap();
        assert!(matches!(ours.receive::<i32>(soon()), Err(ChannelError::Malformed(_))));
        theirs.write_all(&[2, 0, 0, 0, b'x', b'y']).unwrap();
        assert!(matches!(ours.receive::<i32>(soon()), Err(ChannelError::Malformed(_))));
        theirs.write_all(&[9, 0, 0, 0, b'1']).unwrap();
        assert!(matches!(ours.receive::<i32>(soon()), Err(ChannelError::Deadline)));
        drop(theirs);
        assert!(matches!(ours.receive::<i32>(soon()), Err(ChannelError::Closed)));
    }

    #[test]
    fn a_reader_that_does_not_read_cannot_block_the_referee() {
        let (ours, theirs) = Channel::pair().unwrap();
        let long = "x".repeat(16 << 20);
        assert!(matches!(ours.send(&long, None, soon()), Err(ChannelError::Deadline)));
        let mut start = [0; 4];
        UnixStream::from(theirs).read_exact(&mut start).unwrap();
        assert_eq!(u32::from_le_bytes(start) as usize, long.len() + 2);
    }
}
