//! Requests whose work lies between two readings of the referee's clock (`docs/reference/worker-protocol.md`, Timed calls).

use std::time::{Duration, Instant};

use passnet_record::{WorkerReply, WorkerRequest};

use crate::channel::{Channel, ChannelError};

/// Durations of a block of timed calls, by the referee's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockTimes {
    /// Time from the first byte of the request to the last byte of the reply.
    pub(crate) whole: Duration,
    /// Part of it from the first byte of `go` to the last byte of `ended`.
    pub(crate) gated: Duration,
}

/// Sends a request for timed calls, lets the calls begin, and receives the reply. Clocks stop only when a message is complete, so no work
/// of the other side is missed, and do not contain the time to write or to read JSON. A reply `failed` may come instead of any message.
///
/// # Errors
/// If the other side sends another message, or none in time.
pub(crate) fn exchange(
    channel: &Channel,
    request: &WorkerRequest,
    deadline: Instant,
) -> Result<(WorkerReply, BlockTimes), ChannelError> {
    let (request, go) = (Channel::frame(request)?, Channel::frame(&WorkerRequest::Go)?);
    let begin = Instant::now();
    channel.send_frame(&request, None, deadline)?;
    let mut times = BlockTimes { whole: Duration::ZERO, gated: Duration::ZERO };
    let (armed, _) = channel.receive::<WorkerReply>(deadline)?;
    if armed != WorkerReply::Armed {
        return or_failed(armed, "armed", times);
    }
    let opened = Instant::now();
    channel.send_frame(&go, None, deadline)?;
    let (ended, _) = channel.receive_frame(deadline)?;
    times.gated = opened.elapsed();
    let ended: WorkerReply = Channel::parse(&ended)?;
    if ended != WorkerReply::Ended {
        return or_failed(ended, "ended", times);
    }
    let (reply, _) = channel.receive_frame(deadline)?;
    times.whole = begin.elapsed();
    Ok((Channel::parse(&reply)?, times))
}

/// Returns a reply that ends the exchange early, which has to be `failed`.
fn or_failed(reply: WorkerReply, expected: &str, times: BlockTimes) -> Result<(WorkerReply, BlockTimes), ChannelError> {
    match reply {
        WorkerReply::Failed(_) => Ok((reply, times)),
        _ => Err(ChannelError::Malformed(format!("expected `{expected}` in a block of timed calls"))),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        os::{fd::OwnedFd, unix::net::UnixStream},
        thread,
    };

    use super::*;

    /// Length of each pause of a worker.
    const PAUSE: Duration = Duration::from_millis(20);

    /// Runs an exchange with a worker that sends these messages, each after a pause, and waits for `go` after the first one.
    fn with_worker(messages: &'static [&'static str]) -> Result<(WorkerReply, BlockTimes), ChannelError> {
        let (ours, theirs) = Channel::pair().unwrap();
        let worker = thread::spawn(move || serve(theirs, messages));
        let exchanged = exchange(&ours, &WorkerRequest::DropInputs, Instant::now() + Duration::from_secs(10));
        drop(ours);
        worker.join().unwrap();
        exchanged
    }

    fn serve(socket: OwnedFd, messages: &[&str]) {
        let mut stream = UnixStream::from(socket);
        assert!(receives(&mut stream, r#"{"type":"drop_inputs"}"#));
        for (number, message) in messages.iter().enumerate() {
            if number == 1 && !receives(&mut stream, r#"{"type":"go"}"#) {
                return;
            }
            thread::sleep(PAUSE);
            let frame = [&(message.len() as u32).to_le_bytes()[..], message.as_bytes()].concat();
            // The last byte comes late: a worker cannot stop a clock before its work is done.
            stream.write_all(&frame[..frame.len() - 1]).unwrap();
            thread::sleep(PAUSE);
            stream.write_all(&frame[frame.len() - 1..]).unwrap();
        }
    }

    /// Receives a message. Returns false at the end of the stream.
    fn receives(stream: &mut UnixStream, expected: &str) -> bool {
        let mut frame = vec![0; 4 + expected.len()];
        let received = stream.read_exact(&mut frame).is_ok();
        assert!(!received || frame[4..] == *expected.as_bytes());
        received
    }

    const ARMED: &str = r#"{"type":"armed"}"#;
    const ENDED: &str = r#"{"type":"ended"}"#;
    const DONE: &str = r#"{"type":"done"}"#;
    const FAILED: &str =
        r#"{"type":"failed","stage":"run","exception":"E","message":"m","traceback":"","pass":null,"fatal":false}"#;

    #[test]
    fn each_clock_encloses_its_messages() {
        let (reply, times) = with_worker(&[ARMED, ENDED, DONE]).unwrap();
        assert_eq!(reply, WorkerReply::Done);
        assert!(times.gated >= PAUSE * 2 && times.whole >= times.gated + PAUSE * 4, "{times:?}");
    }

    #[test]
    fn a_failure_may_replace_any_message_and_nothing_else_may() {
        let messages: [&'static [&'static str]; 3] = [&[FAILED], &[ARMED, FAILED], &[ARMED, ENDED, FAILED]];
        for messages in messages {
            let (reply, _) = with_worker(messages).unwrap();
            assert!(matches!(reply, WorkerReply::Failed(_)), "{messages:?}");
        }
        let messages: [&'static [&'static str]; 3] = [&[DONE], &[ENDED], &[ARMED, DONE]];
        for messages in messages {
            assert!(matches!(with_worker(messages), Err(ChannelError::Malformed(_))), "{messages:?}");
        }
    }
}
