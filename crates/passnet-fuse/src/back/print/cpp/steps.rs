//! The steps of a vectorised loop along a row: whole steps of reductions, then registers, then the last lanes.

use super::{CppPrinter, Sums, tail::Tail};
use crate::{
    front::expr::{Expr, ExprId, ReduceOp, ValueKind},
    plan::{
        lanes::LANES,
        stage::{Role, Segment, Stage, Statement},
    },
};

impl CppPrinter<'_> {
    /// Prints the loop that takes several elements a step. A loop with reductions first takes
    /// several such steps together.
    pub(super) fn vector_loop(&mut self, stage: &Stage, end: &str, here: &[ExprId], statements: &[&Statement]) {
        if self.sums != Sums::Plain {
            self.whole_steps(stage, end, here, statements);
        }
        self.line(&format!("for (; k + lanes <= {end}; k += lanes) {{"));
        self.indent += 1;
        self.block(here, statements);
        self.close();
    }

    /// Prints the loop whose steps go to several accumulators in turn: a single one would wait for each step before.
    fn whole_steps(&mut self, stage: &Stage, end: &str, here: &[ExprId], statements: &[&Statement]) {
        let sums = self.names_of_sums(statements);
        let has_folds =
            statements.iter().any(|statement| matches!(statement, Statement::Reduce { kind: ValueKind::F32, .. }));
        if !has_folds {
            return;
        }
        let kind = if sums.is_empty() { "extreme" } else { "sum" };
        let outside = self.names.clone();
        self.line(&format!("while (k + {kind}_step <= {end}) {{"));
        self.indent += 1;
        self.line(&format!("for (int64_t part = 0; part < {kind}_parts; ++part, k += lanes) {{"));
        self.indent += 1;
        self.in_whole_step = true;
        self.block(here, statements);
        self.in_whole_step = false;
        self.close();
        if self.sums == Sums::Cascade {
            for name in &sums {
                self.line(&format!("carry({name}_lanes);"));
            }
        }
        self.close();
        if self.sums == Sums::Cascade && stage.inner.is_empty() {
            for name in &sums {
                self.line(&format!("join({name}_lanes);"));
            }
        }
        self.names = outside;
        if !sums.is_empty() {
            self.left_of = Some(end.to_owned());
        }
    }

    /// Returns how the end of a row is computed, after all whole registers.
    pub(super) fn tail(&self, segment: &Segment, here: &[ExprId], statements: &[&Statement]) -> Tail {
        let is_sum = |statement: &&Statement| matches!(statement, Statement::Reduce { fold: ReduceOp::Sum, .. });
        // The first elements cannot be computed a second time if they overwrite an input: their new values would be read.
        let is_overwritten = self.program.buffers.iter().any(|buffer| buffer.role == Role::Updated);
        // A part of a divided loop must not touch the elements of another part.
        let is_whole = segment.innermost.extent >= LANES && !self.is_sliced;
        if is_whole && !is_overwritten && !statements.iter().any(is_sum) {
            Tail::Again
        } else if self.is_expensive(here) {
            Tail::FirstLanes
        } else {
            Tail::OneByOne
        }
    }

    /// Prints the end of a row as a register.
    pub(super) fn print_tail(&mut self, tail: Tail, end: &str, here: &[ExprId], statements: &[&Statement]) {
        self.line(&format!("if (k < {end}) {{"));
        self.indent += 1;
        if tail == Tail::Again {
            self.line(&format!("k = {end} - lanes;"));
            self.block(here, statements);
        } else {
            self.line(&format!("const int64_t left = {end} - k;"));
            self.is_partial = true;
            self.block(here, statements);
            self.is_partial = false;
        }
        self.close();
    }

    /// Returns whether one of the values calls a function that costs as much in one lane as in all lanes.
    fn is_expensive(&self, here: &[ExprId]) -> bool {
        let is_function =
            |id: &&ExprId| matches!(self.program.arena.get(**id), Expr::Unary(op, _) if op.is_expensive());
        here.iter().filter(is_function).any(|&id| self.has_lanes(id) && !self.filled.contains(&id))
    }
}
