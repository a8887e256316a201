//! The stack pointer may move only as compilers move it, and no frame may be larger than 256 KiB.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use crate::{
    code::{Code, Operation, Referent, referent, shown},
    elf::{Object, SymbolLocation},
    finding::{ObjectFinding, ObjectRule, readable},
    image::StackUse,
};

/// Largest frame of a function, in bytes.
const MAX_FRAME: u64 = 256 << 10;
/// Bytes below the stack pointer that a function may write without moving the stack pointer.
const RED_ZONE: u64 = 128;

/// A function, by section and address.
type FunctionPlace = (usize, u64);

/// Use of the stack by a function.
#[derive(Debug, Default)]
struct StackFrame {
    bytes: u64,
    is_dynamic: bool,
    /// True if the function aligns the stack pointer for wide vectors. A register then holds the old stack pointer.
    is_aligned: bool,
    callees: BTreeSet<FunctionPlace>,
    /// Registers that the stack pointer is copied to. `restores` has the registers that it is set from, each with the location of the
    /// instruction.
    saves: BTreeSet<Register>,
    restores: Vec<(Register, String)>,
}

/// Refuses unusual changes of the stack pointer and large frames. Returns how much stack the kernels of an object use.
pub(crate) fn check(object: &Object<'_>, code: &Code, findings: &mut Vec<ObjectFinding>) -> StackUse {
    let mut frames = frames(object, code, findings);
    for ((section, address), frame) in &mut frames {
        // Only functions with a dynamic or aligned stack need a copy of the old stack pointer, and only such a copy may be restored.
        let is_moved = frame.is_dynamic || frame.is_aligned;
        frame.restores.retain(|(register, _)| !is_moved || !frame.saves.contains(register));
        findings.extend(frame.restores.iter().map(|(_, place)| strange(place)));
        if frame.bytes > MAX_FRAME {
            let function = readable(object.function_at(*section, *address));
            let message = format!(
                "`{function}` has {} bytes of locals, more than {MAX_FRAME}; use a `std::vector`, or a tensor that the \
                 replacement function allocates",
                frame.bytes
            );
            findings.push(ObjectFinding::new(ObjectRule::Stack, message));
        }
    }
    depth(&frames)
}

fn frames(object: &Object<'_>, code: &Code, findings: &mut Vec<ObjectFinding>) -> BTreeMap<FunctionPlace, StackFrame> {
    let functions = object.symbols.iter().filter(|symbol| symbol.is_function());
    let starts: BTreeSet<FunctionPlace> = functions
        .filter_map(|symbol| match symbol.place {
            SymbolLocation::Section(section) => Some((section, symbol.value)),
            _ => None,
        })
        .collect();
    let function_of = |section: usize, address: u64| {
        starts.range((section, 0)..=(section, address)).next_back().copied().unwrap_or((section, 0))
    };
    let mut factory = InstructionInfoFactory::new();
    let mut frames: BTreeMap<FunctionPlace, StackFrame> = BTreeMap::new();
    for (section, operation) in code.operations() {
        let here = function_of(section, operation.address());
        let frame = frames.entry(here).or_default();
        frame.saves.extend(saved(&operation.instruction));
        frame.is_aligned |= aligns(&operation.instruction);
        match movement(&operation.instruction, &mut factory) {
            StackMovement::None => {}
            StackMovement::Down(bytes) => frame.bytes = frame.bytes.saturating_add(bytes),
            StackMovement::Dynamic => frame.is_dynamic = true,
            StackMovement::Restored(register) => frame.restores.push((register, shown(object, section, operation))),
            StackMovement::Strange => findings.push(strange(&shown(object, section, operation))),
        }
        if let Some(Referent::Here { section, offset }) = referent(object, section, operation)
            && let Ok(offset) = u64::try_from(offset)
        {
            let callee = function_of(section, offset);
            // A jump within a function is a loop. A call of itself is recursion, whose depth is unknown.
            let is_own = callee == here && !(operation.is_direct() && is_call(operation));
            let is_code = operation.is_direct() || starts.contains(&(section, offset));
            frame.callees.extend((is_code && !is_own).then_some(callee));
        }
    }
    frames
}

fn is_call(operation: &Operation) -> bool {
    operation.instruction.flow_control() == FlowControl::Call
}

/// Returns the largest sum of frames along any chain of calls.
fn depth(frames: &BTreeMap<FunctionPlace, StackFrame>) -> StackUse {
    let mut known: BTreeMap<FunctionPlace, Option<u64>> = BTreeMap::new();
    // Callees are computed first. This uses a separate stack instead of recursion, because an object can be written to nest calls deeply.
    for root in frames.keys() {
        let mut open = vec![*root];
        while let Some(function) = open.last().copied() {
            let frame = &frames[&function];
            match known.get(&function) {
                None => {
                    // A function counts as unbounded until its sum is known. A recursive function therefore stays unbounded.
                    known.insert(function, None);
                    open.extend(
                        frame
                            .callees
                            .iter()
                            .filter(|callee| frames.contains_key(callee) && !known.contains_key(callee)),
                    );
                }
                Some(_) => {
                    open.pop();
                    let below = frame.callees.iter().filter(|callee| frames.contains_key(callee));
                    let deepest = below
                        .map(|callee| known.get(callee).copied().flatten())
                        .try_fold(0, |most: u64, depth| depth.map(|depth| most.max(depth)));
                    let depth =
                        deepest.filter(|_| !frame.is_dynamic).map(|deepest| deepest.saturating_add(frame.bytes + 8));
                    known.insert(function, depth);
                }
            }
        }
    }
    let deepest = known.values().try_fold(0, |most: u64, depth| depth.map(|depth| most.max(depth)));
    deepest.map_or(StackUse::Unbounded, |bytes| StackUse::Bytes(bytes.saturating_add(RED_ZONE)))
}

