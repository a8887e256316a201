use serde::{Deserialize, Serialize};

/// Largest number of characters of a field.
const MAX_CHARACTERS: usize = 200;

/// Largest amount of US dollars.
const MAX_USD: f64 = 1e9;

/// Description of a run for readers of a board: its submitter, and the place of its code. It does not affect verdicts.
///
/// Every field may be empty. A log may come from an untrusted source, so readers must use [`RunMetadata::web_link`] as an address and
/// never `link`.
///
/// ```
/// use passnet_record::RunMetadata;
///
/// let metadata = RunMetadata { link: "https://example.org/passes".to_owned(), ..RunMetadata::default() };
/// metadata.check()?;
/// assert_eq!(metadata.web_link(), Some("https://example.org/passes"));
/// # Ok::<(), passnet_record::MetadataError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMetadata {
    /// Name that boards show instead of the author's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Organisation or person that is responsible for the run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub organisation: String,
    /// Address of a page about the author, `http://` or `https://`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// Commit of the author's code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Price of one device for one hour, in US dollars, as the submitter states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_usd_per_hour: Option<f64>,
    /// Tokens and money that the author used to write its passes; `None` for authors that are not language models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writing: Option<WritingCost>,
}

/// Cost of writing passes with a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WritingCost {
    /// Input tokens of all requests, including those from a cache.
    pub input_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// True if a server did not count tokens, so that their numbers are estimated from the number of bytes.
    #[serde(default)]
    pub estimated: bool,
    /// Cost in US dollars, as reported by the server or computed from the given prices; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

/// Error for metadata that a board cannot show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// A field is too long.
    #[error("{field} has {length} characters; use at most {MAX_CHARACTERS}")]
    TooLong {
        /// Name of the field.
        field: &'static str,
        /// Number of characters of the field.
        length: usize,
    },
    /// A field has a control character, such as a line feed.
    #[error("{field} has a control character; use one line of plain text")]
    Control {
        /// Name of the field.
        field: &'static str,
    },
    /// The link is not a web address.
    #[error("link `{0}` does not begin with http:// or https://")]
    Link(String),
    /// A price or cost is negative, not a number, or implausibly large.
    #[error("{field} is not an amount of US dollars; use a number from 0 to {MAX_USD}")]
    Amount {
        /// Name of the field.
        field: &'static str,
    },
}

impl RunMetadata {
    /// Returns whether all fields are empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the submitter stated any field. The cost of writing is counted by PassNet and not stated.
    pub fn is_stated(&self) -> bool {
        *self != Self { writing: self.writing, ..Self::default() }
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
            // The limit counts characters and not bytes, so that names in all scripts may be equally long.
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
        let amounts = [
            ("device_usd_per_hour", self.device_usd_per_hour),
            ("writing.usd", self.writing.and_then(|writing| writing.usd)),
        ];
        for (field, amount) in amounts {
            // No range contains NaN, so NaN is refused as well.
            if amount.is_some_and(|amount| !(0.0..=MAX_USD).contains(&amount)) {
                return Err(MetadataError::Amount { field });
            }
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

    #[test]
    fn amounts_are_numbers_of_dollars() {
        let check = |price| RunMetadata { device_usd_per_hour: Some(price), ..RunMetadata::default() }.check();
        for price in [0.0, 2.5, 1e9] {
            assert_eq!(check(price), Ok(()));
        }
        for price in [-0.01, f64::NAN, f64::INFINITY, 2e9] {
            assert_eq!(check(price), Err(MetadataError::Amount { field: "device_usd_per_hour" }));
        }
        let writing = Some(WritingCost { usd: Some(-1.0), ..WritingCost::default() });
        let metadata = RunMetadata { writing, ..RunMetadata::default() };
        assert_eq!(metadata.check(), Err(MetadataError::Amount { field: "writing.usd" }));
    }

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
