//! Rules for the object code of native kernels.
//!
//! [`judge`] reads a relocatable object, exactly as a compiler wrote it. It returns the violations of the rules ([`ObjectFinding`]), or
//! an [`Image`]. An image has the bytes of code and constants, and the few addresses that are not yet filled in. Only `judge` makes
//! images, so a loader that accepts only images loads only code that passed the rules. No linker is used, because a linker would add code
//! and data that no rule has checked.
//!
//! | rule | refuses |
//! |---|---|
//! | [`ObjectRule::Format`] | files that are not x86-64 objects |
//! | [`ObjectRule::Sections`] | writable, thread-local and initialiser sections, unwind tables |
//! | [`ObjectRule::Symbols`] | functions of libraries outside a list; aliases, ifuncs, data among code |
//! | [`ObjectRule::Relocations`] | stored addresses, GOT entries |
//! | [`ObjectRule::Instructions`] | clocks, system calls, indirect branches, code that does not decode |
//! | [`ObjectRule::Data`] | writes to constants, absolute addresses, addresses of functions |
//! | [`ObjectRule::Stack`] | stack pointers from elsewhere, frames above 256 KiB |
//!
//! [`source`] has the rules for preprocessed text. They cover constructs that leave no trace in the object: `asm`, attributes,
//! pragmas. [`ptx`] has the rules for CUDA kernels.
//!
//! ```
//! use passnet_objects::{ObjectRule, judge, source};
//!
//! let findings = judge(b"#!/bin/sh").unwrap_err();
//! assert_eq!(findings[0].rule, ObjectRule::Format);
//! assert!(source::judge_flags(&["-O3".to_owned()]).is_empty());
//! assert!(!source::judge_flags(&["-fplugin=x.so".to_owned()]).is_empty());
//! ```
//!
//! The crate is pure: it never reads a file, starts a process or loads code.

mod code;
pub mod compile;
mod elf;
mod finding;
mod image;
mod imports;
pub mod ptx;
mod rules;
pub mod source;
mod words;

pub use self::{
    finding::{ObjectFinding, ObjectRule},
    image::{CallTarget, Fixup, Image, Import, StackUse},
    imports::RuntimeLibrary,
};

use self::{code::Code, elf::Object};

/// Largest number of findings that are kept.
const MAX_FINDINGS: usize = 50;

/// Judges a relocatable object.
///
/// # Errors
///
/// The violated rules: at least 1 and at most 50 findings.
pub fn judge(bytes: &[u8]) -> Result<Image, Vec<ObjectFinding>> {
    let object = Object::parse(bytes).map_err(|finding| vec![finding])?;
    let mut findings = rules::sections::check(&object);
    findings.extend(rules::symbols::check(&object));
    let code = Code::decode(&object, &mut findings);
    findings.extend(rules::relocations::check(&object, &code));
    findings.extend(rules::instructions::check(&object, &code));
    findings.extend(rules::data::check(&object, &code));
    let stack = rules::stack::check(&object, &code, &mut findings);
    findings.truncate(MAX_FINDINGS);
    if findings.is_empty() { Image::new(&object, stack).map_err(|finding| vec![finding]) } else { Err(findings) }
}
