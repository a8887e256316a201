//! Instructions of an object, decoded from the first byte of each section to its last.

use std::collections::BTreeMap;

use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind};

use crate::{
    elf::{Object, Relocation, SectionRole, Symbol, SymbolLocation},
    finding::{ObjectFinding, ObjectRule},
};

/// An instruction with the relocation of its operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) instruction: Instruction,
    pub(crate) relocation: Option<Relocation>,
    /// True if the relocation is of the target of a branch, and not of an address in memory.
    pub(crate) is_branch: bool,
}

impl Operation {
    pub(crate) fn address(&self) -> u64 {
        self.instruction.ip()
    }

    pub(crate) fn mnemonic(&self) -> String {
        format!("{:?}", self.instruction.mnemonic()).to_lowercase()
    }

    /// Returns whether this is a branch or call whose target address is part of the instruction.
    pub(crate) fn is_direct(&self) -> bool {
        self.instruction.op_count() > 0 && is_near(self.instruction.op0_kind())
    }
}

/// The decoded code of an object.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// Instructions of each code section, by index of the section, in order of addresses.
    pub(crate) sections: BTreeMap<usize, Vec<Operation>>,
    /// Offsets of relocations that belong to an operand, by section.
    pub(crate) placed: BTreeMap<usize, Vec<u64>>,
}

/// Target of an operand: a function of a library, or an address in this object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Referent<'o, 'd> {
    /// A function of a library.
    External(&'o Symbol<'d>),
    /// An address in a section of this object.
    Here { section: usize, offset: i64 },
    /// Neither a function of a library nor an address in this object.
    Unknown,
}

impl Code {
    /// Decodes all code sections. Bytes that do not decode are a finding, and the rest of their section is skipped.
    pub(crate) fn decode(object: &Object<'_>, findings: &mut Vec<ObjectFinding>) -> Self {
        let mut code = Self::default();
        for (index, section) in object.with_role(SectionRole::Code) {
            let mut operations = Vec::new();
            let mut placed = Vec::new();
            let mut decoder = Decoder::with_ip(64, section.data, 0, DecoderOptions::NONE);
            let mut relocations = section.relocations.iter().peekable();
            while decoder.can_decode() {
                let instruction = decoder.decode();
                if instruction.is_invalid() {
                    let function = object.function_at(index, instruction.ip());
                    let message = format!(
                        "`{function}` has bytes at {:#x} that are no instruction; write the kernel in C++ without `asm`",
                        instruction.ip()
                    );
                    findings.push(ObjectFinding::new(ObjectRule::Instructions, message));
                    break;
                }
                let offsets = decoder.get_constant_offsets(&instruction);
                let end = instruction.next_ip();
                let mut operation = Operation { instruction, relocation: None, is_branch: false };
                // Relocations are in order of offsets, so each belongs to the first instruction that ends behind it.
                while let Some(relocation) = relocations.next_if(|relocation| relocation.offset < end) {
                    let at = |offset: usize, size: usize| {
                        size == 4
                            && relocation.offset == instruction.ip() + offset as u64
                            && operation.relocation.is_none()
                    };
                    let is_memory = instruction.is_ip_rel_memory_operand()
                        && at(offsets.displacement_offset(), offsets.displacement_size());
                    let is_branch = instruction.op_count() > 0
                        && is_near(instruction.op0_kind())
                        && at(offsets.immediate_offset(), offsets.immediate_size());
                    if is_memory || is_branch {
                        operation.relocation = Some(*relocation);
                        operation.is_branch = is_branch;
                        placed.push(relocation.offset);
                    }
                }
                operations.push(operation);
            }
            code.sections.insert(index, operations);
            code.placed.insert(index, placed);
        }
        code
    }

    /// Returns all instructions with the index of their section.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (usize, &Operation)> {
        self.sections
            .iter()
            .flat_map(|(section, operations)| operations.iter().map(move |operation| (*section, operation)))
    }

    /// Returns whether an instruction begins at an address.
    pub(crate) fn is_start(&self, section: usize, address: u64) -> bool {
        self.sections
            .get(&section)
            .is_some_and(|operations| operations.binary_search_by_key(&address, Operation::address).is_ok())
    }
}

/// Returns the target of the operand of an instruction, once its relocation is filled in.
pub(crate) fn referent<'o, 'd>(
    object: &'o Object<'d>,
    section: usize,
    operation: &Operation,
) -> Option<Referent<'o, 'd>> {
    let instruction = &operation.instruction;
    let Some(relocation) = operation.relocation else {
        // The assembler fills in distances within a section.
        let offset = if operation.is_direct() {
            instruction.near_branch_target()
        } else if instruction.is_ip_rel_memory_operand() {
            instruction.ip_rel_memory_address()
        } else {
            return None;
        };
        return Some(Referent::Here { section, offset: offset.cast_signed() });
    };
    let Some(symbol) = object.symbol_of(&relocation) else { return Some(Referent::Unknown) };
    // A CPU counts distances from the end of the instruction, but a relocation counts from its own offset.
    let rest = operation.instruction.next_ip().wrapping_sub(relocation.offset).cast_signed();
    Some(match symbol.place {
        SymbolLocation::Undefined if relocation.addend.checked_add(rest) == Some(0) => Referent::External(symbol),
        SymbolLocation::Section(section) => {
            let offset = i64::try_from(symbol.value).ok();
            let offset = offset.and_then(|value| value.checked_add(relocation.addend)?.checked_add(rest));
            offset.map_or(Referent::Unknown, |offset| Referent::Here { section, offset })
        }
        _ => Referent::Unknown,
    })
}

fn is_near(kind: OpKind) -> bool {
    kind == OpKind::NearBranch64
}

/// Describes the location of an instruction, for messages: `` `rdtsc` at 0x40 in `k` ``.
pub(crate) fn shown(object: &Object<'_>, section: usize, operation: &Operation) -> String {
    let function = crate::finding::readable(object.function_at(section, operation.address()));
    format!("`{}` at {:#x} in `{function}`", operation.mnemonic(), operation.address())
}
