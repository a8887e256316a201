//! Instructions that compute: arithmetic, moves, direct branches. Only listed instructions are allowed; unknown instructions are refused.

use iced_x86::{CpuidFeature, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use crate::{
    code::{Code, Operation, shown},
    elf::{Object, SectionRole, SymbolLocation},
    finding::{ObjectFinding, ObjectRule, readable},
};

pub(crate) fn check(object: &Object<'_>, code: &Code) -> Vec<ObjectFinding> {
    let mut factory = InstructionInfoFactory::new();
    let mut findings = Vec::new();
    for (section, operation) in code.operations() {
        if let Some(message) = message(operation, &mut factory) {
            let message = format!("{}: {message}", shown(object, section, operation));
            findings.push(ObjectFinding::new(ObjectRule::Instructions, message));
        }
    }
    for symbol in object.symbols.iter().filter(|symbol| symbol.is_function()) {
        let SymbolLocation::Section(section) = symbol.place else { continue };
        let is_code = object.sections.get(section).is_some_and(|section| section.role == SectionRole::Code);
        if is_code && !code.is_start(section, symbol.value) {
            let message = format!("`{}` begins inside of an instruction", readable(symbol.name));
            findings.push(ObjectFinding::new(ObjectRule::Instructions, message));
        }
    }
    findings
}

fn message(operation: &Operation, factory: &mut InstructionInfoFactory) -> Option<String> {
    let instruction = &operation.instruction;
    if let Some(why) = forbidden(instruction) {
        return Some(why.to_owned());
    }
    // `fs` and `gs` are the bases of thread-local data, which is state, and of the caller's stack.
    if instruction.has_op_kind_memory() && matches!(instruction.memory_segment(), Register::FS | Register::GS) {
        return Some("it addresses data of the thread, which outlives the call; use arguments and locals".to_owned());
    }
    // Without a memory operand the prefix has no effect. It is refused all the same, so that the rule does not depend on this.
    if matches!(instruction.segment_prefix(), Register::FS | Register::GS) {
        return Some("it has a prefix for data of the thread; write the kernel without `asm`".to_owned());
    }
    let registers = factory.info(instruction).used_registers();
    let has_state = |register: Register| {
        // The MMX registers are shared with the floating-point unit, which the launcher does not clear.
        register.is_mm()
            || register.is_segment_register() && matches!(register, Register::FS | Register::GS)
            || register.is_cr()
            || register.is_dr()
            || register.is_tr()
            || register.is_bnd()
            || register.is_tmm()
    };
    registers
        .iter()
        .any(|used| has_state(used.register()))
        .then(|| "it uses registers that keep their content between calls; use vectors of SSE or AVX".to_owned())
}

/// Returns why an instruction is refused; `None` if it is allowed.
fn forbidden(instruction: &Instruction) -> Option<&'static str> {
    match instruction.flow_control() {
        FlowControl::IndirectBranch | FlowControl::IndirectCall => {
            return Some(
                "it jumps to a computed address; call functions by name, and use templates or `switch` instead of function \
                 pointers, virtual functions and computed gotos",
            );
        }
        FlowControl::Exception => {
            return Some(
                "the compiler has put a trap here, because the behaviour at this place is undefined: \
                 an index out of range, a null pointer, a division by zero",
            );
        }
        FlowControl::Interrupt => return Some("a kernel cannot call the operating system"),
        FlowControl::XbeginXabortXend => return Some("a kernel may not use transactions"),
        _ => {}
    }
    if let Some(why) = known_bad(instruction.mnemonic()) {
        return Some(why);
    }
    let features = instruction.cpuid_features();
    // An instruction can need several sets. It counts only if each of them is known.
    let is_vector = features.iter().all(|feature| VECTOR.contains(feature));
    let is_general = || {
        features.iter().all(|feature| GENERAL.contains(feature))
            && (instruction.condition_code() != iced_x86::ConditionCode::None
                || MNEMONICS.contains(&instruction.mnemonic()))
    };
    let is_float = || features.iter().all(|feature| FLOAT.contains(feature));
    let is_known = !features.is_empty() && (is_vector || is_float() || is_general()) && !instruction.is_privileged();
    // An instruction set of a future CPU is refused until it is reviewed and added to the lists.
    (!is_known).then_some("it is not among the instructions for arithmetic, moves and branches that a kernel may use")
}

