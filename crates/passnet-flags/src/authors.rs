//! The authors that the command knows: those of `passnet-author`, and `llm:`.

use passnet_author::{Argument, AuthorError, AuthorKind, Creation, builtin_kinds};
use passnet_record::AuthorSpec;

/// Returns all kinds of authors.
pub fn author_kinds() -> Vec<AuthorKind> {
    let mut kinds = builtin_kinds();
    kinds.push(AuthorKind { name: "llm", argument: Argument::Any("MODEL"), creation: Creation::ByModelServer });
    kinds
}

/// Returns the names of the authors of `passnet-author`, as help and messages list them, e.g. `eager, noop, dir:PATH`.
pub fn author_names() -> String {
    builtin_kinds().iter().map(AuthorKind::usage).collect::<Vec<_>>().join(", ")
}

/// Parses the name of an author on the command line.
pub(crate) fn parse(text: &str) -> Result<AuthorSpec, AuthorError> {
    passnet_author::parse(&author_kinds(), text)
}