/// Effect of an instruction on the stack pointer.
enum StackMovement {
    None,
    Down(u64),
    Dynamic,
    /// The stack pointer is set from a register. This is allowed at the end of a scope with an array of dynamic size, and at the end of a
    /// function that aligns its stack.
    Restored(Register),
    Strange,
}

/// Returns whether an instruction aligns the stack pointer.
fn aligns(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::And
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == Register::RSP
}

/// Returns the register that an instruction copies the stack pointer to, or an address on the stack.
fn saved(instruction: &Instruction) -> Option<Register> {
    if instruction.mnemonic() == Mnemonic::Lea
        && instruction.memory_base() == Register::RSP
        && instruction.memory_index() == Register::None
    {
        return Some(instruction.op0_register());
    }
    // Compilers that run out of general registers keep a stack pointer in a vector register.
    let is_copy = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Movq | Mnemonic::Vmovq)
        && instruction.op1_kind() == OpKind::Register
        && instruction.op1_register() == Register::RSP;
    (is_copy && instruction.op0_kind() == OpKind::Register).then(|| instruction.op0_register())
}

fn strange(place: &str) -> ObjectFinding {
    let message = format!("{place}: the stack pointer is set as no compiler sets it; write the kernel without `asm`");
    ObjectFinding::new(ObjectRule::Stack, message)
}

fn movement(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> StackMovement {
    let writes = factory.info(instruction).used_registers().iter().any(|used| {
        used.register().full_register() == Register::RSP
            && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::None | OpAccess::NoMemAccess)
    });
    if !writes {
        return StackMovement::None;
    }
    let target = instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::RSP;
    match instruction.mnemonic() {
        Mnemonic::Push => StackMovement::Down(8),
        // `pop rsp` sets it to a value from memory.
        Mnemonic::Pop if target => StackMovement::Strange,
        // The return address that a call pushes is counted in the frame of the callee.
        Mnemonic::Pop | Mnemonic::Leave | Mnemonic::Ret | Mnemonic::Call => StackMovement::None,
        _ if !target => StackMovement::Strange,
        Mnemonic::Sub | Mnemonic::Add | Mnemonic::And => arithmetic(instruction),
        Mnemonic::Lea => {
            let (base, index) = (instruction.memory_base(), instruction.memory_index());
            let moved = instruction.memory_displacement64().cast_signed();
            match base {
                _ if index != Register::None => StackMovement::Strange,
                Register::RSP => StackMovement::Down(moved.min(0).unsigned_abs()),
                Register::RBP | Register::R10 => StackMovement::None,
                // The end of a function that aligns its stack and uses RBP and R10 for other values.
                register => StackMovement::Restored(register),
            }
        }
        // The end of a scope with an array of dynamic size.
        Mnemonic::Mov => match instruction.op1_kind() {
            OpKind::Memory
                if instruction.memory_base() == Register::RBP && instruction.memory_index() == Register::None =>
            {
                StackMovement::Dynamic
            }
            OpKind::Register if instruction.op1_register() == Register::RBP => StackMovement::None,
            OpKind::Register => StackMovement::Restored(instruction.op1_register()),
            _ => StackMovement::Strange,
        },
        Mnemonic::Movq | Mnemonic::Vmovq if instruction.op1_kind() == OpKind::Register => {
            StackMovement::Restored(instruction.op1_register())
        }
        _ => StackMovement::Strange,
    }
}

fn arithmetic(instruction: &Instruction) -> StackMovement {
    let immediate = match instruction.op1_kind() {
        // An array of dynamic size, whose number of bytes is in a register.
        OpKind::Register if instruction.mnemonic() == Mnemonic::Sub => return StackMovement::Dynamic,
        OpKind::Immediate8to64 => instruction.immediate8to64(),
        OpKind::Immediate32to64 => instruction.immediate32to64(),
        _ => return StackMovement::Strange,
    };
    match instruction.mnemonic() {
        Mnemonic::Sub => StackMovement::Down(immediate.max(0).unsigned_abs()),
        Mnemonic::Add => StackMovement::Down(immediate.min(0).unsigned_abs()),
        // Alignment moves the stack pointer down by at most this number of bytes.
        _ if immediate < 0 => StackMovement::Down(immediate.unsigned_abs()),
        _ => StackMovement::Strange,
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    #[test]
    fn a_stack_pointer_may_be_kept_in_a_vector_register() {
        let decoded = |bytes: &[u8]| Decoder::new(64, bytes, DecoderOptions::NONE).decode();
        // vmovq %rsp,%xmm0; vmovq %xmm0,%rsp
        let (save, restore) = (decoded(&[0xC4, 0xE1, 0xF9, 0x6E, 0xC4]), decoded(&[0xC4, 0xE1, 0xF9, 0x7E, 0xC4]));
        assert_eq!(saved(&save), Some(Register::XMM0));
        let moved = movement(&restore, &mut InstructionInfoFactory::new());
        assert!(matches!(moved, StackMovement::Restored(Register::XMM0)));
    }
}
