//! Enumerations with one name per variant.

/// Error for a name that is not one of the expected names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{}`; known are {known}", .name.escape_debug())]
pub struct UnknownChoice {
    what: &'static str,
    name: String,
    known: String,
}

// This is a macro so that each name is written only once and flags, run logs and messages always agree.
/// Defines an enumeration with one name per variant, in JSON, `Display` and `FromStr` alike.
macro_rules! named {
    ($(#[$meta:meta])* $type:ident, $what:literal, $($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// Every variant, in declaration order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name used in records and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // `pad` applies a width in a format string, which `write_str` does not.
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownChoice;

            fn from_str(name: &str) -> Result<Self, $crate::UnknownChoice> {
                Self::ALL.into_iter().find(|choice| choice.name() == name).ok_or_else(|| $crate::UnknownChoice::new($what, name, &[$($name),+]))
            }
        }
    };
}

pub(crate) use named;

impl UnknownChoice {
    pub(crate) fn new(what: &'static str, name: &str, known: &[&str]) -> Self {
        Self { what, name: name.to_owned(), known: known.join(", ") }
    }
}
