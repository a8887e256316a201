//! Rules for the text of a kernel. They cover constructs that compile to nothing, or that change how the rest is compiled.
//!
//! An object cannot show an empty `asm` that reads a register, or an attribute that switches off the initialisation of a local.
//! Preprocessed text has no macros, conditions and splices, so it can be read token by token. Text of system headers is not checked. The
//! raw text must not have line markers, because a line marker could make any text look like text of a system header.

use crate::{
    finding::{ObjectFinding, ObjectRule},
    words::names,
};

/// Attributes that change how data is laid out, or how code is divided into functions.
const ATTRIBUTES: &[&str] = &[
    "aligned",
    "vector_size",
    "always_inline",
    "noinline",
    "flatten",
    "hot",
    "cold",
    "const",
    "pure",
    "may_alias",
    "unused",
    "packed",
    "target",
];
/// Forbidden builtins: memory of the frame, addresses of the frame, arguments of callers, clocks.
const BUILTINS: &[&str] = &[
    "alloca",
    "dwarf",
    "eh_return",
    "frame_address",
    "frob_return",
    "next_arg",
    "return",
    "saveregs",
    "stack_",
    "va_",
    "extract_return_addr",
    "thread_pointer",
    "apply",
    "longjmp",
    "setjmp",
    "unwind",
];

/// Prefixes of flags that an author may give: optimisation, instruction sets, macros, warnings.
const FLAGS: &[&str] = &["-O", "-D", "-f", "-m", "-std=c++", "-W"];
/// Flags with an allowed prefix that are forbidden all the same: they use other files or tools, or instrument the code.
const NO_FLAGS: &[&str] = &[
    "-Wa,",
    "-Wl,",
    "-Wp,",
    "-fplugin",
    "-fprofile",
    "-fdump",
    "-finstrument",
    "-fsanitize",
    "-fuse-ld",
    "-fpre",
    "-fmodule",
    "-fworking-directory",
    "-fmacro-prefix",
    "-ffile-prefix",
    "-fdirectives-only",
    "-flto",
    "-fopt-info",
    "-fsave-optimization",
    "-fauto-profile",
    "-fbranch-prob",
    "-foffload",
    "-fcallgraph",
    "-fdiagnostics-format",
    "-finput-charset",
    "-fexec-charset",
    "-fwide-exec-charset",
    "-fself-test",
];

/// Judges the flags that an author gives. Returns an empty list if all are allowed.
pub fn judge_flags(flags: &[String]) -> Vec<ObjectFinding> {
    let is_known = |flag: &String| {
        FLAGS.iter().any(|known| flag.starts_with(known)) && !NO_FLAGS.iter().any(|known| flag.starts_with(known))
    };
    let unknown = flags.iter().filter(|flag| !is_known(flag));
    unknown.map(|flag| finding(format!("the flag `{flag}`: a kernel may have flags for optimisation (`-O`, `-f`), instruction sets (`-m`) and macros (`-D`)"))).collect()
}

/// Judges the text of a kernel before preprocessing. Returns an empty list if the text keeps the rules.
pub fn judge_raw(text: &str) -> Vec<ObjectFinding> {
    let joined = splice(text);
    let markers = joined.lines().filter(|line| is_marker(line));
    markers
        .map(|line| {
            finding(format!("`{}` changes where the compiler takes lines to be from; leave it out", line.trim()))
        })
        .collect()
}

/// Judges preprocessed text (`g++ -E`). The kernel is the text between two lines `#pragma MARK`.
///
/// # Errors
///
/// The violated rules: at least 1 finding.
pub fn judge_preprocessed(text: &str, mark: &str) -> Result<(), Vec<ObjectFinding>> {
    let line = format!("#pragma {mark}");
    let parts: Vec<_> = text.split(line.as_str()).collect();
    let [_, kernel, _] = parts[..] else {
        return Err(vec![finding("the preprocessed text does not have the kernel between its marks".to_owned())]);
    };
    let own = own_text(kernel);
    let mut findings: Vec<_> = own.lines().filter_map(pragma).collect();
    findings.extend(tokens(&own));
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn finding(message: String) -> ObjectFinding {
    ObjectFinding::new(ObjectRule::Source, message)
}

/// Joins lines that end in a backslash. Like GCC, it also joins where blanks follow the backslash.
fn splice(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.trim_end().strip_suffix('\\') {
            Some(rest) => joined.push_str(rest),
            None => joined.push_str(line),
        }
    }
    joined
}

