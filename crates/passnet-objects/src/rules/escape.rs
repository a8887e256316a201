//! Follows the address of a function through registers. The address may be passed to OpenMP and must not be used otherwise.

use std::collections::BTreeSet;

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use crate::{
    code::{Operation, Referent, referent},
    elf::Object,
    imports::takes_function,
};

/// Largest number of instructions that are followed. An instruction counts once for each set of registers that hold the address there.
const MAX_STEPS: usize = 1 << 14;

/// General registers, one bit each.
type Registers = u32;

/// Registers that a called function may change: all but rbx, rsp, rbp and r12 to r15.
const CALLER_SAVED: Registers = 0x0fc7;

fn bit(register: Register) -> Registers {
    let full = register.full_register();
    if register.is_gpr() { 1 << full.number() } else { 0 }
}

/// Returns whether the address that the instruction at `place` puts into a register reaches only the first argument of library
/// functions that call it.
pub(super) fn is_only_argument(
    object: &Object<'_>,
    section: usize,
    (operations, place): (&[Operation], usize),
    factory: &mut InstructionInfoFactory,
) -> bool {
    let Some(first) = operations.get(place) else { return false };
    let mut open = vec![(place + 1, bit(first.instruction.op0_register()))];
    let mut seen = BTreeSet::new();
    while let Some((place, holders)) = open.pop() {
        if holders == 0 || !seen.insert((place, holders)) {
            continue;
        }
        // Beyond the limit the answer is no, because an object can be written to have a very large number of paths.
        let Some(operation) = operations.get(place).filter(|_| seen.len() < MAX_STEPS) else { return false };
        let target = || match referent(object, section, operation) {
            Some(Referent::Here { section: other, offset }) if other == section => {
                operations.binary_search_by_key(&offset.cast_unsigned(), Operation::address).ok()
            }
            _ => None,
        };
        match operation.instruction.flow_control() {
            FlowControl::Next => {
                let Some(holders) = after(&operation.instruction, holders, factory) else { return false };
                open.push((place + 1, holders));
            }
            FlowControl::ConditionalBranch => {
                let Some(target) = target() else { return false };
                open.extend([(target, holders), (place + 1, holders)]);
            }
            FlowControl::UnconditionalBranch => match target() {
                Some(target) => open.push((target, holders)),
                None => return false,
            },
            FlowControl::Call => {
                let is_given = holders & bit(Register::RDI) != 0;
                if is_given && !is_taker(object, section, operation) {
                    return false;
                }
                // By the calling convention, all registers outside this set keep their values during the call.
                open.push((place + 1, holders & !CALLER_SAVED));
            }
            _ => return false,
        }
    }
    true
}

fn is_taker(object: &Object<'_>, section: usize, operation: &Operation) -> bool {
    matches!(referent(object, section, operation), Some(Referent::External(symbol)) if takes_function(symbol.name))
}

/// Returns the registers that hold the address after an instruction; `None` if the instruction uses the address other than by copying it.
fn after(instruction: &Instruction, holders: Registers, factory: &mut InstructionInfoFactory) -> Option<Registers> {
    let is_copy = instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Register
        && instruction.op1_kind() == OpKind::Register
        && instruction.op0_register().is_gpr64();
    if is_copy {
        let target = bit(instruction.op0_register());
        let is_held = holders & bit(instruction.op1_register()) != 0;
        return Some(if is_held { holders | target } else { holders & !target });
    }
    let mut overwritten = 0;
    for used in factory.info(instruction).used_registers().iter().filter(|used| holders & bit(used.register()) != 0) {
        match used.access() {
            // A 32-bit write clears the upper half, so the register no longer holds the address. Shorter writes leave most of the address
            // in the register.
            OpAccess::Write if used.register().is_gpr64() || used.register().is_gpr32() => {
                overwritten |= bit(used.register());
            }
            OpAccess::None | OpAccess::NoMemAccess => {}
            _ => return None,
        }
    }
    Some(holders & !overwritten)
}
