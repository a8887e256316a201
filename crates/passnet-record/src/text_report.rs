//! Reports for people, as data: tables and lines in the order in which they are shown. Libraries provide the content, and the command
//! decides the layout.

/// A table whose columns of numbers are aligned to the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextTable {
    /// Titles of the columns.
    pub titles: Vec<String>,
    /// Number of columns of text, which come before the columns of numbers.
    pub text_columns: usize,
    /// Cells by row.
    pub rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Creates a table without rows.
    pub fn new(titles: &[&str], text_columns: usize) -> Self {
        Self { titles: titles.iter().map(|&title| title.to_owned()).collect(), text_columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// A part of a [`TextReport`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPart {
    Table(TextTable),
    /// Lines of text without the last line end.
    Text(String),
}

/// Report for people: a sequence of tables and lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextReport {
    /// The parts, in order.
    pub parts: Vec<TextPart>,
}

impl TextReport {
    /// Adds a table.
    pub fn table(&mut self, table: TextTable) {
        self.parts.push(TextPart::Table(table));
    }

    /// Adds lines.
    pub fn text(&mut self, text: impl Into<String>) {
        self.parts.push(TextPart::Text(text.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_order() {
        let mut table = TextTable::new(&["graph", "ops"], 1);
        table.push(["a".to_owned(), "3".to_owned()]);
        let mut report = TextReport::default();
        report.table(table.clone());
        report.text("1 graph");
        assert_eq!(report.parts, [TextPart::Table(table), TextPart::Text("1 graph".to_owned())]);
    }
}
