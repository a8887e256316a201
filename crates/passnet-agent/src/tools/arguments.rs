//! Strict reading of the arguments of a tool call: a misspelt or malformed argument is an error that the model can correct. It is
//! never replaced by a default.

use serde_json::{Map, Value};

use crate::shorten::shortened;

/// Maximum bytes of a model's text that an error repeats.
const MAX_ECHO: usize = 200;

/// Arguments of one call. `null` counts as absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// Reads arguments; only these names are known.
    ///
    /// # Errors
    /// Fails if the value is not an object or has an unknown name.
    pub(super) fn of(value: &'a Value, known: &[&str]) -> Result<Self, String> {
        let Value::Object(fields) = value else {
            let sent = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            return Err(format!(
                "nothing was done, because the arguments are not a JSON object; they begin with `{}`",
                shortened(&sent, MAX_ECHO)
            ));
        };
        let unknown = fields.iter().find(|(name, value)| !value.is_null() && !known.contains(&name.as_str()));
        match unknown {
            Some((name, _)) => {
                let name = shortened(name, MAX_ECHO);
                Err(format!(
                    "nothing was done, because there is no argument `{name}`; the arguments are {}",
                    known.join(", ")
                ))
            }
            None => Ok(Self(fields)),
        }
    }

    /// Returns the first of these arguments that is present, with its name.
    fn first(self, names: &[&'a str]) -> Option<(&'a str, &'a Value)> {
        let present = |name: &&'a str| Some((*name, self.0.get(*name).filter(|value| !value.is_null())?));
        names.iter().find_map(present)
    }

    /// Returns a text under the first of these names that is present.
    pub(super) fn text(self, names: &[&'a str]) -> Result<Option<&'a str>, String> {
        match self.first(names) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, other)) => Err(wrong(name, "text", other)),
        }
    }

    /// Returns a text that the call needs.
    pub(super) fn need_text(self, names: &[&'a str]) -> Result<&'a str, String> {
        self.text(names)?.ok_or_else(|| format!("argument `{}` is missing", names[0]))
    }

    /// Returns a truth value, also if it is written as text; false if it is absent.
    pub(super) fn flag(self, name: &'a str) -> Result<bool, String> {
        let Some((_, value)) = self.first(&[name]) else { return Ok(false) };
        let written = value.as_str().map(|text| text.trim().to_ascii_lowercase());
        match (value, written.as_deref()) {
            (Value::Bool(flag), _) => Ok(*flag),
            (_, Some("true")) => Ok(true),
            (_, Some("false" | "")) => Ok(false),
            _ => Err(wrong(name, "true or false", value)),
        }
    }

    /// Returns an integer that the call needs, also if it is written as text.
    pub(super) fn need_integer(self, name: &'a str) -> Result<i64, String> {
        let (_, value) = self.first(&[name]).ok_or_else(|| format!("argument `{name}` is missing"))?;
        integer(value).ok_or_else(|| wrong(name, "an integer", value))
    }

    /// Returns a list of texts that the call needs, also if it is written as text.
    pub(super) fn need_texts(self, name: &'a str) -> Result<Vec<String>, String> {
        let (_, value) = self.first(&[name]).ok_or_else(|| format!("argument `{name}` is missing"))?;
        let written = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let items = written.as_ref().unwrap_or(value).as_array();
        let text = |item: &Value| item.as_str().map(str::to_owned);
        let texts = items.and_then(|items| items.iter().map(text).collect::<Option<Vec<String>>>());
        texts.ok_or_else(|| wrong(name, "a list of strings", value))
    }

    /// Returns a list of integers, also if it is written as text.
    pub(super) fn integers(self, name: &'a str) -> Result<Option<Vec<i64>>, String> {
        let Some((_, value)) = self.first(&[name]) else { return Ok(None) };
        let written = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let items = written.as_ref().unwrap_or(value).as_array();
        let numbers = items.and_then(|items| items.iter().map(integer).collect::<Option<Vec<i64>>>());
        numbers.map(Some).ok_or_else(|| wrong(name, "a list of integers", value))
    }
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn wrong(name: &str, expected: &str, found: &Value) -> String {
    format!(
        "nothing was done, because argument `{name}` is `{}`, not {expected}",
        shortened(&found.to_string(), MAX_ECHO)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_malformed_is_an_error() {
        type Read = (Option<String>, bool, Option<Vec<i64>>);
        let known = ["stage", "skip_cpu", "lines"];
        let read = |value: &Value| -> Result<Read, String> {
            let arguments = Arguments::of(value, &known)?;
            let stage = arguments.text(&["stage"])?.map(str::to_owned);
            Ok((stage, arguments.flag("skip_cpu")?, arguments.integers("lines")?))
        };
        for (value, error) in [
            (json!("{\"stage\": chek"), "not a JSON object"),
            (json!(["check"]), "not a JSON object"),
            (json!(null), "not a JSON object"),
            (json!({"stge": "check"}), "no argument `stge`"),
            (json!({"stage": 7}), "`stage` is `7`, not text"),
            (json!({"skip_cpu": "maybe"}), "not true or false"),
            (json!({"lines": [1, "x"]}), "not a list of integers"),
        ] {
            assert!(read(&value).unwrap_err().contains(error), "{value}: {:?}", read(&value));
        }
        assert_eq!(read(&json!({})), Ok((None, false, None)));
        assert_eq!(read(&json!({"stage": null, "note": null})), Ok((None, false, None)));
        let written = json!({"stage": "check", "skip_cpu": "True", "lines": "[1, 5]"});
        assert_eq!(read(&written), Ok((Some("check".to_owned()), true, Some(vec![1, 5]))));
    }
}
