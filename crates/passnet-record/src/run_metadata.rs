use serde::{Deserialize, Serialize};

/// Most characters of a field.
const MAX_CHARACTERS: usize = 200;

/// Description of a run for readers of a board: who submits it, and where its code is. Changes no verdict.
///
/// Every field may be empty. A log may come from anyone, so readers use [`RunMetadata::web_link`] and never `link` as an
/// address.
///
/// ```
/// use passnet_record::RunMetadata;
///
/// let metadata = RunMetadata { link: "https://example.org/passes".to_owned(), ..RunMetadata::default() };
/// metadata.check()?;
/// assert_eq!(metadata.web_link(), Some("https://example.org/passes"));
/// # Ok::<(), passnet_record::MetadataError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMetadata {
    /// Name that boards show instead of the author's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Organisation or person that answers for the run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub organisation: String,
    /// Address of a page about the author, `http://` or `https://`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// Commit of the author's code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
}

/// Error for metadata that a board cannot show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// A field is too long.
    #[error("{field} has {length} characters; write at most {MAX_CHARACTERS}")]
    TooLong {
        /// Name of the field.
        field: &'static str,
        /// Number of its characters.
        length: usize,
    },
    /// A field has a control character, such as a line feed.
    #[error("{field} has a control character; write one line of plain text")]
    Control {
        /// Name of the field.
        field: &'static str,
    },
    /// The link is not an address of the web.
    #[error("link `{0}` is not an address that begins with http:// or https://")]
    Link(String),
}

impl RunMetadata {
    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks all fields, before they are written to a log.
    ///
    /// # Errors
    /// For the first field that a board could not show.
    pub fn check(&self) -> Result<(), MetadataError> {
        let fields = [
            ("name", &self.name),
            ("organisation", &self.organisation),
            ("link", &self.link),
            ("commit", &self.commit),
        ];
        for (field, text) in fields {
            let length = text.chars().count();
            if length > MAX_CHARACTERS {
                return Err(MetadataError::TooLong { field, length });
            }
            if text.chars().any(char::is_control) {
                return Err(MetadataError::Control { field });
            }
        }
        if !self.link.is_empty() && self.web_link().is_none() {
            return Err(MetadataError::Link(self.link.clone()));
        }
        Ok(())
    }

    /// Returns the link if it leads to a web page. An address with another scheme could run a script in the reader's browser.
    pub fn web_link(&self) -> Option<&str> {
        let is_web = ["https://", "http://"].iter().any(|scheme| {
            let rest = self.link.strip_prefix(scheme);
            rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
        });
        is_web.then_some(self.link.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: &str, text: &str) -> Result<(), MetadataError> {
        let value = serde_json::json!({ field: text });
        serde_json::from_value::<RunMetadata>(value).unwrap().check()
    }

    #[test]
    fn fields_are_short_plain_text_and_links_lead_to_the_web() {
        assert_eq!(check("name", "Größer & Co. <3"), Ok(()));
        assert_eq!(check("name", &"é".repeat(200)), Ok(()));
        let (field, length) = ("organisation", 201);
        assert_eq!(check(field, &"a".repeat(length)), Err(MetadataError::TooLong { field, length }));
        assert_eq!(check("commit", "a\nb"), Err(MetadataError::Control { field: "commit" }));
        assert_eq!(check("link", "http://localhost:1/a?b#c"), Ok(()));
        for link in ["javascript:alert(1)", "data:text/html,x", "https://", "ftp://a", "https://a b", " https://a"] {
            assert_eq!(check("link", link), Err(MetadataError::Link(link.to_owned())), "{link}");
        }
    }
}
