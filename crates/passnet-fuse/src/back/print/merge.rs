//! One kernel for all graphs that differ only in sizes.
//!
//! Printed text holds its sizes between marks. Texts that differ only in their sizes become one kernel. A size that is the
//! same in all graphs stays a constant. The others become columns of a table of sizes; equal columns become one.

/// Mark before a size in printed text.
pub(super) const OPEN: char = '\u{1}';
/// Mark after a size in printed text.
pub(super) const CLOSE: char = '\u{2}';

/// A printed kernel without its sizes: the text between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skeleton {
    pieces: Vec<String>,
}

impl Skeleton {
    pub(crate) fn pieces(&self) -> &[String] {
        &self.pieces
    }
}

/// Splits printed text into skeleton and sizes.
pub(crate) fn split(text: &str) -> (Skeleton, Vec<i64>) {
    let mut pieces = Vec::new();
    let mut sizes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (number, behind) = after.split_once(CLOSE).unwrap_or((after, ""));
        pieces.push(before.to_owned());
        sizes.push(number.parse().unwrap_or(0));
        rest = behind;
    }
    pieces.push(rest.to_owned());
    (Skeleton { pieces }, sizes)
}

/// A kernel and the sizes of each graph that shares it.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    /// Text with `nK` for the column `K` of the table.
    pub(crate) text: String,
    /// One row of sizes per graph.
    pub(crate) rows: Vec<Vec<i64>>,
}

/// Joins the kernels of several graphs that have the same skeleton.
pub(crate) fn merge(skeleton: &Skeleton, sizes: &[Vec<i64>]) -> Merged {
    let mut columns: Vec<Vec<i64>> = Vec::new();
    let mut text = String::new();
    for (place, piece) in skeleton.pieces.iter().enumerate() {
        text.push_str(piece);
        if place + 1 == skeleton.pieces.len() {
            break;
        }
        let column: Vec<i64> = sizes.iter().map(|row| row[place]).collect();
        if column.iter().all(|value| *value == column[0]) {
            text.push_str(&column[0].to_string());
            continue;
        }
        // An extent often occurs many times in a kernel, as in strides. One column for all of them keeps the table
        // small.
        let known = columns.iter().position(|known| *known == column);
        let number = known.unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        });
        text.push_str(&format!("n{number}"));
    }
    let rows = (0..sizes.len()).map(|row| columns.iter().map(|column| column[row]).collect()).collect();
    Merged { text, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_differ_become_parameters() {
        let text = |a: i64, b: i64| {
            format!("for (i < {OPEN}{a}{CLOSE}) x[i * {OPEN}{b}{CLOSE} + {OPEN}{a}{CLOSE}] = {OPEN}3{CLOSE};")
        };
        let (first, sizes) = split(&text(4, 8));
        let (second, other) = split(&text(5, 8));
        assert_eq!(first, second);
        assert_eq!(sizes, [4, 8, 4, 3]);
        let merged = merge(&first, &[sizes, other]);
        assert_eq!(merged.text, "for (i < n0) x[i * 8 + n0] = 3;");
        assert_eq!(merged.rows, [[4], [5]]);
    }
}
