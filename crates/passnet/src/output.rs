//! Tables for people, JSON for machines, and the log on stderr.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Result;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
pub(crate) use passnet_record::duration;
use serde::Serialize;
use tracing_subscriber::EnvFilter;

use crate::args::Verbosity;

/// No table is wider than this, so that it fits any terminal and any issue tracker.
const TABLE_WIDTH: u16 = 100;

/// Sends the log to stderr; `PASSNET_LOG` overrides `-q` and `-v`.
pub(crate) fn set_up_logging(verbosity: &Verbosity) {
    let filter = EnvFilter::try_from_env("PASSNET_LOG").unwrap_or_else(|_| EnvFilter::new(verbosity.filter()));
    let color = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(color).without_time().init();
}

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

/// A table. Columns of numbers are aligned to the right.
pub(crate) struct Rows {
    table: Table,
    /// Columns before this one hold text.
    first_number: usize,
}

impl Rows {
    /// A table with these column titles, of which the first ones are of text.
    pub(crate) fn new(titles: &[&str], first_number: usize) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(TABLE_WIDTH);
        table.set_header(titles);
        Self { table, first_number }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().enumerate().map(|(column, text)| {
            let alignment = if column < self.first_number { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(alignment)
        });
        self.table.add_row(cells);
    }

    /// The table as text.
    pub(crate) fn text(&self) -> String {
        self.table.to_string()
    }

    /// Writes the table to stdout.
    pub(crate) fn print(&self) -> Result<()> {
        text(&self.text())
    }
}
