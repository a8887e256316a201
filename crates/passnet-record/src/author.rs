use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap as _};

/// Name of an author: its kind and, after a colon, its argument, e.g. `inductor:max-autotune`.
///
/// `passnet-author` defines the kinds and their arguments. A name that no installed author has can still be read from a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "AuthorFields")]
pub struct AuthorSpec {
    kind: String,
    argument: Option<String>,
}

/// Fields of a name in JSON. The name of the second field depends on the kind, because readers of earlier versions expect this.
#[derive(Deserialize)]
struct AuthorFields {
    kind: String,
    #[serde(default, alias = "mode", alias = "path", alias = "model")]
    argument: Option<String>,
}

/// Name of the argument of a language model in JSON.
const MODEL: &str = "model";
/// Kinds of authors of version 1, with the names of their arguments in JSON.
const FIELDS: [(&str, &str); 3] = [("inductor", "mode"), ("dir", "path"), ("llm", MODEL)];

/// Error for text that is not `KIND` or `KIND:ARGUMENT`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not the name of an author; expected KIND or KIND:ARGUMENT", .0.escape_debug())]
pub struct AuthorParseError(pub String);

impl AuthorSpec {
    /// Creates a name.
    pub fn new(kind: &str, argument: Option<String>) -> Self {
        // `inductor` and `inductor:default` are the same author, so the default mode is left out.
        let argument = argument.filter(|argument| (kind, argument.as_str()) != ("inductor", "default"));
        Self { kind: kind.to_owned(), argument }
    }

    /// Returns the part before the colon.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns whether the author rewrites nothing. All scores are relative to such authors, which have the score 1.
    pub fn is_baseline(&self) -> bool {
        matches!(self.kind.as_str(), "eager" | "noop")
    }

    /// Returns whether the argument is the name of a language model, whose tokens cost money.
    pub fn names_model(&self) -> bool {
        self.field() == MODEL
    }

    /// Returns the name of the argument in JSON. Readers of earlier versions expect these names. Kinds that were added later have the
    /// general name.
    fn field(&self) -> &'static str {
        FIELDS.iter().find(|(kind, _)| *kind == self.kind).map_or("argument", |(_, field)| field)
    }

    /// Returns the part after the colon.
    pub fn argument(&self) -> Option<&str> {
        self.argument.as_deref()
    }
}

impl From<AuthorFields> for AuthorSpec {
    fn from(fields: AuthorFields) -> Self {
        Self::new(&fields.kind, fields.argument)
    }
}

impl Serialize for AuthorSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The inverse of `new`: names leave out the default mode, but logs have always contained it.
        let argument = self.argument.as_deref().or_else(|| (self.kind == "inductor").then_some("default"));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &self.kind)?;
        if let Some(argument) = argument {
            map.serialize_entry(self.field(), argument)?;
        }
        map.end()
    }
}

impl FromStr for AuthorSpec {
    type Err = AuthorParseError;

    fn from_str(text: &str) -> Result<Self, AuthorParseError> {
        let (kind, argument) = match text.split_once(':') {
            Some((kind, argument)) => (kind, Some(argument.to_owned())),
            None => (text, None),
        };
        if kind.is_empty() || argument.as_ref().is_some_and(String::is_empty) {
            return Err(AuthorParseError(text.to_owned()));
        }
        Ok(Self::new(kind, argument))
    }
}

impl fmt::Display for AuthorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.argument.as_ref().map_or(Ok(()), |argument| write!(f, ":{argument}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in [
            "eager",
            "noop",
            "fuse",
            "inductor",
            "inductor:max-autotune",
            "dir:passes/demo",
            "llm:org/model:v1",
            "new:x",
        ] {
            let spec: AuthorSpec = name.parse().unwrap();
            assert_eq!(spec.to_string(), name);
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<AuthorSpec>(&json).unwrap(), spec, "{json}");
        }
        for name in ["", "dir:", ":x"] {
            assert!(name.parse::<AuthorSpec>().is_err(), "{name}");
        }
    }

    #[test]
    fn logs_of_all_versions_are_alike() {
        for (json, name) in [
            (r#"{"kind":"eager"}"#, "eager"),
            (r#"{"kind":"inductor","mode":"default"}"#, "inductor"),
            (r#"{"kind":"inductor","mode":"max-autotune"}"#, "inductor:max-autotune"),
            (r#"{"kind":"dir","path":"passes/demo"}"#, "dir:passes/demo"),
            (r#"{"kind":"llm","model":"org/model"}"#, "llm:org/model"),
        ] {
            let spec: AuthorSpec = serde_json::from_str(json).unwrap();
            assert_eq!(spec.names_model(), name.starts_with("llm:"));
            assert_eq!((spec.to_string().as_str(), serde_json::to_string(&spec).unwrap().as_str()), (name, json));
        }
    }
}
