//! Fits a conversation into a model's context window. Old observations are dropped completely and permanently, so that the beginning
//! of later requests is in the provider's cache.

use passnet_record::agent::Message;

/// Messages at the end that always stay.
// Two exchanges: the model must still see the result of its last call, and the result that led to this call.
const KEPT: usize = 4;
/// Observations shorter than this stay: dropping them saves nothing.
const SHORT: usize = 200;
/// Approximate bytes per token.
const BYTES_PER_TOKEN: f64 = 3.5;
/// Share of the window at which observations are dropped, and the share that remains. Large, rare cuts: each one invalidates the
/// provider's cache.
const FULL: f64 = 0.8;
const ROOMY: f64 = 0.5;

/// Returns the number of messages at the beginning whose observations are dropped, so that the conversation fits `tokens`. The
/// result is at least `elided`, the number before; `force` drops more even if the estimate says that all fits.
pub(crate) fn elision(messages: &[Message], elided: usize, tokens: u64, force: bool) -> usize {
    let size = |from: usize| {
        messages.iter().enumerate().map(|(index, message)| sent_size(message, index < from)).sum::<usize>()
    };
    let limit = |share: f64| (tokens as f64 * share * BYTES_PER_TOKEN) as usize;
    let now = size(elided);
    if now <= limit(FULL) && !force {
        return elided;
    }
    let last = messages.len().saturating_sub(KEPT);
    // The server refused a request that the estimate allowed, so the estimate is too high. Half of it is the next guess.
    let goal = if force { now.min(limit(FULL)) / 2 } else { limit(ROOMY) };
    (elided..=last).find(|&from| size(from) <= goal).unwrap_or(last.max(elided))
}

/// Returns the conversation with the observations of the first `elided` messages dropped.
pub(crate) fn as_sent(messages: &[Message], elided: usize) -> Vec<Message> {
    let sent = messages.iter().enumerate().map(|(index, message)| match message {
        Message::Tool { call_id, name, content } if index < elided && content.len() > SHORT => {
            Message::Tool { call_id: call_id.clone(), name: name.clone(), content: notice(content) }
        }
        other => other.clone(),
    });
    sent.collect()
}

fn notice(content: &str) -> String {
    let first = content.lines().next().unwrap_or_default();
    format!(
        "{}\n[the rest of this observation, {} bytes, is left out]",
        &first[..first.floor_char_boundary(100)],
        content.len()
    )
}

fn sent_size(message: &Message, elided: bool) -> usize {
    match message {
        Message::Tool { content, .. } if elided && content.len() > SHORT => notice(content).len(),
        other => other.size(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(bytes: usize) -> Message {
        Message::Tool { call_id: "c".to_owned(), name: "t".to_owned(), content: "x".repeat(bytes) }
    }

    #[test]
    fn old_observations_go_first_and_stay_gone() {
        let mut messages = vec![Message::System { content: "s".to_owned() }];
        messages.extend((0..20).map(|_| observation(3500)));
        assert_eq!(elision(&messages, 0, 100_000, false), 0);
        let elided = elision(&messages, 0, 20_000, false);
        assert!(elided > 0 && elided < 17, "{elided}");
        let sent = as_sent(&messages, elided);
        assert!(sent.iter().map(Message::size).sum::<usize>() <= 35_000);
        assert_eq!((sent.len(), &sent[20]), (21, &messages[20]));
        assert_eq!(elision(&messages, elided, 20_000, false), elided);
        assert!(elision(&messages, 0, 1_000_000, true) > 0);
        assert_eq!(elision(&messages, 0, 1, false), 17);
    }
}
