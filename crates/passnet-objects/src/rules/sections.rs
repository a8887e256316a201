//! Objects have only code and constants. Other parts of a program outlive a call, or run outside of a call.

use object::elf;

use crate::{
    elf::{ElfSection, Object, SectionRole, SymbolLocation},
    finding::{ObjectFinding, ObjectRule, readable},
};

/// Largest number of variables that a message names.
const SHOWN: usize = 4;

pub(crate) fn check(object: &Object<'_>) -> Vec<ObjectFinding> {
    let others = object.with_role(SectionRole::Other);
    others.map(|(index, section)| ObjectFinding::new(ObjectRule::Sections, message(object, index, section))).collect()
}

fn message(object: &Object<'_>, index: usize, section: &ElfSection<'_>) -> String {
    let name = section.name;
    let within = object
        .symbols
        .iter()
        .filter(|symbol| symbol.place == SymbolLocation::Section(index) && !symbol.name.is_empty());
    let variables: Vec<_> = within.take(SHOWN).map(|symbol| format!("`{}`", readable(symbol.name))).collect();
    let subject = if variables.is_empty() { format!("section `{name}`") } else { variables.join(", ") };
    let has = |flag: u32| section.flags & u64::from(flag) != 0;
    // This check comes before that of the flags: these sections are also writable, but the advice for variables would not help.
    if name.ends_with("_array")
        || name.starts_with(".init_array")
        || name.starts_with(".fini_array")
        || name.starts_with(".ctors")
        || name.starts_with(".dtors")
        || matches!(name, ".init" | ".fini")
    {
        return format!(
            "section `{name}` runs code when the kernel is loaded or unloaded; a kernel runs when it is called. Make \
             initialisers `constexpr`, and leave out `__attribute__((constructor))`"
        );
    }
    if has(elf::SHF_TLS) {
        return format!("{subject} is thread-local (`{name}`) and outlives the call; keep values in locals");
    }
    if name.starts_with(".eh_frame") || name.starts_with(".gcc_except_table") {
        return format!("section `{name}` is for exceptions, which kernels are compiled without; remove the flag");
    }
    // These sections are also writable, until the loader has filled in their addresses.
    if name.starts_with(".data.rel.ro") {
        return format!(
            "{subject} holds addresses (`{name}`): a table of pointers, or virtual functions. Use indices, `switch` or \
             template parameters"
        );
    }
    if has(elf::SHF_WRITE) {
        return format!(
            "{subject} can be written and outlives the call (`{name}`, {} bytes); keep values in locals or in a tensor \
             that the replacement function allocates, and make constants `constexpr` without `mutable`",
            section.size
        );
    }
    format!(
        "section `{name}` (type {}, flags {:#x}) is neither code nor constants; leave out `section` attributes",
        section.kind, section.flags
    )
}
