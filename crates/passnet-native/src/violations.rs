//! Violations that the interception layer has seen. Code of a pass runs in the same process, so entries can be added but never removed.

use std::sync::{Mutex, PoisonError};

/// Largest number of different entries of a call. Further entries would add no information.
const MOST: usize = 64;
/// Largest number of entries of all calls.
const MOST_OF_ALL: usize = 4096;

static RECORD: Mutex<Record> = Mutex::new(Record { entries: Vec::new(), first_of_call: 0 });

struct Record {
    entries: Vec<String>,
    /// Number of entries at the beginning of the current call.
    first_of_call: usize,
}

/// Begins a call. An entry that an earlier call has is added again if the violation happens again.
pub fn begin_call() {
    let mut record = RECORD.lock().unwrap_or_else(PoisonError::into_inner);
    record.first_of_call = record.entries.len();
}

/// Adds an entry unless it is already recorded for this call.
pub fn record(entry: &str) {
    let mut record = RECORD.lock().unwrap_or_else(PoisonError::into_inner);
    let of_call = &record.entries[record.first_of_call..];
    if of_call.len() < MOST && record.entries.len() < MOST_OF_ALL && !of_call.iter().any(|known| known == entry) {
        record.entries.push(entry.to_owned());
    }
}

/// Returns all entries of this process, in the order in which they were added.
pub fn all() -> Vec<String> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner).entries.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_once_in_a_call_and_up_to_a_limit() {
        record("aten.mm");
        record("aten.mm");
        assert_eq!(all(), ["aten.mm"]);
        begin_call();
        record("aten.mm");
        assert_eq!(all(), ["aten.mm", "aten.mm"]);
        (0..2 * MOST).for_each(|i| record(&i.to_string()));
        assert_eq!(all().len(), 1 + MOST);
    }
}
