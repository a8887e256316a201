//! Kernels may call only listed functions of libraries, and no name may stand for another symbol.

use std::collections::BTreeMap;

use object::elf;

use crate::{
    elf::{Object, SectionRole, Symbol, SymbolLocation},
    finding::{ObjectFinding, ObjectRule, readable},
    imports::{advice, library_of},
};

pub(crate) fn check(object: &Object<'_>) -> Vec<ObjectFinding> {
    let mut findings: Vec<_> = object
        .symbols
        .iter()
        .filter_map(|symbol| message(object, symbol))
        .map(|message| ObjectFinding::new(ObjectRule::Symbols, message))
        .collect();
    findings.extend(aliases(object));
    findings
}

fn message(object: &Object<'_>, symbol: &Symbol<'_>) -> Option<String> {
    let name = readable(symbol.name);
    let is_code = object.section(symbol.place).is_some_and(|section| section.role == SectionRole::Code);
    match (symbol.place, symbol.kind, symbol.binding) {
        // The resolver of an ifunc would run when the kernel is loaded, outside of any measured call.
        (_, elf::STT_GNU_IFUNC, _) => {
            Some(format!("`{name}` is chosen when the kernel is loaded (ifunc); define one function"))
        }
        (SymbolLocation::Common, ..) => {
            Some(format!("`{name}` is a variable that outlives the call; keep values in locals"))
        }
        (_, elf::STT_TLS, _) => Some(format!("`{name}` is thread-local and outlives the call; keep values in locals")),
        // A weak symbol without a definition is the address 0, which a kernel could test for.
        (SymbolLocation::Undefined, _, elf::STB_WEAK) => {
            Some(format!("`{name}` is declared weak; call functions that the kernel defines"))
        }
        // The first entry of every symbol table is empty.
        (SymbolLocation::Undefined, ..) if symbol.name.is_empty() => None,
        (SymbolLocation::Undefined, ..) => {
            let is_known = library_of(symbol.name).is_some();
            (!is_known).then(|| format!("`{name}` is not defined in the kernel: {}", advice(symbol.name)))
        }
        (_, _, elf::STB_GNU_UNIQUE) => {
            Some(format!("`{name}` is one variable for the whole process; keep values in locals"))
        }
        (_, elf::STT_OBJECT, _) if is_code => {
            Some(format!("`{name}` is data among code; leave out `section` attributes"))
        }
        _ => None,
    }
}

/// Finds functions with a second name.
fn aliases(object: &Object<'_>) -> Vec<ObjectFinding> {
    let mut known = BTreeMap::new();
    let mut findings = Vec::new();
    for symbol in object.symbols.iter().filter(|symbol| symbol.is_function()) {
        let SymbolLocation::Section(section) = symbol.place else { continue };
        if let Some(first) = known.insert((section, symbol.value), symbol.name)
            && !are_clones(first, symbol.name)
        {
            let (first, second) = (readable(first), readable(symbol.name));
            let message = format!("`{first}` and `{second}` are one function; leave out `alias` attributes");
            findings.push(ObjectFinding::new(ObjectRule::Symbols, message));
        }
    }
    findings
}

/// Returns whether two names are those of the complete and the base constructor (or destructor) of a class. Compilers give both names to
/// one function.
fn are_clones(first: &str, second: &str) -> bool {
    let differing: Vec<_> = first.bytes().zip(second.bytes()).filter(|(a, b)| a != b).collect();
    first.len() == second.len() && first.contains(['C', 'D']) && matches!(differing[..], [(b'0'..=b'2', b'0'..=b'2')])
}
