//! Programs as text, with marks where graphs may differ in a size.

pub(crate) mod cpp;
pub(crate) mod merge;
mod order;

/// An extent, stride or offset in printed text: [`merge`] makes it a constant or a parameter.
fn size(value: i64) -> String {
    format!("{}{value}{}", merge::OPEN, merge::CLOSE)
}
