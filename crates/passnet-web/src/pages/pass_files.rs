//! The files of a pass directory, and how they differ from those of another run.

use maud::{Markup, html};

use super::context::Context;
use crate::{
    PageId, PassSet, PassText,
    format::counted,
    highlight::{Language, highlighted},
    line_diff::side_by_side,
};

/// Characters of one file, and of all files, that are shown.
const MAX_FILE: usize = 50_000;
const MAX_FILES: usize = 100_000;
/// Bytes of a file whose keywords, strings and comments are marked.
const MAX_MARKED: usize = 24_000;
/// Findings that are listed.
const MAX_FINDINGS: usize = 50;
/// Pairs of files that are shown side by side.
const MAX_PAIRS: usize = 2;

pub(super) fn passes(files: &[PassText]) -> Markup {
    if files.is_empty() {
        return html! { p { "The pass directory is empty: nothing was rewritten." } };
    }
    if files.iter().all(|file| file.text.is_none()) {
        return html! {
            p.about { "The files are not kept with this run, or are no text:" }
            ul { @for file in files { li { code { (file.path) } } } }
        };
    }
    let findings: usize = files.iter().map(|file| file.findings.len()).sum();
    let mut left = MAX_FILES;
    html! {
        p.about {
            @if files.iter().any(|file| file.text.is_none()) { "Some files were not kept, so the integrity rules are not applied." }
            @else if findings == 0 { "The integrity rules of this PassNet find nothing in these files." }
            @else { (counted(findings, "finding")) " of the integrity rules; the lines are marked." }
        }
        @for (index, file) in files.iter().enumerate() { (pass_file(index, file, &mut left)) }
    }
}

fn pass_file(index: usize, file: &PassText, left: &mut usize) -> Markup {
    let Some(text) = &file.text else {
        return html! { h3 { (file.path) } p { "This file is not kept with the run, or is not text." } };
    };
    let size = text.chars().count();
    let shown: String = text.chars().take(MAX_FILE.min(*left)).collect();
    // The budget is for the whole directory, so that many small files cannot make a page of any size.
    let cut = size - shown.chars().count();
    *left -= size - cut;
    let line_id = |line: usize| format!("f{index}-{line}");
    html! {
        h3 { (file.path) }
        @if !file.findings.is_empty() {
            ul.findings { @for finding in file.findings.iter().take(MAX_FINDINGS) {
                li {
                    a href=(format!("#{}", line_id(finding.line))) { (finding.line) ":" (finding.column) }
                    " " code { (finding.rule) } " " (finding.message) @if !finding.help.is_empty() { " — " (finding.help) }
                }
            } }
        }
        details open[size < 6000] {
            summary { (counted(text.lines().count(), "line")) }
            pre.code tabindex="0" {
                @for (number, line) in highlighted(&shown, Language::of(&file.path), MAX_MARKED).iter().enumerate() {
                    @if file.findings.iter().any(|finding| finding.line == number + 1) { i.hit id=(line_id(number + 1)) { (line) } }
                    @else { i { (line) } }
                }
            }
            @if cut > 0 { p.about { (counted(cut, "further character")) "." } }
        }
    }
}

/// Returns the best other run over the suite that has and kept other passes for a task, and these passes.
pub(super) fn rival(
    context: &Context<'_>,
    (run, own): (usize, &PassSet),
    files: &[PassText],
    task: usize,
) -> Option<(usize, Vec<PassText>)> {
    let site = context.site;
    if !files.iter().any(is_code) {
        return None;
    }
    let best_first = site.suites[site.entries[run].suite].runs.iter().copied();
    best_first.filter(|&other| other != run && site.has_task(other, task)).find_map(|other| {
        let set = site.runs[other].passes.iter().find(|set| set.task == own.task)?;
        let theirs = (set.id != own.id).then(|| context.archive.passes(other, set))?;
        theirs.iter().any(is_code).then_some((other, theirs))
    })
}

/// Shows the passes of another run and of this one side by side. Files are paired by name, and those without a partner in order.
pub(super) fn difference(
    context: &Context<'_>,
    (run, files): (usize, &[PassText]),
    (other, theirs): (usize, &[PassText]),
    task: usize,
) -> Markup {
    let (entries, page) = (&context.site.entries, PageId::Evaluation(other, task, 0));
    let pairs = pairs(theirs, files);
    html! {
        p { (context.link(page, &entries[other].label)) " is the best other run with passes for this task. Left: its passes; right: those of "
            (entries[run].label) "." }
        @for (theirs, own) in pairs.iter().take(MAX_PAIRS) {
            details open[pairs.len() == 1] {
                summary { (own.path) }
                (side_by_side(
                    theirs.text.as_deref().unwrap_or_default(), own.text.as_deref().unwrap_or_default(),
                    (&format!("{}: {}", entries[other].label, theirs.path), &format!("{}: {}", entries[run].label, own.path)),
                    Language::of(&own.path),
                ))
            }
        }
        @if pairs.len() > MAX_PAIRS { p.about { (counted(pairs.len() - MAX_PAIRS, "further file")) "." } }
    }
}

/// Returns whether a file is one of Python or C++ that was kept.
fn is_code(file: &PassText) -> bool {
    file.text.is_some() && Language::of(&file.path) != Language::Plain
}

/// Pairs the Python and C++ files that were kept.
fn pairs<'a>(left: &'a [PassText], right: &'a [PassText]) -> Vec<(&'a PassText, &'a PassText)> {
    let mut left: Vec<&PassText> = left.iter().filter(|file| is_code(file)).collect();
    let mut lonely = Vec::new();
    let mut pairs = Vec::new();
    for file in right.iter().filter(|file| is_code(file)) {
        match left.iter().position(|other| other.path == file.path) {
            Some(at) => pairs.push((left.remove(at), file)),
            None => lonely.push(file),
        }
    }
    pairs.extend(left.into_iter().zip(lonely));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_not_kept_are_one_list() {
        let file = |path: &str| PassText { path: path.to_owned(), text: None, findings: Vec::new() };
        let page = passes(&[file("fuse_0.py"), file("sorted_output_pass_rule_names.json")]).into_string();
        assert_eq!((page.matches("not kept").count(), page.matches("<li>").count()), (1, 2), "{page}");
        let kept = PassText { text: Some("import torch\n".to_owned()), ..file("a.py") };
        let page = passes(&[kept, file("b.py")]).into_string();
        assert!(page.contains("1 line") && page.contains("This file is not kept"), "{page}");
    }
}
