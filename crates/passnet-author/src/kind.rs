//! The registration table of authors.

use passnet_record::AuthorSpec;

use crate::{
    author::{Author, AuthorError},
    compiler::{self, Compiler},
    dir::Dir,
    eager::Eager,
    fuse::Fuse,
    inductor::{self, Inductor},
    noop::Noop,
};

/// Creates an author from its parsed name.
pub type Create = Box<dyn Fn(AuthorSpec) -> Result<Box<dyn Author>, AuthorError> + Send + Sync>;

/// Kind of author: one entry of the registration table.
pub struct AuthorKind {
    /// Name before the colon.
    pub name: &'static str,
    /// Argument after the colon.
    pub argument: Argument,
    /// Creates the author from a name whose argument was checked.
    pub create: Create,
}

/// Argument that a kind of author takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    None,
    /// One of these, or none for the first.
    OneOf(&'static [&'static str]),
    /// Any text; the word stands for it in messages.
    Any(&'static str),
}

/// Returns the kinds of this crate, in the order in which messages list them.
pub fn builtin_kinds() -> Vec<AuthorKind> {
    let mut kinds = vec![
        kind("eager", Argument::None, |spec| Box::new(Eager::new(spec))),
        kind("noop", Argument::None, |spec| Box::new(Noop::new(spec))),
        kind("fuse", Argument::None, |spec| Box::new(Fuse::new(spec))),
        kind("inductor", Argument::OneOf(inductor::MODES), |spec| Box::new(Inductor::new(spec))),
        kind("dir", Argument::Any("PATH"), |spec| Box::new(Dir::new(spec))),
        kind(compiler::OWN, Argument::Any("FILE.py"), |spec| Box::new(Compiler::new(spec))),
    ];
    kinds.extend(compiler::NAMES.iter().map(|name| kind(name, Argument::None, |spec| Box::new(Compiler::new(spec)))));
    kinds
}

fn kind(name: &'static str, argument: Argument, create: fn(AuthorSpec) -> Box<dyn Author>) -> AuthorKind {
    AuthorKind { name, argument, create: Box::new(move |spec| Ok(create(spec))) }
}

/// Parses a name and checks its argument.
///
/// # Errors
/// If the kind is not in the table, or does not take the argument.
pub fn parse(kinds: &[AuthorKind], text: &str) -> Result<AuthorSpec, AuthorError> {
    let unknown = || AuthorError::Unknown {
        name: text.to_owned(),
        known: kinds.iter().map(AuthorKind::usage).collect::<Vec<_>>().join(", "),
    };
    let spec: AuthorSpec = text.parse().map_err(|_| unknown())?;
    find(kinds, &spec).ok_or_else(unknown)?.check(&spec)?;
    Ok(spec)
}

/// Creates the author of a name.
///
/// # Errors
/// As [`parse`], and if the author lacks what it needs.
pub fn create(kinds: &[AuthorKind], spec: &AuthorSpec) -> Result<Box<dyn Author>, AuthorError> {
    // Checked once more, because a spec can come from a file and not from [`parse`].
    let spec = parse(kinds, &spec.to_string())?;
    match find(kinds, &spec) {
        Some(kind) => (kind.create)(spec),
        None => Err(AuthorError::Unknown { name: spec.to_string(), known: String::new() }),
    }
}

fn find<'a>(kinds: &'a [AuthorKind], spec: &AuthorSpec) -> Option<&'a AuthorKind> {
    kinds.iter().find(|kind| kind.name == spec.kind())
}

impl AuthorKind {
    /// Returns the name with a placeholder for its argument, e.g. `dir:PATH`.
    pub fn usage(&self) -> String {
        match self.argument {
            Argument::None => self.name.to_owned(),
            Argument::OneOf(_) => format!("{0}, {0}:MODE", self.name),
            Argument::Any(word) => format!("{}:{word}", self.name),
        }
    }

    fn check(&self, spec: &AuthorSpec) -> Result<(), AuthorError> {
        let expected = match (self.argument, spec.argument()) {
            (Argument::None | Argument::OneOf(_), None) | (Argument::Any(_), Some(_)) => return Ok(()),
            (Argument::OneOf(known), Some(argument)) if known.contains(&argument) => return Ok(()),
            (Argument::None, Some(_)) => "takes no argument".to_owned(),
            (Argument::OneOf(known), Some(_)) => format!("takes one of the modes {}", known.join(", ")),
            (Argument::Any(word), None) => format!("needs an argument, as in `{}:{word}`", self.name),
        };
        Err(AuthorError::Argument { kind: self.name, expected, got: spec.argument().unwrap_or_default().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_when_they_are_parsed() {
        let kinds = builtin_kinds();
        for name in ["eager", "noop", "fuse", "inductor", "inductor:max-autotune", "dir:passes/demo", "thunder"] {
            let spec = parse(&kinds, name).unwrap();
            assert_eq!(spec.to_string(), name);
            assert_eq!(create(&kinds, &spec).unwrap().spec(), &spec);
        }
        for (name, part) in [
            ("", "known are eager, noop, fuse, inductor, inductor:MODE, dir:PATH, compiler:FILE.py, cudagraphs"),
            ("gpt", "unknown author `gpt`"),
            ("dir:", "unknown author `dir:`"),
            ("dir", "needs an argument, as in `dir:PATH`"),
            ("eager:fast", "takes no argument"),
            ("inductor:bogusmode", "default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs"),
        ] {
            let error = parse(&kinds, name).unwrap_err().to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
    }
}
