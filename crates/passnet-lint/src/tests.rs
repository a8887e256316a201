//! Tests of the rules on Markdown specifications and on hostile text, and of the manual on disk.
//!
//! A specification is a file of `specifications`. Every `## ` heading opens a case, which is a pass directory. The code blocks of
//! a case are its files (` ```python NAME.py `; a plain ` ```python ` is `fuse.py`). `# error: PN201` marks a line on which a
//! finding of that rule starts. A line `error: PN101` outside of code expects a finding about a whole file, or about the order file,
//! which cannot have marks. Any other finding is an error. A Python file that defines `fused` and no `pattern` gets entry points for
//! it, and a case without an order file gets one that lists every file with a `pattern`.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use proptest::prelude::*;

use super::{ORDER_FILE, find_rule, lint_dir, read_dir, render::text, rules, rules_page};

const ENTRY_POINTS: &str = "\n\ndef pattern(x, y):\n    return torch.nn.functional.relu(x) + y\n\n\n\
    def replacement_args(x, y):\n    return (x, y)\n\n\ndef replacement_func():\n    return fused\n";

#[derive(Default)]
struct Case {
    name: String,
    files: Vec<(String, String)>,
    /// Expected findings as (file, line, rule). For findings about whole files and the order file, the file is empty and the line 0.
    expected: BTreeSet<(String, usize, String)>,
}

fn cases(markdown: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut block: Option<(String, String)> = None;
    for line in markdown.lines() {
        let Some(case) = cases.last_mut() else {
            if let Some(name) = line.strip_prefix("## ") {
                cases.push(Case { name: name.to_owned(), ..Case::default() });
            }
            continue;
        };
        match (&mut block, line) {
            (Some(_), "```") => case.files.extend(block.take()),
            (Some((_, text)), line) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, line) if line.starts_with("```") => {
                let name = line[3..].split_whitespace().nth(1).unwrap_or("fuse.py");
                block = Some((name.to_owned(), String::new()));
            }
            (None, line) if line.starts_with("error: ") => {
                case.expected.insert((String::new(), 0, line[7..].to_owned()));
            }
            (None, line) => {
                if let Some(name) = line.strip_prefix("## ") {
                    cases.push(Case { name: name.to_owned(), ..Case::default() });
                }
            }
        }
    }
    cases.iter_mut().for_each(complete);
    cases
}

/// Adds the expected findings, the entry points and the order file.
fn complete(case: &mut Case) {
    for (name, text) in &mut case.files {
        for (index, line) in text.lines().enumerate() {
            let marks = line.split_once("# error: ").map_or("", |(_, marks)| marks);
            for rule in marks.split(", ").filter(|rule| !rule.is_empty()) {
                case.expected.insert((name.clone(), index + 1, rule.trim().to_owned()));
            }
        }
        if text.contains("def fused(") && !text.contains("pattern") {
            text.push_str(ENTRY_POINTS);
        }
    }
    if !case.files.iter().any(|(name, _)| name == ORDER_FILE) {
        let passes: Vec<_> = case.files.iter().filter(|(_, text)| text.contains("def pattern(")).collect();
        let stems: Vec<_> = passes.iter().map(|(name, _)| name.trim_end_matches(".py")).collect();
        let order = serde_json::to_string(&stems).unwrap();
        case.files.push((ORDER_FILE.to_owned(), order));
    }
}

fn files(case: &Case) -> Vec<(&str, &[u8])> {
    case.files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect()
}

fn specifications() -> Vec<(String, Vec<Case>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specifications");
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    entries.iter().map(|path| (name(path), cases(&fs::read_to_string(path).unwrap()))).collect()
}

#[test]
fn specifications_hold() {
    let mut report = String::new();
    let mut covered = BTreeSet::new();
    for (spec, cases) in specifications() {
        for case in cases {
            let findings = lint_dir(&files(&case));
            let found: BTreeSet<_> = findings
                .iter()
                .map(|finding| match (finding.start, finding.end) {
                    (start, end) if start == end || finding.file == ORDER_FILE => {
                        (String::new(), 0, finding.rule.to_owned())
                    }
                    (start, _) => (finding.file.clone(), start.line, finding.rule.to_owned()),
                })
                .collect();
            covered.extend(found.iter().map(|(_, _, rule)| rule.clone()));
            if found != case.expected {
                writeln!(report, "\n{spec}: {}", case.name).unwrap();
                for missing in case.expected.difference(&found) {
                    writeln!(report, "  not found: {missing:?}").unwrap();
                }
                for finding in &findings {
                    let key = (finding.file.clone(), finding.start.line, finding.rule.to_owned());
                    if !case.expected.contains(&key) {
                        writeln!(report, "  found: {key:?} {}", finding.message).unwrap();
                    }
                }
            }
        }
    }
    assert!(report.is_empty(), "{report}");
    let untested: Vec<_> = rules().iter().map(|rule| rule.id).filter(|id| !covered.contains(*id)).collect();
    assert!(untested.is_empty(), "no specification shows {untested:?}");
}

