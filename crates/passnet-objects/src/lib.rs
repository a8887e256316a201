//! Rules for the object code of native kernels.
//!
//! [`judge`] reads a relocatable object as a compiler has written it and either says what a kernel must not have
//! ([`Finding`]), or gives an [`Image`]: bytes of code and constants with the few addresses that are still open. There is
//! no other way to make an image, so code that loads only images loads only what was judged. Nothing is linked: a linker
//! would add code and data that nobody has judged.
//!
//! | rule | refuses |
//! |---|---|
//! | [`ObjectRule::Format`] | what is not an x86-64 object |
//! | [`ObjectRule::Sections`] | writable, thread-local and initialiser sections, unwind tables |
//! | [`ObjectRule::Symbols`] | functions of libraries outside a list; aliases, ifuncs, data among code |
//! | [`ObjectRule::Relocations`] | stored addresses, GOT entries |
//! | [`ObjectRule::Instructions`] | clocks, system calls, indirect branches, code that does not decode |
//! | [`ObjectRule::Data`] | writes to constants, absolute addresses, addresses of functions |
//! | [`ObjectRule::Stack`] | stack pointers from elsewhere, frames above 256 KiB |
//!
//! [`source`] has the rules for the preprocessed text, about what compiles to nothing: `asm`, attributes, pragmas. [`ptx`] has
//! those for kernels of CUDA devices.
//!
//! The crate is pure: no files, no processes.

mod code;
pub mod compile;
mod elf;
mod finding;
mod image;
mod imports;
pub mod ptx;
mod rules;
pub mod source;

pub use self::{
    finding::{Finding, ObjectRule},
    image::{CallTarget, Fixup, Image, Import, StackUse},
    imports::RuntimeLibrary,
};

use self::{code::Code, elf::Object};

/// Most findings that are kept.
const MAX_FINDINGS: usize = 50;

/// Judges a relocatable object.
///
/// # Errors
///
/// Returns what is wrong with it, at most 50 findings; never an empty list.
pub fn judge(bytes: &[u8]) -> Result<Image, Vec<Finding>> {
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
