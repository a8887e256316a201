//! Messages that let the referee's clock enclose a block of calls.

use std::io;

use passnet_native::gate::Gate;
use passnet_record::{WorkerReply, WorkerRequest};
use serde::Serialize;

/// The worker's end of its control socket, with the messages around a block. They are written as frames before the clocks start.
pub(crate) struct ClockGate {
    gate: Gate,
    armed: Vec<u8>,
    go: Vec<u8>,
    ended: Vec<u8>,
}

impl ClockGate {
    /// Returns a gate that uses this socket.
    pub(crate) fn new(socket: i32) -> io::Result<Self> {
        let [armed, ended] = [WorkerReply::Armed, WorkerReply::Ended].map(|reply| frame(&reply));
        Ok(Self { gate: Gate::new(socket), armed: armed?, go: frame(&WorkerRequest::Go)?, ended: ended? })
    }

    /// Tells the referee that the block is ready, runs it as soon as it may begin, and tells the referee that it is over. An error of the
    /// block goes to the caller alone, whose reply is then the next message.
    pub(crate) fn around<T, E: From<io::Error>>(&self, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.gate.send(&self.armed)?;
        self.gate.wait_for(&self.go)?;
        let result = run()?;
        self.gate.send(&self.ended)?;
        Ok(result)
    }
}

/// Returns a message as it travels: the length in four bytes, then JSON.
fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    Ok([&length.to_le_bytes()[..], &body].concat())
}
