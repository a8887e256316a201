//! The client that a request names.

use passnet_record::{
    env::ResetRequest,
    fleet::{FleetClient, Priority},
};

/// Maximum length of the name of a client.
const MAX_NAME: usize = 64;
/// Name of a client that gives none.
const NAMELESS: &str = "default";

/// Reads the client of a request.
pub(super) fn client_of(request: &ResetRequest) -> Result<FleetClient, String> {
    let name = request.client.as_deref().unwrap_or(NAMELESS);
    // Names go into metrics and pages.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@-".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(format!("the name of a `client` has 1 to {MAX_NAME} letters, digits and ._:/@-"));
    }
    let wanted = request.priority.as_deref().unwrap_or(Priority::Training.name());
    let priority = Priority::ALL.into_iter().find(|priority| priority.name() == wanted);
    let priority = priority.ok_or("a `priority` is `training` or `batch`")?;
    Ok(FleetClient { name: name.to_owned(), priority })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_a_plain_name_and_a_priority() {
        let check = |client: Option<&str>, priority: Option<&str>, expected: Result<(&str, Priority), &str>| {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let request = ResetRequest { task: "a".to_owned(), client: text(client), priority: text(priority) };
            match (client_of(&request), expected) {
                (Ok(client), Ok((name, priority))) => {
                    assert_eq!((client.name.as_str(), client.priority), (name, priority));
                }
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                (found, expected) => panic!("{request:?}: {found:?} instead of {expected:?}"),
            }
        };
        check(None, None, Ok(("default", Priority::Training)));
        check(Some("host-3:42"), Some("batch"), Ok(("host-3:42", Priority::Batch)));
        check(Some("a\"b"), None, Err("letters"));
        check(Some(&"x".repeat(65)), None, Err("letters"));
        check(None, Some("first"), Err("`training` or `batch`"));
    }
}
