//! Tables for people and JSON for machines, on stdout.

use std::{
    io::{self, Write as _},
    path::Path,
};

use anyhow::Result;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use passnet_record::{TextPart, TextReport, TextTable};
use serde::Serialize;

/// No table is wider than this, so that it fits any terminal and any issue tracker.
const TABLE_WIDTH: u16 = 100;

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
    text(&render(table))
}

/// Writes tables and lines to stdout.
pub(crate) fn report(report: &TextReport) -> Result<()> {
    report.parts.iter().try_for_each(|part| match part {
        TextPart::Table(part) => table(part),
        TextPart::Text(part) => text(part),
    })
}

/// Returns a table as text, columns of numbers aligned to the right.
pub(crate) fn render(table: &TextTable) -> String {
    let mut drawn = Table::new();
    drawn.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(TABLE_WIDTH);
    drawn.set_header(&table.titles);
    for row in &table.rows {
        drawn.add_row(row.iter().enumerate().map(|(column, text)| {
            let alignment = if column < table.text_columns { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(alignment)
        }));
    }
    drawn.to_string()
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