/// Returns whether a line is a directive `# 1 "file"` or `#line 1 "file"`. A line in a comment that looks like one counts, too.
fn is_marker(line: &str) -> bool {
    let hashes = line.match_indices('#').map(|(at, _)| (at, at + 1));
    let digraphs = line.match_indices("%:").map(|(at, _)| (at, at + 2));
    hashes.chain(digraphs).any(|(start, end)| {
        let before = line[..start].rsplit("*/").next().unwrap_or_default();
        let mut after = line[end..].trim_start();
        while let Some((_, rest)) = after.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) {
            after = rest.trim_start();
        }
        let is_line =
            after.strip_prefix("line").is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        before.trim_start().trim_end_matches("??=").is_empty()
            && (is_line || after.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Returns the lines that are not from system headers. Line markers show where a line is from: `# 1 "file" 1 3` enters a system header,
/// `# 5 "kernel.cpp" 2` returns to the kernel.
fn own_text(text: &str) -> String {
    let mut own = String::new();
    // For each open file, whether it is a system header.
    let mut open: Vec<bool> = Vec::new();
    for line in text.lines() {
        let marker = line.strip_prefix("# ").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let Some(marker) = marker else {
            if !open.iter().any(|is_system| *is_system) {
                own.push_str(line);
                own.push('\n');
            }
            continue;
        };
        let flags: Vec<_> = marker.rsplit('"').next().unwrap_or_default().split_whitespace().collect();
        if flags.contains(&"1") {
            open.push(flags.contains(&"3"));
        } else if flags.contains(&"2") {
            open.pop();
        }
    }
    own
}

fn pragma(line: &str) -> Option<ObjectFinding> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("pragma")?;
    let mut words = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let is_known = match words.next() {
        Some("omp") => !rest.contains("threadprivate"),
        Some("unroll" | "ivdep" | "once") => true,
        // `-Werror=date-time` refuses the time of the compilation.
        Some("GCC") => matches!(words.next(), Some("ivdep" | "unroll" | "diagnostic")) && !rest.contains("date-time"),
        Some("STDC") => true,
        _ => false,
    };
    (!is_known).then(|| {
        finding(format!(
            "`#pragma{rest}` changes how the kernel is compiled; only `omp`, `GCC ivdep` and `GCC unroll` are allowed"
        ))
    })
}

/// Finds forbidden names outside of literals.
fn tokens(text: &str) -> Vec<ObjectFinding> {
    let mut findings = Vec::new();
    let names = names(text);
    for (at, name) in &names {
        let builtin = name.strip_prefix("__builtin_").or_else(|| name.strip_prefix("__builtin"));
        let message = match *name {
            "asm" | "__asm" | "__asm__" => Some(format!(
                "`{name}`: write the kernel in C++; the compiler vectorises loops, and intrinsics do the rest"
            )),
            "__attribute__" | "__attribute" | "__declspec" => attribute(&text[at + name.len()..]),
            "_Pragma" | "__pragma" => Some(format!("`{name}`: write `#pragma`")),
            "alloca" => Some("`alloca`: use an array or a `std::vector`".to_owned()),
            _ if builtin
                .is_some_and(|rest| BUILTINS.iter().any(|known| rest.trim_start_matches('_').starts_with(known))) =>
            {
                Some(format!("`{name}`: a kernel uses its arguments and its locals"))
            }
            _ => None,
        };
        findings.extend(message.map(finding));
    }
    findings.extend(brackets(text).filter_map(bracketed_attributes).map(finding));
    findings
}

/// Returns the text behind each `[[`, up to the first closing bracket. Blanks and digraphs make the same tokens.
fn brackets(text: &str) -> impl Iterator<Item = &str> {
    let open = |text: &str| text.strip_prefix('[').or_else(|| text.strip_prefix("<:")).map(str::len);
    let starts = text.match_indices(['[', '<']).map(|(at, _)| at);
    let inside = starts.filter_map(move |at| {
        let after = text[text.len() - open(&text[at..])?..].trim_start();
        Some(&text[text.len() - open(after)?..])
    });
    inside.map(|inside| &inside[..inside.find([']', ';']).unwrap_or(inside.len())])
}

/// Returns what is wrong with attributes of the compiler in brackets, such as `gnu::section("x")`; `None` if all are allowed.
fn bracketed_attributes(inside: &str) -> Option<String> {
    let is_vendors = inside.contains("gnu") && inside.contains(':');
    let is_allowed = |attribute: &str| {
        attribute.trim().strip_prefix("gnu::").is_some_and(|name| ATTRIBUTES.contains(&name.trim_matches('_')))
    };
    let is_refused = is_vendors && !inside.split(',').all(is_allowed);
    is_refused.then(|| format!("`[[{inside}]]` changes how the kernel is compiled; leave it out"))
}

/// Returns what is wrong with the list of an attribute; `None` if all its attributes are allowed.
fn attribute(rest: &str) -> Option<String> {
    let mut depth = 0_usize;
    let end = rest.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return None,
        }
        (depth == 0).then_some(at)
    });
    let list = &rest[..end.map_or(rest.len(), |end| end + 1)];
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 2 && (c.is_alphabetic() || c == '_') && !(before.is_alphanumeric() || before == '_') => {
                let name: String = list[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !ATTRIBUTES.contains(&name.trim_matches('_')) {
                    return Some(format!(
                        "`__attribute__(({name}))`: only {} are allowed; give options of the compiler as `flags`",
                        ATTRIBUTES.join(", ")
                    ));
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(kernel: &str) -> Result<(), String> {
        let text =
            format!("asm(\"prelude\");\n#pragma M\n# 1 \"kernel.cpp\"\n{kernel}\n#pragma M\nasm(\"entries\");\n");
        judge_preprocessed(&text, "M").map_err(|findings| findings[0].message.clone())
    }

    #[test]
    fn ordinary_text_is_accepted() {
        for kernel in [
            "void k(float* x) { x[0] = 1'000; const char* s = \"asm\"; char c = '\"'; }",
            "typedef float v __attribute__((vector_size(4 * sizeof(float)), aligned(16)));",
            "#pragma omp parallel for\nfor (;;) {}",
            "#pragma GCC ivdep\nfor (;;) {}",
            "# 1 \"/usr/include/x.h\" 1 3\nasm(\"header\");\n# 2 \"kernel.cpp\" 2\nint asmx;",
            "[[maybe_unused]] int a = b[c[0]];",
            "__attribute__((target(\"avx2,fma\"), hot)) void k() {}",
            "auto r = R\"x(asm(\"a\"))x\";",
            "[[gnu::always_inline, gnu::hot]] inline float f(float v) { return v; }",
            "int gnu = a[b[0]] < ::c ? 1 : 2;",
        ] {
            assert_eq!(judged(kernel), Ok(()), "{kernel}");
        }
    }

    #[test]
    fn text_that_objects_do_not_show_is_refused() {
        for (kernel, subject) in [
            ("__asm__ volatile(\"\" : \"=x\"(v));", "__asm__"),
            ("__attribute__((uninitialized)) float a[4];", "uninitialized"),
            ("__attribute__((target_clones(\"avx2\", \"default\"))) void k() {}", "target_clones"),
            ("__attribute__((aligned(8), noinit)) float a[4];", "noinit"),
            ("#pragma GCC optimize(\"jump-tables\")", "optimize"),
            ("#pragma GCC diagnostic ignored \"-Wdate-time\"", "date-time"),
            ("void* p = __builtin_dwarf_cfa();", "dwarf_cfa"),
            ("__builtin_va_list list;", "va_list"),
            ("# 1 \"own.h\" 1\nasm(\"\");\n# 2 \"kernel.cpp\" 2", "asm"),
            (
                "# 1 \"/usr/a.h\" 1 3\n# 1 \"/usr/b.h\" 1 3\n# 1 \"/usr/a.h\" 2 3\n# 1 \"kernel.cpp\" 2\nasm(\"\");",
                "asm",
            ),
            ("[[gnu::section(\"x\")]] int a;", "gnu"),
            ("[ [gnu::uninitialized] ] int a;", "gnu"),
            ("<:<: gnu::uninitialized :>:> int a;", "gnu"),
            ("[[using gnu: hot, uninitialized]] int a;", "gnu"),
            ("[[gnu::hot, gnu::section(\"x\")]] int a;", "gnu"),
            ("float* p = (float*)__builtin_alloca(64);", "alloca"),
            ("void* p = __builtin_frame_address(0);", "frame_address"),
            ("#pragma M\n", "marks"),
        ] {
            assert!(judged(kernel).unwrap_err().contains(subject), "{kernel}");
        }
    }

    #[test]
    fn flags_that_bring_in_files_are_refused() {
        let judged = |flag: &str| judge_flags(&[flag.to_owned()]).len();
        for flag in ["-O2", "-ffast-math", "-mavx2", "-Delement=float", "-fopenmp", "-Wno-all"] {
            assert_eq!(judged(flag), 0, "{flag}");
        }
        for flag in [
            "-include",
            "own.hpp",
            "@file",
            "-fplugin=x.so",
            "-Wa,--defsym",
            "-B/tmp",
            "-xc",
            "-isystem/tmp",
            "-fopt-info-vec=x",
        ] {
            assert_eq!(judged(flag), 1, "{flag}");
        }
    }

    #[test]
    fn line_markers_are_refused() {
        for text in [
            "# 1 \"x\" 1 3",
            "  #  line 5",
            "/* */ # 1",
            "/*\n*/ #line 2",
            "#\\\nline 1",
            "%: 1",
            "# /**/ 1",
            "#\\ \nline 3",
        ] {
            assert_eq!(judge_raw(text).len(), 1, "{text}");
        }
        for text in ["// see #1", "#define lines 3", "#if 1", "x = a; // # 2", "#include <cmath>"] {
            assert!(judge_raw(text).is_empty(), "{text}");
        }
    }
}
