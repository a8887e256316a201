//! The study as Markdown.

use super::{Compiler, PUBLISHED, Subject};

/// Slowest graphs that are listed.
const LISTED: usize = 12;

/// What a row of the table of shares is about, its published figure, and its value for a compiler.
type Row = (&'static str, Option<f64>, fn(&Compiler) -> Option<f64>);

/// The rows that both forms of the report have; shares in percent.
pub(super) const ROWS: [Row; 4] = [
    ("slower end to end", Some(PUBLISHED.slower), Compiler::slower),
    ("of these beyond noise, of all", None, Compiler::surely_slower),
    ("kernel speed-up below 1.2", Some(PUBLISHED.below_1_2), Compiler::below_1_2),
    ("slower end to end and in the kernels", Some(PUBLISHED.worse), Compiler::worse),
];

/// What each part of a split is.
pub(super) const PARTS: [(&str, &str); 4] = [
    ("path", "guards and wrappers of the compiled path, with eager's own kernels"),
    ("gaps", "that path within the device's span: later launches leave gaps"),
    ("launch", "the compiler's host code outside the device's span"),
    ("kernel", "the compiler's kernels and the launches between them"),
];

/// The report as Markdown, without a heading of its own.
pub fn study_markdown(compilers: &[Compiler]) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| text.push_str(&format!("| {} |\n", cells.join(" | ")));
    let head = |first: &str| std::iter::once(first.to_owned()).chain(compilers.iter().map(|of| of.name.clone()));
    let ruler = |columns: usize| vec!["---:".to_owned(); columns];
    line(&head("share of graphs").chain(["published".to_owned()]).collect::<Vec<_>>());
    line(&std::iter::once("---".to_owned()).chain(ruler(compilers.len() + 1)).collect::<Vec<_>>());
    for (name, published, value) in ROWS {
        let cells = compilers.iter().map(|of| percent(value(of)));
        line(&std::iter::once(name.to_owned()).chain(cells).chain([percent(published)]).collect::<Vec<_>>());
    }
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    let row = |name: &str, value: fn(&Compiler) -> Option<f64>, published: Option<f64>| -> Vec<String> {
        let cells = compilers.iter().map(|of| number(value(of)));
        std::iter::once(name.to_owned()).chain(cells).chain([number(published)]).collect()
    };
    line(&row("geometric mean speed-up", Compiler::geometric_mean, None));
    line(&row("correlation of log speed-up with size", Compiler::correlation, Some(PUBLISHED.correlation)));
    for of in compilers {
        text.push_str(&section(of));
    }
    text
}

fn section(of: &Compiler) -> String {
    let mut text = format!(
        "\n**{}** on {}, suite {}: {} graphs, {} count; left out: {}.\n",
        of.name,
        of.machine,
        of.suite,
        of.graphs,
        of.subjects.len(),
        of.left_out()
    );
    if let Some(split) = of.mean_split() {
        let causes = of.causes();
        text.push_str("\n| part of a slowdown | mean share | largest part in | what it is |\n|---|---:|---:|---|\n");
        for ((name, what), (_, part)) in
            PARTS.iter().zip(split.parts()).filter(|((name, _), _)| of.on_device || !matches!(*name, "gaps" | "launch"))
        {
            let count = causes.get(name).copied().unwrap_or_default();
            text.push_str(&format!("| {name} | {:.0} % | {count} graphs | {what} |\n", 100.0 * part));
        }
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

/// The graphs with the least speed-up.
pub(super) fn slowest(of: &Compiler) -> Vec<&Subject> {
    let mut subjects: Vec<&Subject> = of.subjects.iter().filter(|subject| subject.speedup.0 < 1.0).collect();
    subjects.sort_by(|a, b| a.speedup.0.total_cmp(&b.speedup.0));
    subjects.truncate(LISTED);
    subjects
}

pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1} %"))
}
