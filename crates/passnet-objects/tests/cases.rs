//! Compiles each file of `tests/cases` and `tests/honest` as a kernel is compiled, and judges it.
//!
//! The first line of a case is `// refused: RULE`, `// refused: RULE, RULE` (one of them is enough), or `// accepted: REASON`. A line
//! `// flags: ...` adds flags. Honest kernels have no first line of this kind. The kernel is called `k`. A second line
//! `// signature: ...` has its parameters; without it they are `const float* x, float* out, int64_t n`.
//!
//! `tests/disguises.txt` has short kernels that hide what they do. Blank lines separate them, and a block of comments is a title. A
//! kernel that begins with `// harmless` does nothing forbidden as compiled; neither the compiler nor the judge accepts the others.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of a test fail by panicking, and say what they skip"
)]

use std::{fs, path::Path, process::Command};

use passnet_objects::{Image, ObjectFinding, compile, judge, source};

const SIGNATURE: &str = "void k(const float* x, float* out, int64_t n)";
const MARK: &str = "passnet_test";

fn header<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().take(4).find_map(|line| line.strip_prefix("// ")?.strip_prefix(name)?.strip_prefix(": "))
}

fn has_compiler() -> bool {
    let found = Command::new("g++").arg("--version").output().is_ok_and(|run| run.status.success());
    if !found || std::env::consts::ARCH != "x86_64" {
        eprintln!("skipped: needs g++ on x86-64");
    }
    found && std::env::consts::ARCH == "x86_64"
}

/// Compiles a kernel. Returns its preprocessed text and its object.
fn compiled(text: &str) -> Result<(String, Vec<u8>), String> {
    let prelude = "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <utility>\n#include <vector>\n";
    let directory = tempfile::tempdir().unwrap();
    let whole = compile::text(prelude, text, MARK, [("k", header(text, "signature").unwrap_or(SIGNATURE))]);
    fs::write(directory.path().join("kernel.cpp"), whole).unwrap();
    let run = Command::new("g++")
        .args(compile::FLAGS)
        .args(header(text, "flags").unwrap_or_default().split_whitespace())
        .args(compile::FINAL_FLAGS)
        .args(["-c", "-save-temps=obj", "kernel.cpp", "-o", "kernel.o"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    let preprocessed = fs::read(directory.path().join("kernel.ii")).unwrap();
    Ok((String::from_utf8_lossy(&preprocessed).into_owned(), fs::read(directory.path().join("kernel.o")).unwrap()))
}

/// Judges text and object. Returns the findings of both.
fn judged(text: &str) -> Result<Image, Vec<ObjectFinding>> {
    let (preprocessed, object) = compiled(text).unwrap_or_else(|message| panic!("{message}"));
    judged_as_compiled(text, &preprocessed, &object)
}

fn judged_as_compiled(text: &str, preprocessed: &str, object: &[u8]) -> Result<Image, Vec<ObjectFinding>> {
    let mut findings = source::judge_raw(text);
    findings.extend(source::judge_preprocessed(preprocessed, MARK).err().unwrap_or_default());
    match judge(object) {
        Ok(image) if findings.is_empty() => Ok(image),
        Ok(_) => Err(findings),
        Err(more) => Err([findings, more].concat()),
    }
}

fn files(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn each_construct_is_refused_by_its_rule() {
    if !has_compiler() {
        return;
    }
    let mut wrong = Vec::new();
    for (name, text) in files("cases") {
        let outcome = judged(&text);
        let shown =
            outcome.as_ref().err().map(|findings| findings.iter().map(|f| format!("    {f}\n")).collect::<String>());
        eprintln!("{name}\n{}", shown.as_deref().unwrap_or("    accepted\n"));
        let is_right = match (header(&text, "refused"), header(&text, "accepted"), &outcome) {
            (Some(rules), None, Err(findings)) => {
                rules.split(", ").any(|rule| findings.iter().any(|finding| finding.rule.name() == rule))
            }
            (None, Some(_), Ok(_)) => true,
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{name}: {}", shown.unwrap_or_else(|| "accepted".to_owned())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn honest_kernels_are_accepted() {
    if !has_compiler() {
        return;
    }
    let mut wrong = Vec::new();
    for (name, text) in files("honest") {
        match judged(&text) {
            Ok(image) => {
                eprintln!("{name}: {:?}", image.stack());
                assert!(image.entry("k").is_some());
            }
            Err(findings) => {
                wrong.push(format!(
                    "{name}: {}",
                    findings.iter().map(ObjectFinding::to_string).collect::<Vec<_>>().join("\n    ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn disguises_are_refused() {
    if !has_compiler() {
        return;
    }
    let blocks = include_str!("disguises.txt").trim_end().split("\n\n");
    let is_title = |block: &&str| block.lines().all(|line| line.starts_with("//"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for kernel in blocks.filter(|block| !is_title(block)) {
        let text = format!("// signature: void k(float* x)\n{kernel}\n");
        let is_accepted = compiled(&text)
            .is_ok_and(|(preprocessed, object)| judged_as_compiled(&text, &preprocessed, &object).is_ok());
        count += 1;
        if is_accepted != kernel.starts_with("// harmless") {
            wrong.push(kernel);
        }
    }
    assert!(wrong.is_empty() && count >= 78, "{count} kernels\n{}", wrong.join("\n"));
}
