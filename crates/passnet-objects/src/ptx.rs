//! Rules for the PTX of kernels for CUDA devices, from NVRTC or from Triton.
//!
//! [`judge`] reads the text that a compiler has written, including inline assembly, and returns the violations of the rules. The rules
//! are those for C++ objects, as far as they apply to PTX:
//!
//! | rule | refuses |
//! |---|---|
//! | [`ObjectRule::Format`] | text that is not PTX as compilers write it |
//! | [`ObjectRule::Sections`] | variables that outlive the launch and can be written; textures and aliases |
//! | [`ObjectRule::Symbols`] | functions that the text does not define, such as `printf` and `malloc`; calls through registers |
//! | [`ObjectRule::Instructions`] | clocks, counters and other special registers outside a list; instructions outside a list |
//! | [`ObjectRule::Data`] | writes to constants, addresses of constants that leave their function, addresses made of numbers |
//!
//! The text cannot show which memory an address belongs to if it is computed from a parameter. PTX is described in NVIDIA's "Parallel
//! Thread Execution ISA".

mod flow;
mod instructions;
mod module;
mod text;

use crate::finding::{ObjectFinding, ObjectRule};

/// Largest number of findings that are kept.
const MAX_FINDINGS: usize = 50;

/// Prefixes of the flags of NVRTC that an author may give: optimisation, arithmetic, macros.
const FLAGS: &[&str] = &[
    "-D",
    "--define-macro=",
    "-use_fast_math",
    "--use_fast_math",
    "-ftz=",
    "--ftz=",
    "-fmad=",
    "--fmad=",
    "-prec-div=",
    "--prec-div=",
    "-prec-sqrt=",
    "--prec-sqrt=",
    "-maxrregcount=",
    "--maxrregcount=",
    "-extra-device-vectorization",
    "--extra-device-vectorization",
    "-restrict",
    "--restrict",
    "-std=c++",
    "--std=c++",
    "-default-device",
    "--default-device",
];

/// Judges the PTX of a module.
///
/// # Errors
///
/// The violated rules: at least 1 and at most 50 findings.
pub fn judge(text: &str) -> Result<(), Vec<ObjectFinding>> {
    let module = text::tokens(text).and_then(|tokens| module::parse(&tokens)).map_err(|finding| vec![finding])?;
    let mut findings = Vec::new();
    if !module.functions.iter().any(|function| function.is_entry) {
        findings.push(ObjectFinding::new(ObjectRule::Format, "the PTX has no kernel"));
    }
    module::check(&module, &mut findings);
    for function in &module.functions {
        instructions::check(&module, function, &mut findings);
        flow::check(&module, function, &mut findings);
    }
    // An unrolled loop repeats its findings.
    findings.dedup();
    findings.truncate(MAX_FINDINGS);
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// Judges the flags that an author gives to NVRTC. Returns an empty list if all are allowed.
pub fn judge_flags(flags: &[String]) -> Vec<ObjectFinding> {
    // Only listed flags are allowed, because other flags of NVRTC include files.
    let is_known = |flag: &&String| FLAGS.iter().any(|known| flag.starts_with(known));
    let unknown = flags.iter().filter(|flag| !is_known(flag));
    let message = |flag: &String| {
        format!(
            "the flag `{flag}`: a CUDA kernel may have flags for arithmetic (`--use_fast_math`, `--fmad=`), registers (`--maxrregcount=`), `--std=` and macros (`-D`)"
        )
    };
    unknown.map(|flag| ObjectFinding::new(ObjectRule::Source, message(flag))).collect()
}
