//! The client that a request names.

use passnet_record::fleet::{FleetClient, Priority};
use serde_json::Value;

/// Maximum length of the name of a client.
const MAX_NAME: usize = 64;
/// Name of a client that gives none.
const NAMELESS: &str = "default";

/// Reads the client of a request.
pub(super) fn client_of(request: &Value) -> Result<FleetClient, String> {
    let text = |field: &str| match request.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| format!("`{field}` is a text")),
    };
    let name = text("client")?.unwrap_or(NAMELESS);
    // Names go into metrics and pages.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@-".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(format!("the name of a `client` has 1 to {MAX_NAME} letters, digits and ._:/@-"));
    }
    let wanted = text("priority")?.unwrap_or(Priority::Training.name());
    let priority = Priority::ALL.into_iter().find(|priority| priority.name() == wanted);
    let priority = priority.ok_or("a `priority` is `training` or `batch`")?;
    Ok(FleetClient { name: name.to_owned(), priority })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_has_a_plain_name_and_a_priority() {
        let check = |request: Value, expected: Result<(&str, Priority), &str>| match (client_of(&request), expected) {
            (Ok(client), Ok((name, priority))) => assert_eq!((client.name.as_str(), client.priority), (name, priority)),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (found, expected) => panic!("{request}: {found:?} instead of {expected:?}"),
        };
        check(json!({}), Ok(("default", Priority::Training)));
        check(json!({"client": "host-3:42", "priority": "batch"}), Ok(("host-3:42", Priority::Batch)));
        check(json!({"client": "a\"b"}), Err("letters"));
        check(json!({"client": "x".repeat(65)}), Err("letters"));
        check(json!({"client": 3}), Err("is a text"));
        check(json!({"priority": "first"}), Err("`training` or `batch`"));
    }
}
