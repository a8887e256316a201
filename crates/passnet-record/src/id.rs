use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Identifier of a byte string by its content: a BLAKE3 hash as 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ContentId(String);

/// Error for text that is not a [`ContentId`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a content id; expected 64 lower-case hexadecimal digits", .0.escape_debug())]
pub struct InvalidContentId(String);

impl ContentId {
    /// Number of digits.
    const DIGITS: usize = 64;

    /// Returns the id of one byte string.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }

    /// Returns the id of a sequence of byte strings. Each part is preceded by its length, so that moving a boundary
    /// between two parts changes the id.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().to_hex().to_string())
    }

    /// Returns all 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first 12 digits, for display.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl TryFrom<String> for ContentId {
    type Error = InvalidContentId;

    fn try_from(text: String) -> Result<Self, InvalidContentId> {
        // Ids of a log become paths of blobs. Text that is not a hash could name any file.
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == Self::DIGITS && text.bytes().all(is_digit) {
            Ok(Self(text))
        } else {
            Err(InvalidContentId(text))
        }
    }
}

impl FromStr for ContentId {
    type Err = InvalidContentId;

    fn from_str(text: &str) -> Result<Self, InvalidContentId> {
        text.to_owned().try_into()
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

    #[test]
    fn only_hashes_are_ids() {
        let id = ContentId::of(b"x");
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<ContentId>(&json).unwrap(), id);
        let upper = id.as_str().to_uppercase();
        for text in ["", "../../etc/passwd", &id.as_str()[1..], upper.as_str()] {
            assert!(text.parse::<ContentId>().is_err(), "{text}");
            assert!(serde_json::from_str::<ContentId>(&format!("{text:?}")).is_err(), "{text}");
        }
    }
}
