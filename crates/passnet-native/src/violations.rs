//! Violations that the interception layer has seen. Code of a pass runs in the same process, so entries can be added but never removed.

use std::sync::{Mutex, PoisonError};

/// Largest number of different entries. Further entries would add no information.
const MOST: usize = 64;

static RECORD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Adds an entry unless it is already recorded.
pub fn record(entry: &str) {
    let mut record = RECORD.lock().unwrap_or_else(PoisonError::into_inner);
    if record.len() < MOST && !record.iter().any(|known| known == entry) {
        record.push(entry.to_owned());
    }
}

/// Returns all entries of this process, in the order of their first occurrence.
pub fn all() -> Vec<String> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_once_and_up_to_a_limit() {
        record("aten.mm");
        record("aten.mm");
        assert_eq!(all(), ["aten.mm"]);
        (0..2 * MOST).for_each(|i| record(&i.to_string()));
        assert_eq!(all().len(), MOST);
    }
}