#[test]
fn honest_passes_are_many() {
    let is_honest = |name: &str| name == "honest" || name.starts_with("ordinary-");
    let honest: Vec<_> =
        specifications().into_iter().filter(|(name, _)| is_honest(name)).flat_map(|(_, cases)| cases).collect();
    assert!(honest.len() >= 70, "{} honest cases", honest.len());
    assert!(honest.iter().all(|case| case.expected.is_empty()), "an honest case expects a finding");
}

#[test]
fn passes_of_the_bundled_suites_are_clean() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites");
    let passes = |suite: fs::DirEntry| fs::read_dir(suite.path().join("passes")).into_iter().flatten();
    let entries = fs::read_dir(suites).into_iter().flatten().flatten().flat_map(passes).flatten();
    for directory in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let (files, findings) = read_dir(&directory).unwrap();
        assert!(findings.is_empty(), "{}", text(&findings, &files, false));
    }
}

#[test]
fn honest_entries_of_the_attack_suite_are_clean() {
    let honest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks/honest");
    let mut report = String::new();
    for entry in fs::read_dir(honest).unwrap() {
        let (mut files, _) = read_dir(&entry.unwrap().path()).unwrap();
        files.retain(|file| file.name != "meta.json");
        let borrowed: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.bytes.as_slice())).collect();
        report += &text(&lint_dir(&borrowed), &files, false);
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn what_is_no_file_of_a_pass_is_found_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(ORDER_FILE), "[]").unwrap();
    fs::write(directory.path().join("notes.txt"), "").unwrap();
    fs::create_dir(directory.path().join("__pycache__")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", directory.path().join("link.py")).unwrap();
    let (_, findings) = read_dir(directory.path()).unwrap();
    let found: Vec<_> = findings.iter().map(|finding| (finding.file.as_str(), finding.rule)).collect();
    assert_eq!(found, [("__pycache__", "PN101"), ("link.py", "PN101"), ("notes.txt", "PN101")]);
}

#[test]
fn manual_on_disk_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/lint-rules.md");
    if std::env::var_os("PASSNET_BLESS").is_some() {
        fs::write(&path, rules_page()).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        current == rules_page(),
        "docs/reference/lint-rules.md is stale: run PASSNET_BLESS=1 cargo test -p passnet-lint"
    );
}

#[test]
fn rules_are_found_by_id_and_by_name() {
    assert_eq!(find_rule("pn201").unwrap().name, "import-not-allowed");
    assert_eq!(find_rule("import-not-allowed").unwrap().id, "PN201");
    assert!(find_rule("PN999").is_none());
}

/// Returns pieces of honest and hostile passes, from which mutation builds nearly valid files.
fn corpus() -> Vec<String> {
    let all = specifications().into_iter().flat_map(|(_, cases)| cases);
    all.flat_map(|case| case.files).filter(|(name, _)| name.ends_with(".py")).map(|(_, text)| text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        lint_dir(&[("fuse.py", &bytes), (ORDER_FILE, br#"["fuse"]"#)]);
    }

    #[test]
    fn mutated_passes_never_panic(seed in any::<prop::sample::Index>(), edits in proptest::collection::vec(
        (any::<prop::sample::Index>(), 0..12_usize, "[ -~\n]{0,8}|def f\\(x\\):\n|return |\\(x, \\*a\\)|lambda m: |\\[\\*x\\]|:= |yield |@x\n"), 1..6)
    ) {
        let corpus = corpus();
        let mut text = seed.get(&corpus).clone();
        for (at, removed, inserted) in edits {
            let at = at.index(text.len() + 1);
            let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let end = (at + removed).min(text.len());
            let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
            text.replace_range(at..end, &inserted);
        }
        lint_dir(&[("fuse.py", text.as_bytes()), (ORDER_FILE, br#"["fuse"]"#)]);
    }
}
