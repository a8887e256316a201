//! Results of the rules.

use std::fmt;

/// A rule for object code, or for the text that the object is compiled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectRule {
    /// The file is a well-formed relocatable object for x86-64.
    Format,
    /// Only code and constants.
    Sections,
    /// Only listed functions of libraries, and plain functions.
    Symbols,
    /// Only direct calls and reads of constants.
    Relocations,
    /// Only instructions that compute.
    Instructions,
    /// Only constants, arguments and the stack are addressed.
    Data,
    /// The stack pointer moves as compilers move it.
    Stack,
    /// Only C++ without constructs that leave no trace in the object, such as `asm` and attributes.
    Source,
}

impl ObjectRule {
    /// All rules.
    pub const ALL: [Self; 8] = [
        Self::Format,
        Self::Sections,
        Self::Symbols,
        Self::Relocations,
        Self::Instructions,
        Self::Data,
        Self::Stack,
        Self::Source,
    ];

    /// Returns the name in messages and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Sections => "sections",
            Self::Symbols => "symbols",
            Self::Relocations => "relocations",
            Self::Instructions => "instructions",
            Self::Data => "data",
            Self::Stack => "stack",
            Self::Source => "source",
        }
    }
}

impl fmt::Display for ObjectRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One violation of a rule by a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {message}")]
pub struct ObjectFinding {
    /// The rule that is violated.
    pub rule: ObjectRule,
    /// The offending symbol or instruction, and what to write instead.
    pub message: String,
}

impl ObjectFinding {
    pub(crate) fn new(rule: ObjectRule, message: impl Into<String>) -> Self {
        Self { rule, message: message.into() }
    }
}

/// Returns the C++ name in a mangled one, without its scope and its parameters; other names stay as they are.
///
/// Enough for messages: `_ZZ1kE4last` gives `last`, `_ZN1M5cacheE` gives `cache`.
pub(crate) fn readable(mangled: &str) -> &str {
    let Some(rest) = mangled.strip_prefix("_Z") else { return mangled };
    let mut rest = rest.trim_start_matches(['Z', 'N', 'L', 'K', 'G', 'T', 'H', 'W', 'V']);
    let mut last = mangled;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some(name) = rest[..digits].parse().ok().and_then(|length: usize| rest[digits..].get(..length)) else {
            return last;
        };
        last = name;
        rest = &rest[digits + name.len()..];
        // `E` ends the name of a function; the name of a local of this function follows.
        if let Some((_, local)) =
            rest.split_once('E').filter(|(_, local)| local.starts_with(|c: char| c.is_ascii_digit()))
        {
            rest = local;
        }
        rest = rest.trim_start_matches('L');
    }
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn mangled_names_become_those_of_the_source() {
        for (mangled, name) in [
            ("expf", "expf"),
            ("_ZL5table", "table"),
            ("_ZN1M5cacheE", "cache"),
            ("_ZZ1kE4last", "last"),
            ("_ZZ1kPKfPflE5count", "count"),
            ("_Z", "_Z"),
            ("_Z9", "_Z9"),
            ("_Z99999999999999999999x", "_Z99999999999999999999x"),
        ] {
            assert_eq!(readable(mangled), name);
        }
    }
}