/// Returns what a forbidden instruction does, for the message: it reads or changes state outside of the computation.
fn known_bad(mnemonic: Mnemonic) -> Option<&'static str> {
    Some(match mnemonic {
        Mnemonic::Rdtsc | Mnemonic::Rdtscp | Mnemonic::Rdpmc => {
            "it reads a clock; the results of a kernel must depend on its arguments only"
        }
        Mnemonic::Rdrand | Mnemonic::Rdseed => {
            "it draws random numbers; the results of a kernel must depend on its arguments only"
        }
        Mnemonic::Cpuid | Mnemonic::Xgetbv | Mnemonic::Rdpid => {
            "it asks for the CPU; the results of a kernel must depend on its arguments only"
        }
        Mnemonic::Syscall | Mnemonic::Sysenter => "a kernel cannot call the operating system",
        Mnemonic::Ldmxcsr | Mnemonic::Stmxcsr | Mnemonic::Vldmxcsr | Mnemonic::Vstmxcsr => {
            "it reads or changes the rounding mode, which outlives the call; round explicitly"
        }
        Mnemonic::Fldcw
        | Mnemonic::Fnstcw
        | Mnemonic::Fstcw
        | Mnemonic::Fldenv
        | Mnemonic::Fnstenv
        | Mnemonic::Fstenv
        | Mnemonic::Fnsave
        | Mnemonic::Fsave
        | Mnemonic::Frstor
        | Mnemonic::Fninit
        | Mnemonic::Finit
        | Mnemonic::Fnclex
        | Mnemonic::Fclex
        | Mnemonic::Ffree
        | Mnemonic::Fincstp
        | Mnemonic::Fdecstp => {
            "it reads or changes the mode or the registers of the floating-point unit, which outlive the call; use `double`"
        }
        // The status itself may be read: calls begin with a clear one, and compilers read it after a remainder.
        Mnemonic::Fxam => "it reads the sign of a number that an earlier call may have left; use `double`",
        Mnemonic::Std | Mnemonic::Pushfq | Mnemonic::Popfq | Mnemonic::Pushf | Mnemonic::Popf => {
            "it reads or changes flags of the CPU; write the kernel without `asm`"
        }
        Mnemonic::Wrfsbase | Mnemonic::Wrgsbase | Mnemonic::Rdfsbase | Mnemonic::Rdgsbase => {
            "it addresses data of the thread, which outlives the call"
        }
        Mnemonic::Clflush | Mnemonic::Clflushopt | Mnemonic::Clwb | Mnemonic::Cldemote => {
            "a kernel may not control the cache"
        }
        Mnemonic::Pause => "a kernel may not wait",
        _ => return None,
    })
}

/// Sets of instructions that only compute on vectors.
const VECTOR: &[CpuidFeature] = &[
    CpuidFeature::SSE,
    CpuidFeature::SSE2,
    CpuidFeature::SSE3,
    CpuidFeature::SSSE3,
    CpuidFeature::SSE4_1,
    CpuidFeature::SSE4_2,
    CpuidFeature::SSE4A,
    CpuidFeature::AVX,
    CpuidFeature::AVX2,
    CpuidFeature::AVX_VNNI,
    CpuidFeature::AVX_VNNI_INT8,
    CpuidFeature::AVX_IFMA,
    CpuidFeature::AVX_NE_CONVERT,
    CpuidFeature::AVX512F,
    CpuidFeature::AVX512VL,
    CpuidFeature::AVX512BW,
    CpuidFeature::AVX512DQ,
    CpuidFeature::AVX512CD,
    CpuidFeature::AVX512_VNNI,
    CpuidFeature::AVX512_BF16,
    CpuidFeature::AVX512_FP16,
    CpuidFeature::AVX512_VBMI,
    CpuidFeature::AVX512_VBMI2,
    CpuidFeature::AVX512_BITALG,
    CpuidFeature::AVX512_IFMA,
    CpuidFeature::AVX512_VPOPCNTDQ,
    CpuidFeature::FMA,
    CpuidFeature::F16C,
    CpuidFeature::GFNI,
    CpuidFeature::AES,
    CpuidFeature::VAES,
    CpuidFeature::PCLMULQDQ,
    CpuidFeature::VPCLMULQDQ,
    CpuidFeature::SHA,
    CpuidFeature::BMI1,
    CpuidFeature::BMI2,
    CpuidFeature::ADX,
    CpuidFeature::LZCNT,
    CpuidFeature::POPCNT,
    CpuidFeature::MOVBE,
    CpuidFeature::PREFETCHW,
    CpuidFeature::CET_IBT,
    CpuidFeature::MULTIBYTENOP,
];

