//! Memory operands: constants to read, functions to call, and addresses in registers.

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};

use crate::{
    code::{Code, Operation, Referent, referent, shown},
    elf::{Object, SectionRole, SymbolLocation},
    finding::{ObjectFinding, ObjectRule, readable},
    rules::escape::is_only_argument,
};

/// Largest displacement, in bytes, of an operand with an index and no base. A larger one could be an absolute address.
const MAX_DISPLACEMENT: u64 = 1 << 20;

pub(crate) fn check(object: &Object<'_>, code: &Code) -> Vec<ObjectFinding> {
    let mut factory = InstructionInfoFactory::new();
    let mut findings = Vec::new();
    for (section, operations) in &code.sections {
        for (place, operation) in operations.iter().enumerate() {
            let message = if operation.is_direct() {
                branch(object, code, *section, operation)
            } else {
                memory(object, *section, (operations, place), &mut factory)
            };
            let message = message.map(|message| format!("{}: {message}", shown(object, *section, operation)));
            findings.extend(message.map(|message| ObjectFinding::new(ObjectRule::Data, message)));
        }
    }
    findings
}

/// Checks that a direct branch leads to the beginning of an instruction, and a call to the first instruction of a function.
fn branch(object: &Object<'_>, code: &Code, section: usize, operation: &Operation) -> Option<String> {
    let (section, offset) = match referent(object, section, operation) {
        // The rule for symbols checks which functions of libraries are called.
        Some(Referent::External(_)) => return None,
        Some(Referent::Here { section, offset }) => (section, u64::try_from(offset).unwrap_or(u64::MAX)),
        Some(Referent::Unknown) | None => {
            return Some("it branches to an address that belongs to no function".to_owned());
        }
    };
    if !code.is_start(section, offset) {
        return Some(
            "it branches into the middle of an instruction, or to data; write the kernel without `asm`".to_owned(),
        );
    }
    // The rule for the stack adds up whole functions, so a call has to enter one at its beginning.
    let is_call = operation.instruction.flow_control() == FlowControl::Call;
    let is_function = || {
        let mut functions = object.symbols.iter().filter(|symbol| symbol.is_function());
        functions.any(|symbol| symbol.place == SymbolLocation::Section(section) && symbol.value == offset)
    };
    (is_call && !is_function()).then(|| "it calls an address that is not the beginning of a function".to_owned())
}

/// Returns the memory operand of the instruction at a place.
fn memory(
    object: &Object<'_>,
    section: usize,
    (operations, place): (&[Operation], usize),
    factory: &mut InstructionInfoFactory,
) -> Option<String> {
    let operation = operations.get(place)?;
    let instruction = &operation.instruction;
    // Long `nop`s have a memory operand that is never accessed; compilers align loops with them.
    if instruction.mnemonic() == Mnemonic::Nop {
        return None;
    }
    if instruction.is_ip_rel_memory_operand() {
        return match referent(object, section, operation) {
            Some(Referent::External(symbol)) => Some(format!(
                "it takes the address of `{}`; functions can be called, nothing else",
                readable(symbol.name)
            )),
            Some(Referent::Unknown) | None => Some("it addresses neither a constant nor an argument".to_owned()),
            Some(Referent::Here { section: target, offset }) => {
                within(object, section, (target, offset), (operations, place), factory)
            }
        };
    }
    let uses_memory = factory.info(instruction).used_memory().iter().any(|used| used.access() != OpAccess::NoMemAccess);
    (uses_memory && is_absolute(instruction)).then(|| {
        format!(
            "it accesses the fixed address {:#x}; a kernel accesses its arguments",
            instruction.memory_displacement64()
        )
    })
}

/// Checks an operand that addresses the object itself: a constant that is read, or a function that is passed to a library function.
fn within(
    object: &Object<'_>,
    section: usize,
    (referred, offset): (usize, i64),
    (operations, place): (&[Operation], usize),
    factory: &mut InstructionInfoFactory,
) -> Option<String> {
    let target = object.sections.get(referred)?;
    let instruction = &operations.get(place)?.instruction;
    let is_address = instruction.mnemonic() == Mnemonic::Lea;
    if target.role == SectionRole::Code {
        let is_function = object.symbols.iter().any(|symbol| {
            symbol.is_function()
                && symbol.place == SymbolLocation::Section(referred)
                && i64::try_from(symbol.value) == Ok(offset)
        });
        let is_given = is_address && is_function && is_only_argument(object, section, (operations, place), factory);
        return (!is_given).then(|| {
            "it takes the address of code; call functions by name, and use template parameters instead of function \
             pointers"
                .to_owned()
        });
    }
    if target.role != SectionRole::Constants {
        return Some(format!("it addresses `{}`, which is neither code nor constants", target.name));
    }
    let writes = factory.info(instruction).used_memory().iter().any(|used| {
        !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess | OpAccess::None)
    });
    if writes {
        return Some("it writes to a constant; keep values in locals".to_owned());
    }
    // An address may point right behind the constants, because loops compare with the end of an array.
    let size = if is_address { 0 } else { instruction.memory_size().size() };
    let end = usize::try_from(offset).ok().and_then(|start| start.checked_add(size));
    let is_inside = end.is_some_and(|end| end <= target.data.len());
    (!is_inside).then(|| format!("it reads outside of the constants in `{}`; check the index", target.name))
}

/// Bytes at the beginning of the address space that systems never map, so an access there always ends the process.
const NEVER_MAPPED: u64 = 4096;

/// Returns whether no part of the address of a memory operand can come from an argument. An access through a null pointer does not count:
/// compilers write it on paths that are not taken, such as the last of no elements of a vector.
fn is_absolute(instruction: &Instruction) -> bool {
    let has_operand = (0..instruction.op_count()).any(|index| instruction.op_kind(index) == iced_x86::OpKind::Memory);
    let displacement = instruction.memory_displacement64().cast_signed().unsigned_abs();
    let limit = if instruction.memory_index() == Register::None { NEVER_MAPPED - 1 } else { MAX_DISPLACEMENT };
    has_operand && instruction.memory_base() == Register::None && displacement > limit
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    #[test]
    fn an_access_through_a_null_pointer_is_no_fixed_address() {
        // `vmovss xmm0, [ADDRESS]`, and `vmovss xmm0, [rax * 4 + ADDRESS]`.
        let plain = |address: u32| [&[0xc5, 0xfa, 0x10, 0x04, 0x25], &address.to_le_bytes()[..]].concat();
        let indexed = |address: u32| [&[0xc5, 0xfa, 0x10, 0x04, 0x85], &address.to_le_bytes()[..]].concat();
        let judged = |code: Vec<u8>| is_absolute(&Decoder::new(64, &code, DecoderOptions::NONE).decode());
        for address in [0, 8, 4095] {
            assert!(!judged(plain(address)), "{address:#x}");
        }
        for address in [4096, 0x1_0000, 0x7fff_0000] {
            assert!(judged(plain(address)), "{address:#x}");
        }
        assert!(!judged(indexed(0x1000)));
        assert!(judged(indexed(0x7fff_0000)));
    }
}
