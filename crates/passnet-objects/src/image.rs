//! Objects that keep all rules, laid out for loading.

use crate::{
    elf::{Object, SectionRole, SymbolLocation},
    finding::{ObjectFinding, ObjectRule},
    imports::{RuntimeLibrary, library_of},
};

/// Prefix of the functions through which a kernel is called.
const ENTRY: &str = "passnet_call_";

/// Code and constants of an object that keeps all rules, with the addresses that a loader fills in.
#[derive(Debug)]
pub struct Image {
    code: Vec<u8>,
    constants: Vec<u8>,
    fixups: Vec<Fixup>,
    imports: Vec<Import>,
    entries: Vec<(String, usize)>,
    stack: StackUse,
}

/// Four bytes of code that get an address: that of the target, plus the addend, minus that of the bytes themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup {
    /// Offset in the code.
    pub offset: usize,
    /// Target of the address.
    pub target: CallTarget,
    /// Number of bytes to add.
    pub addend: i64,
}

/// Target of an address in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTarget {
    /// Offset in the code.
    Code(usize),
    /// Offset in the constants.
    Constants(usize),
    /// Index of an import.
    Import(usize),
}

/// A function of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The symbol.
    pub name: String,
    /// Library that defines it.
    pub library: RuntimeLibrary,
}

/// Stack that the functions of an image use in one call, without the stack of library functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackUse {
    /// At most this number of bytes.
    Bytes(u64),
    /// Unknown: recursion, or arrays of dynamic size.
    Unbounded,
}

impl Image {
    pub(crate) fn new(object: &Object<'_>, stack: StackUse) -> Result<Self, ObjectFinding> {
        let mut image = Self {
            code: Vec::new(),
            constants: Vec::new(),
            fixups: Vec::new(),
            imports: Vec::new(),
            entries: Vec::new(),
            stack,
        };
        let mut places = vec![None; object.sections.len()];
        for (index, section) in object.sections.iter().enumerate() {
            let part = match section.role {
                SectionRole::Code => &mut image.code,
                SectionRole::Constants => &mut image.constants,
                SectionRole::Unused | SectionRole::Other => continue,
            };
            // Gaps between code sections are filled with `int3`, which traps.
            let filler = if section.role == SectionRole::Code { 0xcc } else { 0 };
            part.resize(part.len().next_multiple_of(section.alignment as usize), filler);
            let offset = part.len();
            places[index] = Some(if section.role == SectionRole::Code {
                CallTarget::Code(offset)
            } else {
                CallTarget::Constants(offset)
            });
            part.extend_from_slice(section.data);
        }
        for (index, section) in object.with_role(SectionRole::Code) {
            let Some(CallTarget::Code(start)) = places[index] else { continue };
            for relocation in &section.relocations {
                // The rules have checked all of this. If a rule and this function ever disagree, an error is better than a panic.
                let symbol = object.symbol_of(relocation).ok_or_else(incomplete)?;
                let target = match symbol.place {
                    SymbolLocation::Undefined => CallTarget::Import(image.import(symbol.name).ok_or_else(incomplete)?),
                    SymbolLocation::Section(index) => {
                        match places.get(index).copied().flatten().ok_or_else(incomplete)? {
                            CallTarget::Code(offset) => CallTarget::Code(offset + symbol.value as usize),
                            CallTarget::Constants(offset) => CallTarget::Constants(offset + symbol.value as usize),
                            CallTarget::Import(_) => return Err(incomplete()),
                        }
                    }
                    SymbolLocation::Common | SymbolLocation::None => return Err(incomplete()),
                };
                let offset = start + relocation.offset as usize;
                image.fixups.push(Fixup { offset, target, addend: relocation.addend });
            }
        }
        for symbol in object.symbols.iter().filter(|symbol| symbol.is_function()) {
            if let (Some(name), SymbolLocation::Section(index)) = (symbol.name.strip_prefix(ENTRY), symbol.place)
                && let Some(CallTarget::Code(start)) = places.get(index).copied().flatten()
            {
                image.entries.push((name.to_owned(), start + symbol.value as usize));
            }
        }
        Ok(image)
    }

    fn import(&mut self, name: &str) -> Option<usize> {
        let known = self.imports.iter().position(|import| import.name == name);
        known.or_else(|| {
            self.imports.push(Import { name: name.to_owned(), library: library_of(name)? });
            Some(self.imports.len() - 1)
        })
    }

    /// Returns the instructions. Sections begin at multiples of their alignment, which is at most 4096 bytes.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// Returns the read-only data, with the same alignment as the code.
    pub fn constants(&self) -> &[u8] {
        &self.constants
    }

    /// Returns the addresses that a loader has to fill in.
    pub fn fixups(&self) -> &[Fixup] {
        &self.fixups
    }

    /// Returns the functions of libraries that the code calls.
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// Returns the offset in the code of the function through which the kernel `name` is called; `None` if there is no such kernel.
    pub fn entry(&self, name: &str) -> Option<usize> {
        self.entries.iter().find(|(known, _)| known == name).map(|(_, offset)| *offset)
    }

    /// Returns the stack that the functions use.
    pub fn stack(&self) -> StackUse {
        self.stack
    }
}

fn incomplete() -> ObjectFinding {
    ObjectFinding::new(ObjectRule::Format, "a relocation names a symbol that the object does not have")
}
