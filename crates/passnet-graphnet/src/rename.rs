//! Alpha-renamed text: the form in which graphs that differ only in names have equal text.
//!
//! Parameters of `forward` become `w_0`, `w_1` ... if their name contains `_self_` or `_instance_modules_`, else `in_0`,
//! `in_1` ...; each kind has its own counter. Every other local name becomes `tmp_0`, `tmp_1` ... in order of first
//! assignment. `name = None` and `del name` are dropped for parameters. The rest of the text stays, aliases and frees
//! included, and is printed by [`crate::unparse`].

use std::borrow::Cow;

use ruff_python_ast::{Expr, Parameters};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use crate::{
    Error,
    source::Source,
    unparse::{Rewrite, Unparser},
};

/// Returns the text of a `model.py` with its names replaced. `path` is used in messages only.
///
/// # Errors
/// If the text is not Python, or has statements or expressions beyond those of samples.
pub fn alpha_renamed(path: &str, text: &str) -> Result<String, Error> {
    let source = Source::new(path, text)?;
    let module = source.parse()?;
    Unparser::new(&source, Renamer::default()).module(&module)
}

/// Returns the SHA-256 of a text in lower-case hexadecimal, which is the form of `graph_hash.txt`.
pub fn sha256_hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Default)]
struct Renamer<'a> {
    names: FxHashMap<&'a str, Renamed>,
    inputs: u32,
    weights: u32,
    locals: u32,
}

#[derive(Clone, Copy)]
enum Renamed {
    Input(u32),
    Weight(u32),
    Local(u32),
}

fn next(counter: &mut u32) -> u32 {
    *counter += 1;
    *counter - 1
}

impl<'a> Renamer<'a> {
    fn define(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) => {
                let locals = &mut self.locals;
                // The first assignment decides: a parameter, or a name that is assigned again, keeps its number.
                self.names.entry(&name.id).or_insert_with(|| Renamed::Local(next(locals)));
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.define(element)),
            _ => {}
        }
    }

    fn is_parameter(&self, target: &Expr) -> bool {
        let name = target.as_name_expr().and_then(|name| self.names.get(name.id.as_str()));
        matches!(name, Some(Renamed::Input(_) | Renamed::Weight(_)))
    }
}

impl<'a> Rewrite<'a> for Renamer<'a> {
    fn parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.args.iter().skip(1) {
            let name = parameter.parameter.name.as_str();
            let renamed = if name.contains("_self_") || name.contains("_instance_modules_") {
                Renamed::Weight(next(&mut self.weights))
            } else {
                Renamed::Input(next(&mut self.inputs))
            };
            self.names.insert(name, renamed);
        }
    }

    fn keeps_target(&mut self, target: &'a Expr, is_free: bool) -> bool {
        if is_free && self.is_parameter(target) {
            return false;
        }
        self.define(target);
        true
    }

    fn name(&self, name: &'a str) -> Cow<'a, str> {
        match self.names.get(name) {
            Some(Renamed::Input(index)) => format!("in_{index}").into(),
            Some(Renamed::Weight(index)) => format!("w_{index}").into(),
            Some(Renamed::Local(index)) => format!("tmp_{index}").into(),
            None => name.into(),
        }
    }
}
