//! `weight_meta.py` and `input_meta.py`: one class per parameter of `forward`, whose attributes are literals.
//!
//! ```text
//! class Program_weight_tensor_meta_x:
//!     name = "x"
//!     shape = [1, 16]
//!     dtype = "torch.float32"
//!     device = "cuda:0"
//!     mean = 0.0
//!     std = 1.0
//!     data = None
//! ```
//!
//! The name of the class has no meaning. A missing attribute has the default of GraphNet's reader: shape `[]`, dtype
//! `torch.float32`, device `cpu`, mean 0, standard deviation 1; all others are absent.

mod print;
mod read;

use std::collections::BTreeSet;

use passnet_record::TensorMeta;
use ruff_python_ast::Stmt;

pub use print::print;

use crate::{Error, ErrorKind, source::Source};

/// Reads the tensors of a file, in the order of the text. `path` is used in messages only.
///
/// # Errors
/// If the text is not Python, or contains anything but classes of literals. If an attribute is unknown or has another type, the
/// number of elements of `data` is not that of the shape, or a tensor occurs twice.
pub fn parse(path: &str, text: &str) -> Result<Vec<TensorMeta>, Error> {
    Ok(parse_located(&Source::new(path, text)?)?.into_iter().map(|(_, tensor)| tensor).collect())
}

/// Returns the tensors, each with the offset of its class.
pub(crate) fn parse_located(source: &Source<'_>) -> Result<Vec<(usize, TensorMeta)>, Error> {
    let module = source.parse()?;
    let mut tensors: Vec<(usize, TensorMeta)> = Vec::with_capacity(module.body.len());
    let mut names = BTreeSet::new();
    for statement in &module.body {
        match statement {
            Stmt::ClassDef(class) => {
                let tensor = read::tensor(source, class)?;
                if !names.insert(tensor.name.clone()) {
                    return Err(source.error(&class.name, ErrorKind::DuplicateTensor(tensor.name)));
                }
                tensors.push((class.name.range.start().to_usize(), tensor));
            }
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Pass(_) => {}
            other => return Err(read::unsupported(source, other)),
        }
    }
    Ok(tensors)
}
