//! Counts over a dataset, and its samples to look through.

use maud::{Markup, html};

use super::context::{Context, Page};
use crate::{
    DatasetView, TableView,
    draw::bars::share_bar,
    format::counted,
    shell::{Section, scrolling, section},
};

/// Samples that the page lists.
const MAX_SAMPLES: usize = 800;
/// Entries of a group of counts.
const MAX_COUNTS: usize = 25;

pub(super) fn page(context: &Context<'_>) -> Page {
    let empty = DatasetView::default();
    let dataset = context.site.dataset.as_ref().unwrap_or(&empty);
    let lead = html! { p { @for table in &dataset.tables { (table.rows) " " (table.name) ". " } } };
    let sections =
        dataset.tables.iter().zip(["table-0", "table-1", "table-2", "table-3"]).map(|(table, id)| counts(id, table));
    let mut sections: Vec<Section> = sections.collect();
    if let Some(table) = dataset.tables.iter().find(|table| !table.samples.is_empty()) {
        sections.push(section("samples", "Samples", samples(table)));
    }
    Page { title: format!("Dataset {}", dataset.name), above: Vec::new(), lead, sections }
}

fn counts(id: &'static str, table: &TableView) -> Section {
    let content = html! {
        div.columns {
            @for (title, counts) in &table.groups {
                @let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
                table.bars {
                    caption { (title) }
                    tbody { @for (name, count) in counts.iter().take(MAX_COUNTS) { tr {
                        th scope="row" { (name) }
                        td.number { (count) }
                        td aria-hidden="true" { (share_bar(*count, most)) }
                    } } }
                }
            }
        }
        @if !table.failures.is_empty() {
            details { summary { (counted(table.failures.len(), "part")) " could not be read" }
                ul { @for failure in table.failures.iter().take(MAX_COUNTS) { li { (failure) } } } }
        }
    };
    section(id, &format!("{} {}", table.rows, table.name), content)
}

fn samples(table: &TableView) -> Markup {
    let rows = html! {
        table.sortable.filtered id="samples-table" {
            thead { tr { th scope="col" { "Sample" } th scope="col" { "Source" } th.number scope="col" { "Ops" } th scope="col" { "Most frequent" } } }
            tbody { @for sample in table.samples.iter().take(MAX_SAMPLES) { tr {
                th scope="row" { (sample.path) } td { (sample.source) } td.number { (sample.ops) } td.types { (sample.op_names) }
            } } }
        }
    };
    html! {
        @if table.rows > table.samples.len().min(MAX_SAMPLES) {
            p.about { "The first " (table.samples.len().min(MAX_SAMPLES)) " of " (table.rows) "; " code { "passnet dataset query" } " looks through all." }
        }
        div.filters data-for="samples-table" role="search" {
            label { "Find " input type="search" data-find placeholder="name, source, op" aria-keyshortcuts="/"; }
            output data-count {}
        }
        (scrolling("Samples", rows))
    }
}