/// Instruction sets for the 80-bit numbers of `long double`. Instructions that control the floating-point unit are refused by name.
const FLOAT: &[CpuidFeature] =
    &[CpuidFeature::FPU, CpuidFeature::FPU287, CpuidFeature::FPU387, CpuidFeature::SSE3, CpuidFeature::CMOV];

/// Sets with general instructions among others. Only listed instructions of these sets are allowed.
const GENERAL: &[CpuidFeature] = &[
    CpuidFeature::INTEL8086,
    CpuidFeature::INTEL186,
    CpuidFeature::INTEL286,
    CpuidFeature::INTEL386,
    CpuidFeature::INTEL486,
    CpuidFeature::X64,
    CpuidFeature::CMOV,
    CpuidFeature::CX8,
    CpuidFeature::CMPXCHG16B,
];

const MNEMONICS: &[Mnemonic] = &[
    Mnemonic::Adc,
    Mnemonic::Add,
    Mnemonic::And,
    Mnemonic::Bsf,
    Mnemonic::Bsr,
    Mnemonic::Bswap,
    Mnemonic::Bt,
    Mnemonic::Btc,
    Mnemonic::Btr,
    Mnemonic::Bts,
    Mnemonic::Call,
    Mnemonic::Cbw,
    Mnemonic::Cdq,
    Mnemonic::Cdqe,
    Mnemonic::Clc,
    Mnemonic::Cld,
    Mnemonic::Cmc,
    Mnemonic::Cmp,
    Mnemonic::Cmpsb,
    Mnemonic::Cmpsd,
    Mnemonic::Cmpsq,
    Mnemonic::Cmpsw,
    Mnemonic::Cmpxchg,
    Mnemonic::Cmpxchg16b,
    Mnemonic::Cmpxchg8b,
    Mnemonic::Cqo,
    Mnemonic::Cwd,
    Mnemonic::Cwde,
    Mnemonic::Dec,
    Mnemonic::Div,
    Mnemonic::Idiv,
    Mnemonic::Imul,
    Mnemonic::Inc,
    Mnemonic::Jmp,
    Mnemonic::Jrcxz,
    Mnemonic::Lahf,
    Mnemonic::Lea,
    Mnemonic::Leave,
    Mnemonic::Lodsb,
    Mnemonic::Lodsd,
    Mnemonic::Lodsq,
    Mnemonic::Lodsw,
    Mnemonic::Loop,
    Mnemonic::Mov,
    Mnemonic::Movsb,
    Mnemonic::Movsd,
    Mnemonic::Movsq,
    Mnemonic::Movsw,
    Mnemonic::Movsx,
    Mnemonic::Movsxd,
    Mnemonic::Movzx,
    Mnemonic::Mul,
    Mnemonic::Neg,
    Mnemonic::Nop,
    Mnemonic::Not,
    Mnemonic::Or,
    Mnemonic::Pop,
    Mnemonic::Push,
    Mnemonic::Rcl,
    Mnemonic::Rcr,
    Mnemonic::Ret,
    Mnemonic::Rol,
    Mnemonic::Ror,
    Mnemonic::Sahf,
    Mnemonic::Sal,
    Mnemonic::Sar,
    Mnemonic::Sbb,
    Mnemonic::Scasb,
    Mnemonic::Scasd,
    Mnemonic::Scasq,
    Mnemonic::Scasw,
    Mnemonic::Shl,
    Mnemonic::Shld,
    Mnemonic::Shr,
    Mnemonic::Shrd,
    Mnemonic::Stc,
    Mnemonic::Stosb,
    Mnemonic::Stosd,
    Mnemonic::Stosq,
    Mnemonic::Stosw,
    Mnemonic::Sub,
    Mnemonic::Test,
    Mnemonic::Xadd,
    Mnemonic::Xchg,
    Mnemonic::Xor,
];

/// Properties of instructions that the decoder does not provide.
trait Operands {
    fn has_op_kind_memory(&self) -> bool;
}

impl Operands for Instruction {
    fn has_op_kind_memory(&self) -> bool {
        (0..self.op_count()).any(|index| {
            matches!(
                self.op_kind(index),
                OpKind::Memory
                    | OpKind::MemorySegRSI
                    | OpKind::MemorySegESI
                    | OpKind::MemorySegSI
                    | OpKind::MemorySegRDI
                    | OpKind::MemorySegEDI
                    | OpKind::MemorySegDI
            )
        })
    }
}
