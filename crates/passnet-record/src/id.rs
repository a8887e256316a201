use std::fmt;

use serde::{Deserialize, Serialize};

/// Name of something by its content: a BLAKE3 hash in hexadecimal (64 digits).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContentId(String);

impl ContentId {
    /// The id of one byte string.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }

    /// The id of a sequence of byte strings. Each part is preceded by its length, so that moving a boundary between
    /// two parts changes the id.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().to_hex().to_string())
    }

    /// All 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_delimited() {
        let joined = ContentId::of_parts([b"ab".as_slice(), b"c"]);
        let moved = ContentId::of_parts([b"a".as_slice(), b"bc"]);
        assert_ne!(joined, moved);
        assert_eq!(joined.short().len(), 12);
    }
}
