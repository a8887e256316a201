//! API key of a server.

use std::{env, fmt, path::Path};

/// An API key. It appears in no log, record, or message: its `Debug` form hides it, and [`Self::hide`] removes it from text
/// that a server returned.
#[derive(Clone, Default)]
pub struct ApiKey(String);

/// Error of reading a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the API key: {0}")]
    Io(#[from] std::io::Error),
    /// The text is empty or has characters that no header can carry.
    #[error("{0} has no API key; expected one line of visible ASCII characters")]
    Malformed(String),
}

impl ApiKey {
    /// Minimum length of a key that is removed from messages; a shorter one would occur by chance.
    const SHORTEST_HIDDEN: usize = 6;

    /// Reads a key from a file; surrounding space is ignored.
    ///
    /// # Errors
    /// Fails if the file cannot be read or holds no key.
    pub fn from_file(path: &Path) -> Result<Self, KeyError> {
        Self::parse(&passnet_run::read_input_text(path)?, &path.display().to_string())
    }

    /// Reads a key from an environment variable; an unset variable is not a key.
    ///
    /// # Errors
    /// Fails if the variable holds no key.
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        match env::var(variable) {
            Ok(text) if !text.trim().is_empty() => Self::parse(&text, variable),
            Ok(_) | Err(env::VarError::NotPresent) => Ok(Self::default()),
            Err(env::VarError::NotUnicode(_)) => Err(KeyError::Malformed(variable.to_owned())),
        }
    }

    fn parse(text: &str, place: &str) -> Result<Self, KeyError> {
        let key = text.trim();
        // A line break inside the key would start another header.
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Malformed(place.to_owned()));
        }
        Ok(Self(key.to_owned()))
    }

    /// Returns the key, for the one place that sends it.
    pub(super) fn reveal(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }

    /// Removes the key from a text.
    pub(super) fn hide(&self, text: String) -> String {
        if self.0.len() >= Self::SHORTEST_HIDDEN && text.contains(&self.0) {
            text.replace(&self.0, "[key]")
        } else {
            text
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Key(none)" } else { "Key([key])" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_not_show() {
        let key = ApiKey::parse(" sk-secret\n", "test").unwrap();
        assert_eq!(format!("{key:?}"), "Key([key])");
        assert_eq!(key.hide("bad key sk-secret!".to_owned()), "bad key [key]!");
        assert_eq!(ApiKey::default().hide("unchanged".to_owned()), "unchanged");
        assert!(ApiKey::parse("two words", "test").is_err());
    }
}
