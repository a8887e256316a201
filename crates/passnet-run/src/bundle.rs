//! Result bundles: a finished run in one file whose id is the hash of its content. `docs/reference/bundle.md` is the format.

mod format;
mod read;
mod text;
mod write;

pub use self::{
    format::{Bundle, BundleError, EXTENSION},
    read::{read, read_at_most},
    write::write,
};
