//! Places of names in the legend of a figure.

/// Width of a letter of a name at 12 pixels, about.
const LETTER: f64 = 6.8;
/// Largest number of columns.
const MAX_COLUMNS: usize = 3;

/// Columns of a legend: as many as the longest name permits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LegendGrid {
    columns: usize,
    width: f64,
    /// Letters that fit a column.
    pub(crate) chars: usize,
}

impl LegendGrid {
    /// Returns the grid of some names within a width; `mark` is the width of the mark in front of a name.
    pub(crate) fn of<'a>(names: impl Iterator<Item = &'a str>, width: f64, mark: f64) -> Self {
        let longest = names.map(|name| name.chars().count()).max().unwrap_or_default();
        let grid = |columns: usize| {
            let column = width / columns as f64;
            Self { columns, width: column, chars: ((column - mark) / LETTER) as usize }
        };
        (2..=MAX_COLUMNS).rev().map(grid).find(|grid| longest <= grid.chars).unwrap_or_else(|| grid(1))
    }

    pub(crate) const fn rows(&self, names: usize) -> usize {
        names.div_ceil(self.columns)
    }

    /// Returns the row of a name, and the distance of its column from the left.
    pub(crate) fn place(&self, index: usize) -> (usize, f64) {
        (index / self.columns, self.width * (index % self.columns) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_have_fewer_columns_and_are_whole() {
        for (length, columns) in [(5, 3), (28, 3), (40, 2), (60, 1), (200, 1)] {
            let name = "n".repeat(length);
            let grid = LegendGrid::of([name.as_str(), "a"].into_iter(), 692.0, 34.0);
            assert_eq!(grid.columns, columns, "{length}");
            assert!(length <= grid.chars || length == 200, "{length}: {grid:?}");
        }
    }
}
