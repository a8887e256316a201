//! ELF relocatable objects as plain tables.

use object::{
    LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget, SectionFlags,
    SymbolFlags, SymbolSection, elf, read::elf::ElfFile64,
};

use crate::finding::{ObjectFinding, ObjectRule};

/// Largest alignment of a section: a page.
const MAX_ALIGNMENT: u64 = 4096;

/// Role of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionRole {
    Code,
    Constants,
    /// Not part of the program: symbols, comments, notes.
    Unused,
    /// Part of the program, but neither code nor constants.
    Other,
}

#[derive(Debug)]
pub(crate) struct ElfSection<'d> {
    pub(crate) name: &'d str,
    pub(crate) role: SectionRole,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    /// Bytes of the section; empty where the role is neither code nor constants.
    pub(crate) data: &'d [u8],
    /// Relocations in order of their offsets.
    pub(crate) relocations: Vec<Relocation>,
}

/// An address that a loader has to fill in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub(crate) offset: u64,
    pub(crate) kind: u32,
    /// Index of the symbol; `None` where the object has no symbol with this index.
    pub(crate) symbol: Option<usize>,
    pub(crate) addend: i64,
}

/// Place of a symbol's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolLocation {
    Undefined,
    /// Index of a section.
    Section(usize),
    Common,
    /// No section: an absolute value, or the name of a file.
    None,
}

#[derive(Debug)]
pub(crate) struct Symbol<'d> {
    pub(crate) name: &'d str,
    pub(crate) place: SymbolLocation,
    pub(crate) value: u64,
    pub(crate) kind: u8,
    pub(crate) binding: u8,
}

impl Symbol<'_> {
    pub(crate) fn is_function(&self) -> bool {
        self.kind == elf::STT_FUNC
    }
}

/// An object file for x86-64.
#[derive(Debug)]
pub(crate) struct Object<'d> {
    /// Sections by their index in the file. Symbols are also stored by their index in the file.
    pub(crate) sections: Vec<ElfSection<'d>>,
    pub(crate) symbols: Vec<Symbol<'d>>,
}

impl<'d> Object<'d> {
    pub(crate) fn parse(bytes: &'d [u8]) -> Result<Self, ObjectFinding> {
        let malformed = |error: object::Error| {
            ObjectFinding::new(ObjectRule::Format, format!("the object cannot be read: {error}"))
        };
        let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(malformed)?;
        let header = file.elf_header();
        let machine = header.e_machine.get(LittleEndian);
        if machine != elf::EM_X86_64 {
            let name = if machine == elf::EM_AARCH64 { "aarch64".to_owned() } else { format!("machine {machine}") };
            let message = format!("the object is for {name}; native kernels can be judged for x86-64 only");
            return Err(ObjectFinding::new(ObjectRule::Format, message));
        }
        if header.e_type.get(LittleEndian) != elf::ET_REL {
            return Err(ObjectFinding::new(
                ObjectRule::Format,
                "the file is linked; a kernel is judged as a relocatable object",
            ));
        }
        let (mut sections, mut symbols) = (Vec::new(), Vec::new());
        for section in file.sections() {
            let index = section.index().0;
            while sections.len() < index {
                sections.push(unused());
            }
            sections.push(read_section(&section).map_err(malformed)?);
        }
        for symbol in file.symbols() {
            while symbols.len() < symbol.index().0 {
                symbols.push(Symbol { name: "", place: SymbolLocation::None, value: 0, kind: 0, binding: 0 });
            }
            let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
            let place = match symbol.section() {
                SymbolSection::Undefined => SymbolLocation::Undefined,
                SymbolSection::Common => SymbolLocation::Common,
                SymbolSection::Section(index) => SymbolLocation::Section(index.0),
                _ => SymbolLocation::None,
            };
            symbols.push(Symbol {
                name: symbol.name().map_err(malformed)?,
                place,
                value: symbol.address(),
                kind: st_info & 0xf,
                binding: st_info >> 4,
            });
        }
        Ok(Self { sections, symbols })
    }

