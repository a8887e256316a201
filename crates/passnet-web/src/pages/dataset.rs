//! Counts over a dataset, and its samples to look through.

use maud::{Markup, html};

use super::context::{Context, Page};
use crate::{
    DatasetView, PageId, SampleLine, TableView,
    draw::bars::share_bar,
    format::{counted, name_end},
    shell::{Section, scrolling, section},
    site::SAMPLES_PER_PAGE,
};

/// Inputs of a sample that the list shows.
const MAX_INPUTS: usize = 4;
/// Letters of the names of samples and models.
const MAX_NAME: usize = 60;
/// Entries of a group of counts.
const MAX_COUNTS: usize = 25;

pub(super) fn page(context: &Context<'_>, part: usize) -> Page {
    let empty = DatasetView::default();
    let dataset = context.site.dataset.as_ref().unwrap_or(&empty);
    let lead = html! { p { @for table in &dataset.tables { (table.rows) " " (table.name) ". " } } };
    let counts_of_tables =
        dataset.tables.iter().zip(["table-0", "table-1", "table-2", "table-3"]).map(|(table, id)| counts(id, table));
    let mut sections: Vec<Section> = Vec::new();
    if !context.site.samples.is_empty() {
        sections.push(section("samples", "Graphs", samples(context, part)));
    }
    // Later parts continue the list alone.
    sections.extend(counts_of_tables.filter(|_| part == 0));
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
        p.about {
            "Numbers of graphs; for ops and inputs, how often they occur in all graphs. “Distinct by” is the number of graphs "
            "that differ in the text of the source, in structure and types, in structure (calls, constants and data flow), in structure "
            "without the values of integer constants, and in the sequence of ops."
        }
        @if !table.failures.is_empty() {
            details { summary { (counted(table.failures.len(), "part")) " could not be read" }
                ul { @for failure in table.failures.iter().take(MAX_COUNTS) { li { (failure) } } } }
        }
    };
    section(id, &format!("{} {}", table.rows, table.name), content)
}

fn samples(context: &Context<'_>, part: usize) -> Markup {
    let site = context.site;
    let count = site.samples.len();
    let shown = part * SAMPLES_PER_PAGE..((part + 1) * SAMPLES_PER_PAGE).min(count);
    let rows: usize = site.dataset.as_ref().map_or(0, |dataset| dataset.tables.iter().map(|table| table.rows).sum());
    let table = html! {
        table.sortable.filtered id="samples-table" {
            thead { tr {
                th scope="col" { "Sample" } th scope="col" { "Model" } th.number scope="col" { "Ops" } th scope="col" { "Most frequent ops" }
                th scope="col" { "Inputs" }
            } }
            tbody { @for index in shown.clone() {
                @if let Some((sample, table)) = site.sample(index) { tr data-table=(table) data-domain=(sample.domain) {
                    th scope="row" { (context.link(PageId::Sample(index), &name_end(&sample.path, MAX_NAME))) }
                    td { (name_end(&sample.model, MAX_NAME)) } td.number { (sample.ops) } td.types { (sample.op_names) }
                    td.types {
                        @for kind in sample.inputs.iter().take(MAX_INPUTS) { span { (kind) } " " }
                        @if sample.inputs.len() > MAX_INPUTS { "…" }
                    }
                } }
            } }
        }
    };
    let of = |value: fn(&SampleLine) -> &str| {
        let mut values: Vec<&str> = shown
            .clone()
            .filter_map(|index| Some(value(site.sample(index)?.0)))
            .filter(|value| !value.is_empty())
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let domains = of(|sample| &sample.domain);
    html! {
        p.about {
            "Find an op, a model, or a shape such as " code { "f32[1, 128]" } "; several words have to occur together. Each graph has a page with "
            "its drawing and the graphs that are most like it."
            @if rows > count { " The site has " (counted(count, "graph")) " of " (rows) "; " code { "passnet dataset query" } " looks through all." }
        }
        (context.parts(site.dataset_parts(), part, PageId::Dataset))
        div.filters data-for="samples-table" role="search" {
            label { "Find " input type="search" data-find placeholder="op, model, shape" aria-keyshortcuts="/"; }
            @if domains.len() > 1 {
                label { "Domain " select data-filter="domain" { option value="" { "all" } @for domain in &domains { option value=(domain) { (domain) } } } }
            }
            output data-count {}
        }
        (scrolling("Samples", table))
    }
}
