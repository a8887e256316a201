//! Text before the kernels of a pass, and flags of the compiler for them.

use crate::{
    front::expr::{Expr, ExprId, ValueKind},
    plan::stage::{Program, roots},
};

/// Text before the kernels: the library of vectors that they use, which comes with `passnet.kernels`.
pub(crate) const START: &str = "#include <passnet/vectors.hpp>\n\nusing namespace passnet;\n\n";

/// Products and sums within one operation may be contracted, as in PyTorch's own kernels. Those of two operations may not.
const FLAGS: &[&str] = &["-ffp-contract=fast", "-Wno-psabi"];

/// Flag for kernels that round `double` to `float` and compute with the result in `double`. Without the flag, GCC 12 leaves out
/// the rounding at the end of a loop where it joins statements to vectors of AVX-512.
const KEEPS_ROUNDINGS: &str = "-fno-tree-slp-vectorize";

/// Returns the flags of the compiler for kernels of some programs.
pub(crate) fn flags(programs: &[&Program]) -> impl Iterator<Item = &'static str> {
    let rounds = programs.iter().any(|program| rounds_doubles(program));
    FLAGS.iter().copied().chain(rounds.then_some(KEEPS_ROUNDINGS))
}

fn rounds_doubles(program: &Program) -> bool {
    let arena = &program.arena;
    let all: Vec<ExprId> = program.stages.iter().flat_map(roots).collect();
    arena.reachable(&all).into_iter().any(|id| {
        let Expr::Convert(single, ValueKind::F64) = *arena.get(id) else { return false };
        matches!(*arena.get(single), Expr::Convert(double, _) if arena.kind(double) == ValueKind::F64)
    })
}
