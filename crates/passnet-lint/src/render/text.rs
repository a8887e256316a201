//! Findings as text: the line, carets under the problem, and how to fix it.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::{Finding, PassFile, Position};

/// Renders findings of these files, in colour if `color` is true.
pub fn text(findings: &[Finding], files: &[PassFile], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let groups = findings.iter().map(|finding| renderer.render(&[group(finding, files)]));
    groups.collect::<Vec<_>>().join("\n\n")
}

fn group<'a>(finding: &'a Finding, files: &'a [PassFile]) -> Group<'a> {
    let source =
        files.iter().find(|file| file.name == finding.file).and_then(|file| std::str::from_utf8(&file.bytes).ok());
    let title = Level::ERROR.primary_title(finding.message.as_str()).id(finding.rule);
    let help = Level::HELP.message(finding.help);
    match source {
        Some(text) if finding.start != finding.end => {
            let annotation = AnnotationKind::Primary.span(span(text, finding)).label(finding.name);
            title.element(Snippet::source(text).path(finding.file.as_str()).annotation(annotation)).element(help)
        }
        _ if finding.file.is_empty() => title.element(help),
        _ => title.element(annotate_snippets::Origin::path(finding.file.as_str())).element(help),
    }
}

/// Returns the bytes that a finding is about, up to the end of its first line. Otherwise a whole function could be underlined.
fn span(text: &str, finding: &Finding) -> Range<usize> {
    let start = offset(text, finding.start);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    start..offset(text, finding.end).clamp(start, line_end)
}

fn offset(text: &str, position: Position) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n').take(position.line - 1) {
        start += line.len();
    }
    let line = &text[start..];
    start + line.char_indices().nth(position.column - 1).map_or(line.len(), |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint_dir;

    #[test]
    fn carets_stand_under_what_is_meant() {
        let source = "import os\nimport torch\n\n\ndef fused(x):\n    \"é\"; return x.softmax(-1)\n";
        let order = br#"["fuse"]"#;
        let findings = lint_dir(&[("fuse.py", source.as_bytes()), ("sorted_output_pass_rule_names.json", order)]);
        let files = [PassFile { name: "fuse.py".to_owned(), bytes: source.into() }];
        insta::assert_snapshot!(text(&findings, &files, false));
    }

    #[test]
    fn files_without_text_are_named() {
        let findings = lint_dir(&[("fuse.py", b"\xff"), ("answers.bin", b"\0")]);
        insta::assert_snapshot!(text(&findings, &[], false));
    }
}
