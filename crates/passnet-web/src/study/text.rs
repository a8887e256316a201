//! The study as Markdown.

use passnet_record::counted;

use super::{
    bands::Band, compiler::CompilerStudy, published::PUBLISHED, share::Share, split::Part, subject::StudiedGraph,
};
use crate::format::duration;

/// Slowest graphs that are listed.
const LISTED: usize = 12;

/// A row of the table of shares: name, published figure, value for a compiler.
type ShareRow = (&'static str, Option<f64>, fn(&CompilerStudy) -> Option<Share>);

/// The rows that both forms of the report have; published shares in percent.
pub(super) const ROWS: [ShareRow; 4] = [
    ("slower end to end", Some(PUBLISHED.slower), CompilerStudy::slower),
    ("slower by more than the noise", None, CompilerStudy::surely_slower),
    ("kernel speed-up below 1.2", Some(PUBLISHED.below_1_2), CompilerStudy::below_1_2),
    ("slower end to end and in the kernels", Some(PUBLISHED.worse), CompilerStudy::worse),
];

/// Returns the parts of slowdowns with descriptions; on a CPU only those that can be separated there.
pub(super) fn shown_parts(of: &CompilerStudy) -> Vec<(Part, &'static str)> {
    let what = |part: &Part| match part.name {
        "path" => Some("guards and wrappers of the compiled path, with eager's own kernels"),
        "gaps" if of.on_device => Some("that path within the device's span: later launches leave gaps"),
        "launch" if of.on_device => Some("the compiler's host code outside the device's span"),
        "kernel" => Some("the compiler's kernels and the launches between them"),
        _ => None,
    };
    of.parts().into_iter().filter_map(|part| Some((part, what(&part)?))).collect()
}

/// Returns a band of times, for people.
pub(super) fn range(band: &Band) -> String {
    match (band.from_ns, band.to_ns) {
        (0.0, to) => format!("under {}", duration(to)),
        (from, f64::INFINITY) => format!("{} and more", duration(from)),
        (from, to) => format!("{} to {}", duration(from), duration(to)),
    }
}

/// A time that may be a gain.
pub(super) fn signed(nanoseconds: f64) -> String {
    format!("{}{}", if nanoseconds < 0.0 { "-" } else { "" }, duration(nanoseconds.abs()))
}

/// Returns a share with its interval.
pub(super) fn share(share: Share) -> String {
    format!("{:.1} % ({:.0} to {:.0})", share.percent, share.low, share.high)
}

/// Returns the report as Markdown, without a heading of its own.
pub fn study_markdown(compilers: &[CompilerStudy]) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| text.push_str(&format!("| {} |\n", cells.join(" | ")));
    let head = |first: &str| std::iter::once(first.to_owned()).chain(compilers.iter().map(|of| of.name.clone()));
    let ruler = |columns: usize| vec!["---:".to_owned(); columns];
    line(&head("share of graphs").chain(["published".to_owned()]).collect::<Vec<_>>());
    line(&std::iter::once("---".to_owned()).chain(ruler(compilers.len() + 1)).collect::<Vec<_>>());
    for (name, published, value) in ROWS {
        let cells = compilers.iter().map(|of| value(of).map_or_else(|| "-".to_owned(), share));
        line(&std::iter::once(name.to_owned()).chain(cells).chain([percent(published)]).collect::<Vec<_>>());
    }
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    let row = |name: &str, value: fn(&CompilerStudy) -> Option<f64>, published: Option<f64>| -> Vec<String> {
        let cells = compilers.iter().map(|of| number(value(of)));
        std::iter::once(name.to_owned()).chain(cells).chain([number(published)]).collect()
    };
    line(&row("median speed-up", CompilerStudy::median, None));
    line(&row("geometric mean speed-up", CompilerStudy::geometric_mean, None));
    line(&row("correlation of log speed-up with size", CompilerStudy::correlation, Some(PUBLISHED.correlation)));
    for of in compilers {
        text.push_str(&section(of));
    }
    text
}

fn section(of: &CompilerStudy) -> String {
    let mut text = format!(
        "\n**{}** on {}, suite {}: {}, {} count; left out: {}.\n",
        of.name,
        of.machine,
        of.suite,
        counted(of.graphs, "graph"),
        of.subjects.len(),
        of.left_out()
    );
    text.push_str("\n| eager takes | graphs | slower | geometric mean speed-up |\n|---|---:|---:|---:|\n");
    for band in of.by_time() {
        text.push_str(&format!(
            "| {} | {} | {} | {:.3} |\n",
            range(&band),
            band.graphs,
            band.slower,
            band.geometric_mean
        ));
    }
    let parts = shown_parts(of);
    if !parts.is_empty() {
        text.push_str(
            "\n| part of a slowdown | share of the loss | wins back | median | largest loss in | what it is |\n",
        );
        text.push_str("|---|---:|---:|---:|---:|---|\n");
    }
    for (part, what) in parts {
        let [lost, won] = [part.lost, part.won].map(|of| format!("{:.0} %", 100.0 * of));
        let median = signed(part.median_ns);
        text.push_str(&format!(
            "| {} | {lost} | {won} | {median} | {} | {what} |\n",
            part.name,
            counted(part.largest, "graph")
        ));
    }
    let slowest = slowest(of);
    if !slowest.is_empty() {
        text.push_str("\n| slowest | calls | end to end | kernels |\n|---|---:|---:|---:|\n");
        for subject in slowest {
            let kernels = subject.kernel_speedup.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
            let task: String = subject.id.task.chars().take(40).collect();
            text.push_str(&format!(
                "| {task}/{} | {} | {:.2} | {kernels} |\n",
                subject.id.graph, subject.nodes, subject.speedup.0
            ));
        }
    }
    text
}

/// Returns the graphs with the least speed-up.
pub(super) fn slowest(of: &CompilerStudy) -> Vec<&StudiedGraph> {
    let mut subjects: Vec<&StudiedGraph> = of.subjects.iter().filter(|subject| subject.speedup.0 < 1.0).collect();
    subjects.sort_by(|a, b| a.speedup.0.total_cmp(&b.speedup.0));
    subjects.truncate(LISTED);
    subjects
}

pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1} %"))
}
