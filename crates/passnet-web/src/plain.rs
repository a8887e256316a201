//! Pages of a single file for other crates: plain data in, a document with the style of the site out.

use maud::{Markup, html};
use passnet_record::TextTable;
use passnet_score::Interval;

use crate::{
    draw::{
        bars::share_bar,
        lines::{Chart, Line, LineMark, lines},
    },
    format::score,
    shell::{Document, Section, document, scrolling, section},
};

/// A page without a site around it. All text is escaped.
#[derive(Clone, Debug, Default)]
pub struct PlainPage {
    pub title: String,
    /// Paragraphs below the title.
    pub lead: Vec<String>,
    /// Sections: id of their heading in the address, heading, and content.
    pub sections: Vec<(&'static str, String, Vec<PlainPart>)>,
    /// Time after which browsers load the page again, in seconds.
    pub refresh_s: Option<u32>,
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum PlainPart {
    /// A paragraph.
    Text(String),
    /// A paragraph with a link to a page of the same server: text and address.
    Link(String, String),
    /// Names and values.
    Facts(Vec<(String, String)>),
    Table(TextTable),
    /// Counts as bars: title of the column of names, then name and count.
    Counts(String, Vec<(String, usize)>),
    /// A curve with an interval at each place.
    Curve(PlainCurve),
}

/// A curve over numbered places, with a value that it is compared with.
#[derive(Clone, Debug)]
pub struct PlainCurve {
    /// Name of the values.
    pub name: String,
    /// Title of the horizontal axis.
    pub across: String,
    /// Place, value, and lower and upper bound.
    pub points: Vec<(f64, f64, f64, f64)>,
    /// Name of a value that is drawn as a dashed line, and the value.
    pub reference: (String, f64),
}

/// Returns the whole HTML document.
pub fn plain_page(page: &PlainPage) -> String {
    let lead = html! { @for paragraph in &page.lead { p { (paragraph) } } };
    let sections: Vec<Section> =
        page.sections.iter().map(|(id, heading, parts)| section(id, heading, content(heading, parts))).collect();
    let (places, crumbs) = (Vec::new(), Vec::new());
    document(&Document {
        title: &page.title,
        places,
        crumbs,
        lead,
        sections,
        is_live: false,
        refresh_s: page.refresh_s,
    })
}

fn content(heading: &str, parts: &[PlainPart]) -> Markup {
    html! {
        @for part in parts {
            @match part {
                PlainPart::Text(text) => p { (text) },
                PlainPart::Link(text, address) => p { a href=(address) { (text) } },
                PlainPart::Facts(facts) => dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } },
                PlainPart::Table(of) => (scrolling(heading, table(of))),
                PlainPart::Counts(title, of) => (counts(title, of)),
                PlainPart::Curve(of) => figure.narrow { (curve(of)) },
            }
        }
    }
}

fn table(of: &TextTable) -> Markup {
    let is_number = |column: usize| (column >= of.text_columns).then_some("number");
    html! {
        table.sortable {
            thead { tr { @for (column, title) in of.titles.iter().enumerate() { th scope="col" class=[is_number(column)] { (title) } } } }
            tbody { @for row in &of.rows { tr {
                @for (column, cell) in row.iter().enumerate() {
                    @if column == 0 { th scope="row" { (cell) } } @else { td class=[is_number(column)] { (cell) } }
                }
            } } }
        }
    }
}

fn counts(title: &str, of: &[(String, usize)]) -> Markup {
    let whole = of.iter().map(|&(_, count)| count).max().unwrap_or_default();
    html! {
        @if of.is_empty() { p { "None." } } @else {
            div.columns { table.bars {
                caption { (title) }
                tbody { @for (name, count) in of {
                    tr { th scope="row" { (name) } td.number { (count) } td aria-hidden="true" { (share_bar(*count, whole)) } }
                } }
            } }
        }
    }
}

fn curve(of: &PlainCurve) -> Markup {
    let mark = |&(x, y, low, high): &(f64, f64, f64, f64)| LineMark { x, y, bounds: Some(Interval { low, high }) };
    let line = Line { name: of.name.clone(), marks: of.points.iter().map(mark).collect() };
    let references = vec![of.reference.clone()];
    let drawn = lines(&Chart { label: &of.name, across: &of.across, lines: vec![line], references, show: score });
    html! { @if of.points.is_empty() { p { "None." } } @else { (drawn) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_shown_and_escaped() {
        let mut table = TextTable::new(&["<x-name>", "number"], 1);
        table.push(["<x-row>".to_owned(), "7".to_owned()]);
        let parts = vec![
            PlainPart::Text("<x-text>".to_owned()),
            PlainPart::Link("<x-link>".to_owned(), "/metrics".to_owned()),
            PlainPart::Facts(vec![("<x-fact>".to_owned(), "<x-value>".to_owned())]),
            PlainPart::Table(table),
            PlainPart::Counts("<x-counts>".to_owned(), vec![("<x-count>".to_owned(), 3)]),
            PlainPart::Curve(PlainCurve {
                name: "<x-curve>".to_owned(),
                across: "step".to_owned(),
                points: vec![(1.0, 1.2, 1.1, 1.3), (2.0, 1.4, 1.2, 1.5)],
                reference: ("<x-one>".to_owned(), 1.0),
            }),
        ];
        let sections = vec![("all", "All".to_owned(), parts)];
        let page = plain_page(&PlainPage {
            title: "<x-title>".to_owned(),
            lead: vec!["<x-lead>".to_owned()],
            sections,
            refresh_s: Some(5),
        });
        for name in ["title", "lead", "text", "link", "fact", "value", "name", "row", "counts", "count", "curve", "one"]
        {
            assert!(page.contains(&format!("&lt;x-{name}&gt;")) && !page.contains(&format!("<x-{name}>")), "{name}");
        }
        assert!(page.contains("http-equiv=\"refresh\" content=\"5\""));
    }
}
