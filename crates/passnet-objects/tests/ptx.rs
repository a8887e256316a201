//! Judges each file of `tests/ptx`, PTX as NVRTC 12.9 and Triton 3.9 wrote it for compute capability 9.0.
//!
//! The first line says `// refused: RULE` or `// accepted: REASON`.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::{fs, path::Path};

use passnet_objects::ptx::{judge, judge_flags};
use proptest::prelude::*;

fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
    };
    let mut files: Vec<_> = paths.map(read).collect();
    files.sort();
    files
}

#[test]
fn each_construct_is_refused_by_its_rule_and_honest_kernels_are_accepted() {
    let mut wrong = Vec::new();
    for (name, text) in files() {
        let expected = text.lines().next().unwrap().strip_prefix("// ").unwrap();
        let found = match judge(&text) {
            Ok(()) => "accepted".to_owned(),
            Err(findings) => format!("refused: {}", findings[0].rule),
        };
        let is_right = if expected.starts_with("accepted: ") { found == "accepted" } else { found == expected };
        if !is_right {
            wrong.push(format!("{name}: {found} instead of {expected}: {:?}", judge(&text).err()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files().len() > 25);
}

/// Returns a kernel with one statement of inline assembly.
fn with(statement: &str) -> String {
    let (_, plain) = files().into_iter().find(|(name, _)| name == "plain").unwrap();
    plain.replacen("\tret;", &format!("\t// begin inline asm\n\t{statement}\n\t// end inline asm\n\tret;"), 1)
}

#[test]
fn every_spelling_of_a_clock_is_refused() {
    assert_eq!(judge(&with("mov.u32 %r1, %tid.y;")), Ok(()));
    for statement in [
        "mov.u32 %r1, %clock;",
        "mov.u32%r1,%clock_hi;",
        "{ .reg .u64 t; mov.u64 t, /* c */ %globaltimer; }",
        "@%p1 mov.u64 %rd1, %clock64;",
        "@!%p1 mov.u32 %r1,\n%globaltimer_lo;",
        "mov.u32 %r1, %pm0;",
        "mov.u64 %rd1, %gridid;",
        "mov.u32 %r1, %envreg3;",
        "add.u32 %r1, %r1, %clock ;",
        "l: mov.u32 %r1, %clock;",
        ".loc 1 1 1\n mov.u32 %r1, %clock;",
        "pmevent 1;",
        "brkpt;",
        "suld.b.1d.b32.trap {%r1}, [surf, {%r1}];",
    ] {
        let rules: Vec<_> = judge(&with(statement)).unwrap_err().iter().map(|finding| finding.rule.name()).collect();
        assert!(rules.contains(&"instructions"), "{statement}: {rules:?}");
    }
}

#[test]
fn inline_assembly_cannot_end_the_function_and_declare_memory() {
    for statement in [
        "ret; } .global .b32 hidden; .visible .entry other() { st.global.u32 [hidden], 1;",
        ".global .b32 hidden;",
        "{ .global .align 4 .b8 hidden[8]; }",
        ".extern .func (.param .b32 r) vprintf; call (r), vprintf, (r);",
        "call (%rd1), %rd2, ();",
        "st.global.u32 [0x7f0000000000], %r1;",
        "st.u32 [%rd99], %r1;",
        // The stack of the thread that was in this place before.
        "ld.local.u32 %r1, [64];",
        "#include \"x\"",
    ] {
        assert!(judge(&with(statement)).is_err(), "{statement}");
    }
}

#[test]
fn a_variable_that_nothing_names_is_accepted() {
    let with_global =
        |more: &str| with("ret;").replacen(".visible", &format!(".global .b8 zero;\n{more}\n.visible"), 1);
    assert_eq!(judge(&with_global("")), Ok(()));
    for use_ in [".global .u64 place = generic(zero);", ".extern .global .b8 other;"] {
        assert_eq!(judge(&with_global(use_)).unwrap_err()[0].rule.name(), "sections", "{use_}");
    }
    assert!(judge(&with_global("").replacen("ret;", "st.global.u8 [zero], 1; ret;", 1)).is_err());
}

#[test]
fn findings_name_what_is_wrong() {
    let messages: Vec<String> = files()
        .iter()
        .filter_map(|(name, text)| Some((name, judge(text).err()?)))
        .flat_map(|(name, findings)| findings.into_iter().map(move |finding| format!("{name}: {finding}")))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn flags_are_those_of_arithmetic() {
    let flags = |all: &[&str]| judge_flags(&all.iter().map(|&flag| flag.to_owned()).collect::<Vec<_>>()).len();
    assert_eq!(flags(&["--use_fast_math", "-DN=3", "--maxrregcount=64", "--std=c++20", "--fmad=false"]), 0);
    assert_eq!(flags(&["-I/etc", "--pre-include=/etc/passwd", "-dlto", "--relocatable-device-code=true", "-G"]), 5);
}

proptest! {
    /// Damaged text is judged without a panic.
    #[test]
    fn damaged_text_is_judged(file in 0_usize..25, from in 0.0..1.0_f64, length in 0_usize..200, with in "[ -~\n]{0,20}") {
        let all = files();
        let (_, text) = &all[file % all.len()];
        let begin = (text.len() as f64 * from) as usize;
        let end = (begin + length).min(text.len());
        if text.is_char_boundary(begin) && text.is_char_boundary(end) {
            let _ = judge(&format!("{}{with}{}", &text[..begin], &text[end..]));
        }
    }

    #[test]
    fn any_text_is_judged(text in "[ -~\n]{0,300}") {
        let _ = judge(&text);
    }
}
