//! The study as one HTML page with plots.

use maud::{Markup, html};

use super::{
    compiler::CompilerStudy,
    published::PUBLISHED,
    text::{ROWS, percent, range, share, shown_parts, signed, slowest},
};
use crate::{
    draw::plots,
    format::{counted, ratio},
    shell::{Document, document, scrolling, section},
};

/// Returns the report as a whole HTML document.
pub fn study_page(compilers: &[CompilerStudy]) -> String {
    let mut sections = vec![section("shares", "How often compilers make subgraphs slower", shares(compilers))];
    // Ids of sections are static, so a page has at most eight compilers.
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
    let lead = html! { p {
        "Each subgraph runs in eager mode and through each compiler, in turns on one core. A speed-up below 1 means that the compiler is "
        "slower. Only measurements that settled count."
    } };
    document(&Document::of_one_file("Compilers against eager mode", lead, sections))
}

fn shares(compilers: &[CompilerStudy]) -> Markup {
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
                    @for of in compilers { td.number { (value(of).map_or_else(|| "–".to_owned(), share)) } }
                    td.number { (percent(published)) }
                } }
                tr {
                    th scope="row" { "median speed-up" }
                    @for of in compilers { td.number { (number(of.median())) } }
                    td.number { "–" }
                }
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
            "The published figures are those of arXiv 2605.29357: 9,526 subgraphs, TorchInductor in its default mode, another device and "
            "another stability rule. The available part of the paper does not define its share of strictly worse graphs; it is shown "
            "next to the graphs that are slower both end to end and in the kernels. In brackets: the 95 % interval of a share if the "
            "graphs were a random sample."
        }
        (scrolling("Shares", table))
    }
}

fn compiler(of: &CompilerStudy) -> Markup {
    let ends: Vec<f64> = of.subjects.iter().map(|subject| subject.speedup.0).collect();
    let kernels: Vec<f64> = of.subjects.iter().filter_map(|subject| subject.kernel_speedup).collect();
    let kernel_title = if of.on_device { "By device events" } else { "Against the control, which has the same guards" };
    html! {
        p { (of.machine) "; suite " (of.suite) ": " (counted(of.graphs, "graph")) ", " (of.subjects.len()) " counted. Left out: "
            (of.left_out()) "." }
        div.sides {
            figure { figcaption { "End to end" } (plots::ratios(&ends, "Distribution of end-to-end speed-ups", plots::SPEEDUP)) }
            figure { figcaption { (kernel_title) } (plots::ratios(&kernels, "Distribution of kernel speed-ups", plots::SPEEDUP)) }
        }
        (bands(of))
        (split(of))
        (slowest_table(of))
    }
}

fn split(of: &CompilerStudy) -> Markup {
    let parts = shown_parts(of);
    if parts.is_empty() {
        return html! { p.about { "No slowdown has a control, so none can be split." } };
    }
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let table = html! {
        table {
            thead { tr {
                th scope="col" { "Part of a slowdown" } th.number scope="col" { "Share of the loss" } th.number scope="col" { "Gain, of the loss" }
                th.number scope="col" { "Median time" } th.number scope="col" { "Graphs that lose most here" } th scope="col" { "Meaning" }
            } }
            tbody { @for (part, what) in parts { tr {
                th scope="row" { (part.name) } td.number { (percent(part.lost)) } td.number { (percent(part.won)) }
                td.number { (signed(part.median_ns)) } td.number { (part.largest) } td { (what) }
            } } }
        }
    };
    html! {
        h3 { "Where the time of slowdowns goes" }
        p.about {
            "The loss of each slowed-down graph is taken as 1 and shared among the parts that lose time. Gains of other parts are shown "
            "as a share of this loss. Loss less gain is the time beyond that of eager mode."
        }
        (scrolling("Parts of slowdowns", table))
    }
}

fn bands(of: &CompilerStudy) -> Markup {
    let table = html! {
        table {
            thead { tr {
                th scope="col" { "Time in eager mode" } th.number scope="col" { "Graphs" } th.number scope="col" { "Slower graphs" }
                th.number scope="col" { "Geometric mean" }
            } }
            tbody { @for band in of.by_time() { tr {
                th scope="row" { (range(&band)) } td.number { (band.graphs) } td.number { (band.slower) }
                td.number { (ratio(band.geometric_mean)) }
            } } }
        }
    };
    html! { h3 { "By time in eager mode" } (scrolling("By time in eager mode", table)) }
}

fn slowest_table(of: &CompilerStudy) -> Markup {
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
