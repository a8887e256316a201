use ruff_python_ast::ModModule;
use ruff_text_size::{Ranged, TextSize};

use crate::{Error, ErrorKind, nesting};

/// Size of the largest file that is read, in bytes. The largest known `model.py` has 3 MB.
pub const MAX_SOURCE_BYTES: usize = 64 << 20;

/// The text of a file, with the name to use for it in messages.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// Creates a source. Refuses a text that is larger than [`MAX_SOURCE_BYTES`].
    pub(crate) fn new(path: &'a str, text: &'a str) -> Result<Self, Error> {
        if text.len() > MAX_SOURCE_BYTES {
            let kind = ErrorKind::TooLarge { found: text.len(), limit: MAX_SOURCE_BYTES };
            return Err(Error::of_file(path, kind));
        }
        Ok(Self { path, text })
    }

    /// Parses a module, after checking its nesting.
    pub(crate) fn parse(&self) -> Result<ModModule, Error> {
        nesting::check(self.text).map_err(|(at, kind)| self.error_at(at, kind))?;
        match ruff_python_parser::parse_module(self.text) {
            Ok(parsed) => Ok(parsed.into_syntax()),
            Err(error) => Err(self.error_at(error.location.start(), ErrorKind::Syntax(error.error.to_string()))),
        }
    }

    pub(crate) fn error(&self, place: &impl Ranged, kind: ErrorKind) -> Error {
        self.error_at(place.start(), kind)
    }

    pub(crate) fn error_at(&self, offset: TextSize, kind: ErrorKind) -> Error {
        Error::at(self.path, self.text, offset.to_usize(), kind)
    }

    /// Returns the text of a syntax node.
    pub(crate) fn text_of(&self, place: &impl Ranged) -> &'a str {
        let range = place.range();
        self.text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default()
    }
}
