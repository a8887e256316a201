//! Authors that are compilers: those of `python/passnet/_compilers`, and `compiler:FILE.py`.

use std::path::Path;

use passnet_record::{AuthorSpec, Device};
use passnet_run::Suite;
use passnet_services::{Interpreter, compiler_problem};

use crate::author::{Author, AuthorContext, AuthorError, Runs};

/// Compilers that are files of `python/passnet/_compilers`.
pub(crate) const NAMES: &[&str] = &["cudagraphs", "thunder", "hidet", "tensorrt"];
/// Kind of the authors that are compilers in a file of the user.
pub(crate) const OWN: &str = "compiler";

/// A compiler behind a function `compile(module)` in Python.
pub(crate) struct Compiler {
    spec: AuthorSpec,
    source: String,
}

impl Compiler {
    pub(crate) const fn new(spec: AuthorSpec) -> Self {
        Self { spec, source: String::new() }
    }
}

/// Returns the name of a compiler and, for a compiler of the user, its file; `None` for other authors.
fn compiler_of(spec: &AuthorSpec) -> Option<(&str, Option<&Path>)> {
    match (spec.kind(), spec.argument()) {
        (OWN, Some(file)) => Some((file, Some(Path::new(file)))),
        (name, None) if NAMES.contains(&name) => Some((name, None)),
        _ => None,
    }
}

impl Author for Compiler {
    fn spec(&self) -> &AuthorSpec {
        &self.spec
    }

    fn check(&self, device: Device) -> Result<(), AuthorError> {
        let Some((name, file)) = compiler_of(&self.spec) else { return Ok(()) };
        let unfit = |problem| AuthorError::Unfit { author: self.spec.clone(), device, problem };
        if let Some(file) = file {
            if !file.exists() {
                return Err(unfit(format!("there is no file {}", file.display())));
            }
            // Excludes pipes, for which the interpreter would wait.
            passnet_run::open_input(file)?;
        }
        match compiler_problem(&Interpreter::find(), name, file, &device.to_string()) {
            Some(problem) => Err(unfit(problem)),
            None => Ok(()),
        }
    }

    fn runs(&self) -> Runs {
        let name = compiler_of(&self.spec).map_or_else(String::new, |(name, _)| name.to_owned());
        Runs::Compiler { name, source: self.source.clone() }
    }

    fn prepare(&mut self, _suite: &Suite, _context: &AuthorContext<'_>) -> Result<(), AuthorError> {
        if let Some((_, Some(file))) = compiler_of(&self.spec) {
            // The text is stored instead of the path, because workers cannot read the user's files, and because the text is part
            // of the key of a verdict.
            self.source = passnet_run::read_input_text(file)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_by_their_names() {
        let of = |name: &str| name.parse().ok().and_then(|spec: AuthorSpec| Some(compiler_of(&spec)?.0.to_owned()));
        for (name, compiler) in [
            ("thunder", Some("thunder")),
            ("compiler:own.py", Some("own.py")),
            ("inductor", None),
            ("compiler", None),
            ("dir:thunder", None),
        ] {
            assert_eq!(of(name).as_deref(), compiler, "{name}");
        }
    }
}