    pub(crate) fn section(&self, place: SymbolLocation) -> Option<&ElfSection<'d>> {
        match place {
            SymbolLocation::Section(index) => self.sections.get(index),
            _ => None,
        }
    }

    /// Returns the sections of a role, with their indices.
    pub(crate) fn with_role(&self, role: SectionRole) -> impl Iterator<Item = (usize, &ElfSection<'d>)> {
        self.sections.iter().enumerate().filter(move |(_, section)| section.role == role)
    }

    /// Returns the function that an address in a code section belongs to.
    pub(crate) fn function_at(&self, section: usize, address: u64) -> &'d str {
        let functions = self.symbols.iter().filter(|symbol| {
            symbol.is_function() && symbol.place == SymbolLocation::Section(section) && symbol.value <= address
        });
        functions.max_by_key(|symbol| symbol.value).map_or("?", |symbol| symbol.name)
    }

    /// Returns the symbol that a relocation names.
    pub(crate) fn symbol_of(&self, relocation: &Relocation) -> Option<&Symbol<'d>> {
        self.symbols.get(relocation.symbol?)
    }
}

fn unused<'d>() -> ElfSection<'d> {
    let (kind, flags, size) = (elf::SHT_NULL, 0, 0);
    ElfSection {
        name: "",
        role: SectionRole::Unused,
        kind,
        flags,
        size,
        alignment: 1,
        data: &[],
        relocations: Vec::new(),
    }
}

fn read_section<'d>(
    section: &object::read::elf::ElfSection64<'d, '_, LittleEndian>,
) -> Result<ElfSection<'d>, object::Error> {
    let header = section.elf_section_header();
    let SectionFlags::Elf { sh_flags: flags } = section.flags() else { return Ok(unused()) };
    let (kind, name, size) = (header.sh_type.get(LittleEndian), section.name()?, section.size());
    let mut relocations: Vec<_> = section
        .relocations()
        .map(|(offset, relocation)| Relocation {
            offset,
            kind: match relocation.flags() {
                RelocationFlags::Elf { r_type } => r_type,
                _ => u32::MAX,
            },
            symbol: match relocation.target() {
                RelocationTarget::Symbol(index) => Some(index.0),
                _ => None,
            },
            // A relocation without a separate addend has the addend in the code. The rules refuse the value that stands for such
            // relocations.
            addend: if relocation.has_implicit_addend() { i64::MIN } else { relocation.addend() },
        })
        .collect();
    relocations.sort_by_key(|relocation| relocation.offset);
    let alignment = header.sh_addralign.get(LittleEndian).max(1);
    let role = role(name, kind, flags, size, alignment, relocations.is_empty());
    let data = if matches!(role, SectionRole::Code | SectionRole::Constants) { section.data()? } else { &[] };
    Ok(ElfSection { name, role, kind, flags, size, alignment, data, relocations })
}

fn role(name: &str, kind: u32, flags: u64, size: u64, alignment: u64, is_final: bool) -> SectionRole {
    const DETAILS: u64 = (elf::SHF_MERGE | elf::SHF_STRINGS | elf::SHF_GROUP) as u64;
    let is_unused = flags & u64::from(elf::SHF_ALLOC) == 0 || kind == elf::SHT_NOTE || size == 0 && is_final;
    if is_unused {
        return SectionRole::Unused;
    }
    let is_plain = kind == elf::SHT_PROGBITS && alignment.is_power_of_two() && alignment <= MAX_ALIGNMENT;
    match (flags & !DETAILS) as u32 {
        _ if !is_plain || flags > u64::from(u32::MAX) => SectionRole::Other,
        access if access == elf::SHF_ALLOC | elf::SHF_EXECINSTR && name.starts_with(".text") => SectionRole::Code,
        access if access == elf::SHF_ALLOC && name.starts_with(".rodata") => SectionRole::Constants,
        _ => SectionRole::Other,
    }
}
