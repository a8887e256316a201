//! The registration table of authors.

use std::{borrow::Cow, path::Path};

use passnet_record::AuthorSpec;

use crate::{
    author::{Author, AuthorError, AuthorOptions},
    compiler::{self, Compiler},
    dir::Dir,
    eager::Eager,
    fuse::Fuse,
    inductor::{self, Inductor},
    noop::Noop,
};

/// Creates an author from its parsed name and the options of the command.
pub type Create = Box<dyn Fn(AuthorSpec, &AuthorOptions) -> Result<Box<dyn Author>, AuthorError> + Send + Sync>;

/// Way in which an author of a kind is created.
pub enum Creation {
    /// Created from its name and options.
    ByName(Create),
    /// Created by the command, from the flags for a server of language models. A name cannot hold the address, key and budgets.
    ByModelServer,
}

/// Kind of author: one entry of the registration table.
pub struct AuthorKind {
    /// Name before the colon.
    pub name: &'static str,
    /// Argument after the colon.
    pub argument: Argument,
    /// Creates the author from a name whose argument was checked.
    pub creation: Creation,
}

/// Argument that a kind of author takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    None,
    /// One of these values, or none, which means the first.
    OneOf(&'static [&'static str]),
    /// Any text. The word is its placeholder in messages.
    Any(&'static str),
    /// A folder of passes. The word is its placeholder in messages.
    Folder(&'static str),
}

/// Returns the kinds of this crate, in the order in which messages list them.
pub fn builtin_kinds() -> Vec<AuthorKind> {
    let mut kinds = vec![
        kind("eager", Argument::None, |spec, _| Box::new(Eager::new(spec))),
        kind("noop", Argument::None, |spec, _| Box::new(Noop::new(spec))),
        kind("fuse", Argument::None, |spec, options| Box::new(Fuse::new(spec, options))),
        kind("inductor", Argument::OneOf(inductor::MODES), |spec, _| Box::new(Inductor::new(spec))),
        kind("dir", Argument::Folder("PATH"), |spec, _| Box::new(Dir::new(spec))),
        kind(compiler::OWN, Argument::Any("FILE.py"), |spec, _| Box::new(Compiler::new(spec))),
    ];
    let compiler = |name: &&'static str| kind(name, Argument::None, |spec, _| Box::new(Compiler::new(spec)));
    kinds.extend(compiler::NAMES.iter().map(compiler));
    kinds
}

fn kind(
    name: &'static str,
    argument: Argument,
    create: fn(AuthorSpec, &AuthorOptions) -> Box<dyn Author>,
) -> AuthorKind {
    let create = move |spec, options: &AuthorOptions| Ok(create(spec, options));
    AuthorKind { name, argument, creation: Creation::ByName(Box::new(create)) }
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
/// As [`parse`], and if something that the author needs is missing.
pub fn create(
    kinds: &[AuthorKind],
    spec: &AuthorSpec,
    options: &AuthorOptions,
) -> Result<Box<dyn Author>, AuthorError> {
    // Checked once more, because a spec can come from a file and not from [`parse`].
    let spec = parse(kinds, &spec.to_string())?;
    match find(kinds, &spec) {
        Some(AuthorKind { creation: Creation::ByName(create), .. }) => create(spec, options),
        Some(AuthorKind { creation: Creation::ByModelServer, .. }) => Err(AuthorError::NeedsModelServer),
        None => Err(AuthorError::Unknown { name: spec.to_string(), known: String::new() }),
    }
}

/// Returns whether the author of a name is a language model, which the command creates from the flags for its server.
pub fn needs_model_server(kinds: &[AuthorKind], spec: &AuthorSpec) -> bool {
    find(kinds, spec).is_some_and(|kind| matches!(kind.creation, Creation::ByModelServer))
}

/// Returns the part of a run's name that names the author: `KIND-ARGUMENT`, or the name of the folder for a folder of passes.
pub fn label(kinds: &[AuthorKind], spec: &AuthorSpec) -> String {
    let is_folder = find(kinds, spec).is_some_and(|kind| matches!(kind.argument, Argument::Folder(_)));
    let folder = spec.argument().filter(|_| is_folder).map(Path::new);
    let name = folder.map(|path| path.file_name().map_or_else(|| "passes".into(), |name| name.to_string_lossy()));
    name.map_or_else(|| spec.to_string(), Cow::into_owned)
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
            Argument::Any(word) | Argument::Folder(word) => format!("{}:{word}", self.name),
        }
    }

    fn check(&self, spec: &AuthorSpec) -> Result<(), AuthorError> {
        let expected = match (self.argument, spec.argument()) {
            (Argument::None | Argument::OneOf(_), None) | (Argument::Any(_) | Argument::Folder(_), Some(_)) => {
                return Ok(());
            }
            (Argument::OneOf(known), Some(argument)) if known.contains(&argument) => return Ok(()),
            (Argument::None, Some(_)) => "takes no argument".to_owned(),
            (Argument::OneOf(known), Some(_)) => format!("takes one of the modes {}", known.join(", ")),
            (Argument::Any(word) | Argument::Folder(word), None) => {
                format!("needs an argument, as in `{}:{word}`", self.name)
            }
        };
        Err(AuthorError::Argument { kind: self.name, expected, got: spec.argument().unwrap_or_default().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        let kinds = builtin_kinds();
        for (name, expected) in [
            ("eager", "eager"),
            ("inductor:max-autotune", "inductor:max-autotune"),
            ("dir:passes/demo", "demo"),
            ("dir:..", "passes"),
            ("compiler:own/file.py", "compiler:own/file.py"),
        ] {
            assert_eq!(label(&kinds, &name.parse().unwrap()), expected, "{name}");
        }
    }

    #[test]
    fn names_are_checked_when_they_are_parsed() {
        let kinds = builtin_kinds();
        for name in ["eager", "noop", "fuse", "inductor", "inductor:max-autotune", "dir:passes/demo", "thunder"] {
            let spec = parse(&kinds, name).unwrap();
            assert_eq!(spec.to_string(), name);
            assert_eq!(create(&kinds, &spec, &AuthorOptions::default()).unwrap().spec(), &spec);
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
