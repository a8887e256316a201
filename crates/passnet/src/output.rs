//! Tables for people and JSON for machines, on stdout.

use std::{
    io::{self, Write as _},
    path::Path,
};

use anyhow::Result;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use passnet_record::{TextPart, TextReport, TextTable};
use serde::Serialize;

/// Spaces of a column around its text.
const PADDING: usize = 2;

/// Writes one JSON document and a line end to stdout.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}

/// Writes text to stdout.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(())
}

/// Writes a table to stdout.
pub(crate) fn table(table: &TextTable) -> Result<()> {
    let mut drawn = drawn(table);
    // Only a terminal has a width. Without one, the lines are as long as they need to be: programs and `grep` need whole names.
    if let Some(width) = drawn.width() {
        wrap(&mut drawn, table, width);
    }
    text(&drawn.trim_fmt())
}

/// Writes tables and lines to stdout.
pub(crate) fn report(report: &TextReport) -> Result<()> {
    report.parts.iter().try_for_each(|part| match part {
        TextPart::Table(part) => table(part),
        TextPart::Text(part) => text(part),
    })
}

/// Wraps text between words to a width. Names and numbers stay whole: if they need more, each row stays one line.
fn wrap(drawn: &mut Table, table: &TextTable, width: u16) {
    let cells =
        |column: usize| std::iter::once(&table.titles).chain(&table.rows).filter_map(move |row| row.get(column));
    let widest = |column: usize, splits: bool| {
        let parts = cells(column).flat_map(|cell| cell.split(move |c: char| splits && c.is_whitespace()));
        parts.map(|part| part.chars().count()).max().unwrap_or_default() + PADDING
    };
    let columns = 0..table.titles.len();
    let whole: Vec<usize> = columns.clone().map(|column| widest(column, false)).collect();
    let mut widths: Vec<usize> = columns.clone().map(|column| widest(column, column < table.text_columns)).collect();
    let Some(mut spare) = usize::from(width).checked_sub(widths.iter().sum()) else { return };
    // Columns of short text first, so that only those of long text are wrapped.
    let mut order: Vec<usize> = columns.collect();
    order.sort_by_key(|&column| whole[column]);
    for column in order {
        let more = (whole[column] - widths[column]).min(spare);
        widths[column] += more;
        spare -= more;
    }
    drawn.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    for (column, &width) in drawn.column_iter_mut().zip(&widths) {
        // No column is wider than the table, whose width is a `u16`.
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width as u16)));
    }
}

/// Returns a table as the text of a file. Each row is one line.
pub(crate) fn render(table: &TextTable) -> String {
    drawn(table).trim_fmt()
}

/// Returns a table without a limit on its width, columns of numbers aligned to the right.
fn drawn(table: &TextTable) -> Table {
    let mut drawn = Table::new();
    drawn.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    drawn.set_header(&table.titles);
    for row in &table.rows {
        drawn.add_row(row.iter().enumerate().map(|(column, text)| {
            let alignment = if column < table.text_columns { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(alignment)
        }));
    }
    drawn
}

/// Returns a path as a word of a shell command, in quotes if it needs them: people copy the commands that messages show.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_commands_can_be_copied_to_a_shell() {
        let check = |path: &str, expected: &str| assert_eq!(shell_word(Path::new(path)), expected);
        check("suites/demo/bert-1.2_x", "suites/demo/bert-1.2_x");
        check("Ünï", "Ünï");
        check("my passes", "'my passes'");
        check("a&b;$c", "'a&b;$c'");
        check("it's", r"'it'\''s'");
        check("", "''");
    }
}
