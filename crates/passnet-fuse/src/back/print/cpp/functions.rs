//! Functions of a program. A program has one function, unless its work is divided among threads: then each group of stages that
//! do not read each other's results has a function.

use std::collections::BTreeSet;

use passnet_record::Nests;

use super::{CppPrinter, division::Division};
use crate::{
    front::expr::{BufferId, Expr},
    plan::stage::{Program, Role, Stage, Statement, roots},
};

/// A C++ function of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CppFunction {
    /// Text between the braces.
    pub(crate) body: String,
    /// Parts into which its work is divided; with more than one it takes a range of them.
    pub(crate) parts: i64,
}

/// Stages of a function, each with the way in which it is divided.
struct StageGroup<'p> {
    stages: Vec<(&'p Stage, Division)>,
    parts: i64,
    reads: BTreeSet<BufferId>,
    writes: BTreeSet<BufferId>,
}

/// Returns the functions of a program, in the order in which they are called. If `divides` is false, there is one function, which
/// a single thread runs.
pub(crate) fn functions(program: &Program, config: Nests, divides: bool) -> Vec<CppFunction> {
    let mut groups: Vec<StageGroup<'_>> = Vec::new();
    for stage in &program.stages {
        let printer = CppPrinter::new(program, config);
        let blocks = printer.across(stage).map(|across| across.all_blocks());
        // Threads have no barrier inside a function. A stage that reads the results of another one therefore starts a
        // new function.
        let (share, parts) = if divides { printer.share(stage, blocks) } else { (Division::Whole, 1) };
        let (reads, writes) = touched(program, stage);
        match groups.last_mut().filter(|group| group.parts.max(parts) == 1 || group.takes(program, &reads, &writes)) {
            Some(group) => {
                group.stages.push((stage, share));
                group.parts = group.parts.max(parts);
                group.reads.extend(reads);
                group.writes.extend(writes);
            }
            None => groups.push(StageGroup { stages: vec![(stage, share)], parts, reads, writes }),
        }
    }
    groups.iter().map(|group| group.print(program, config)).collect()
}

impl StageGroup<'_> {
    /// Returns whether a stage can run at the same time as those of the group. Results are written piece by piece.
    fn takes(&self, program: &Program, reads: &BTreeSet<BufferId>, writes: &BTreeSet<BufferId>) -> bool {
        let is_result = |buffer: &BufferId| matches!(program.buffers[*buffer].role, Role::Output(_));
        self.writes.is_disjoint(reads)
            && self.reads.is_disjoint(writes)
            && self.writes.intersection(writes).all(is_result)
    }

    fn print(&self, program: &Program, config: Nests) -> CppFunction {
        let mut printer = CppPrinter::new(program, config);
        printer.parts = self.parts;
        for &(stage, share) in &self.stages {
            // Exactly one part must compute an undivided stage. The first part always exists.
            let is_alone = share == Division::Whole && self.parts > 1;
            if is_alone {
                printer.line("if (begin == 0) {");
                printer.indent += 1;
            }
            printer.is_sliced = matches!(share, Division::Slices { .. });
            printer.stage(stage, share);
            if is_alone {
                printer.close();
            }
        }
        CppFunction { body: printer.text, parts: self.parts }
    }
}

/// Returns the buffers that a stage reads, and those that it writes.
fn touched(program: &Program, stage: &Stage) -> (BTreeSet<BufferId>, BTreeSet<BufferId>) {
    let statements = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
    let mut writes = BTreeSet::new();
    let mut indexed = Vec::new();
    for statement in statements.chain(stage.per_row.iter().flatten()) {
        if let Statement::Store { buffer, at, .. } = statement {
            writes.insert(*buffer);
            crate::front::expr::for_each_value(at, &mut |value| indexed.push(value));
        }
    }
    indexed.extend(roots(stage));
    let load = |id| match program.arena.get(id) {
        Expr::Load { buffer, .. } => Some(*buffer),
        _ => None,
    };
    (program.arena.reachable(&indexed).into_iter().filter_map(load).collect(), writes)
}
