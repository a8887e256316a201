//! The study as one HTML page with plots.

use maud::{Markup, html};

use super::{
    Compiler, PUBLISHED,
    text::{PARTS, ROWS, percent, slowest},
};
use crate::{
    draw::plots,
    format::ratio,
    shell::{Document, document, scrolling, section},
};

/// The report as a whole HTML document.
pub fn study_page(compilers: &[Compiler]) -> String {
    let mut sections = vec![section("shares", "How often compilers make subgraphs slower", shares(compilers))];
    let ids = [
        "compiler-0",
        "compiler-1",
        "compiler-2",
        "compiler-3",
        "compiler-4",
        "compiler-5",
        "compiler-6",
        "compiler-7",
    ];
    for (of, id) in compilers.iter().zip(ids) {
        sections.push(section(id, &of.name, compiler(of)));
    }
    let lead = html! { p { "Eager against compilers, subgraph by subgraph; both sides alternate on one core, and only settled measurements count." } };
    document(&Document { title: "Compilers against eager", crumbs: Vec::new(), lead, sections })
}

fn shares(compilers: &[Compiler]) -> Markup {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
    let table = html! {
        table {
            thead { tr {
                th scope="col" { "Share of graphs" }
                @for of in compilers { th.number scope="col" { (of.name) } }
                th.number scope="col" { "Published" }
            } }
            tbody {
                @for (name, published, value) in ROWS { tr {
                    th scope="row" { (name) }
                    @for of in compilers { td.number { (percent(value(of))) } }
                    td.number { (percent(published)) }
                } }
                tr {
                    th scope="row" { "geometric mean speed-up" }
                    @for of in compilers { td.number { (number(of.geometric_mean())) } }
                    td.number { "–" }
                }
                tr {
                    th scope="row" { "correlation of log speed-up with size" }
                    @for of in compilers { td.number { (number(of.correlation())) } }
                    td.number { (number(Some(PUBLISHED.correlation))) }
                }
            }
        }
    };
    html! {
        p.about {
            "Published are the figures of arXiv 2605.29357: 9,526 subgraphs, TorchInductor in its default mode, another device and "
            "another stability rule. What that paper calls strictly worse it does not define in the part at hand; here it is slower both "
            "end to end and in the kernels."
        }
        (scrolling("Shares", table))
    }
}

fn compiler(of: &Compiler) -> Markup {
    let ends: Vec<f64> = of.subjects.iter().map(|subject| subject.speedup.0).collect();
    let kernels: Vec<f64> = of.subjects.iter().filter_map(|subject| subject.kernel_speedup).collect();
    let kernel_title = if of.on_device { "By device events" } else { "Against the control, which has the same guards" };
    html! {
        p { (of.machine) "; suite " (of.suite) ": " (of.graphs) " graphs, " (of.subjects.len()) " count. Left out: "
            (of.left_out()) "." }
        div.sides {
            figure { figcaption { "End to end" } (plots::speedups(&ends, "Distribution of end-to-end speed-ups")) }
            figure { figcaption { (kernel_title) } (plots::speedups(&kernels, "Distribution of kernel speed-ups")) }
        }
        (split(of))
        (slowest_table(of))
    }
}

fn split(of: &Compiler) -> Markup {
    let Some(split) = of.mean_split() else {
        return html! { p.about { "No slowdown has a control, so none can be split." } };
    };
    let causes = of.causes();
    let rows =
        PARTS.iter().zip(split.parts()).filter(|((name, _), _)| of.on_device || !matches!(*name, "gaps" | "launch"));
    let table = html! {
        table {
            thead { tr { th scope="col" { "Part of a slowdown" } th.number scope="col" { "Mean share" } th.number scope="col" { "Largest part in" } th scope="col" { "What it is" } } }
            tbody { @for ((name, what), (_, part)) in rows { tr {
                th scope="row" { (name) } td.number { (format!("{:.0} %", 100.0 * part)) }
                td.number { (causes.get(name).copied().unwrap_or_default()) } td { (what) }
            } } }
        }
    };
    html! {
        h3 { "Where the time of slowdowns goes" }
        p.about { "The extra time of each slowed-down graph taken as 1; parts add up to it, and a negative part is a gain." }
        (scrolling("Parts of slowdowns", table))
    }
}

fn slowest_table(of: &Compiler) -> Markup {
    let table = html! {
        table.sortable {
            thead { tr { th scope="col" { "Slowest" } th.number scope="col" { "Calls" } th.number scope="col" { "End to end" } th.number scope="col" { "Kernels" } } }
            tbody { @for subject in slowest(of) { tr {
                th scope="row" { (subject.id.task) "/" (subject.id.graph) } td.number { (subject.nodes) }
                td.number data-sort=(subject.speedup.0) { (ratio(subject.speedup.0)) }
                td.number { (subject.kernel_speedup.map_or_else(|| "–".to_owned(), ratio)) }
            } } }
        }
    };
    html! { h3 { "Slowest graphs" } (scrolling("Slowest graphs", table)) }
}
