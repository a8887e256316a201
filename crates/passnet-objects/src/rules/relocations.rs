//! Relocations must belong to operands of instructions: targets of direct calls, and constants that are read.

use object::elf;

use crate::{
    code::Code,
    elf::{Object, Relocation, SectionRole},
    finding::{ObjectFinding, ObjectRule, readable},
};

pub(crate) fn check(object: &Object<'_>, code: &Code) -> Vec<ObjectFinding> {
    let mut findings = Vec::new();
    for (index, section) in object.sections.iter().enumerate() {
        let placed = code.placed.get(&index).map_or(&[][..], Vec::as_slice);
        for relocation in &section.relocations {
            let message = match section.role {
                SectionRole::Unused => None,
                SectionRole::Code => of_code(object, index, relocation, placed),
                // A constant with an address is a pointer. Code that follows the pointer could call any function, and the other rules
                // would not see this.
                SectionRole::Constants | SectionRole::Other => Some(format!(
                    "`{}` holds the address of {}; use indices, `switch` or template parameters instead of pointers",
                    section.name,
                    subject(object, relocation)
                )),
            };
            findings.extend(message.map(|message| ObjectFinding::new(ObjectRule::Relocations, message)));
        }
    }
    findings
}

fn of_code(object: &Object<'_>, section: usize, relocation: &Relocation, placed: &[u64]) -> Option<String> {
    let subject = subject(object, relocation);
    let function = readable(object.function_at(section, relocation.offset));
    // The two kinds that g++ writes for direct calls and for constants. The loader fills in no others.
    if !matches!(relocation.kind, elf::R_X86_64_PC32 | elf::R_X86_64_PLT32) {
        return Some(format!(
            "`{function}` takes the address of {subject} at {:#x} (relocation {}); call functions by name, and define \
             what the kernel uses",
            relocation.offset, relocation.kind
        ));
    }
    // A relocation outside of operands could change instructions after they were checked.
    let is_operand = placed.binary_search(&relocation.offset).is_ok();
    (!is_operand).then(|| {
        format!(
            "`{function}` holds the address of {subject} at {:#x} outside of any operand; write the kernel without `asm`",
            relocation.offset
        )
    })
}

fn subject(object: &Object<'_>, relocation: &Relocation) -> String {
    let named = object.symbol_of(relocation).filter(|symbol| !symbol.name.is_empty());
    named.map_or_else(|| "a part of the kernel".to_owned(), |symbol| format!("`{}`", readable(symbol.name)))
}
