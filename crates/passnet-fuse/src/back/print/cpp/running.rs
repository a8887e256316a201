//! Stages of running sums: one loop along the rows, which keeps the sums.

use super::{CppPrinter, division::Division, kind_type};
use crate::{
    back::print::order::ValueDepths,
    front::expr::{ExprId, ReduceOp},
    plan::{
        running::RunningSums,
        stage::{Stage, Statement},
    },
};

impl CppPrinter<'_> {
    pub(super) fn running_rows(&mut self, stage: &Stage, running: &RunningSums, share: Division) {
        let arena = &self.program.arena;
        let Some((row, others)) = stage.outer.split_last() else { return };
        let per_row: Vec<&Statement> = stage.per_row.iter().flatten().collect();
        let order = ValueDepths::new(self.program, stage);
        let terms = order.certain_for(running.sums.iter().map(|sum| sum.term).collect(), &|_| false);
        let stored = order.certain(&per_row);
        let at = |depth: usize| -> Vec<ExprId> {
            let all = terms.iter().chain(&stored).copied();
            all.filter(|&id| order.place(id).depth == depth).collect()
        };
        let together = if let Division::Rows { depth, .. } = share { depth } else { 0 };
        self.define(&at(0));
        self.open_together(&others[..together], None);
        self.define(&(1..=together).flat_map(at).collect::<Vec<_>>());
        for (depth, nest) in others.iter().enumerate().skip(together) {
            self.open(nest, &format!("i{depth}"));
            self.define(&at(depth + 1));
        }
        for sum in &running.sums {
            let name = self.fold_name(sum.tensor, ReduceOp::Sum);
            self.line(&format!("{} {name} = 0;", kind_type(arena.kind(sum.term))));
        }
        let name = format!("i{}", others.len());
        self.open(row, &name);
        self.vars.insert(running.along, name);
        self.define(&terms);
        for sum in &running.sums {
            let (name, term) = (self.folds[&sum.tensor].clone(), self.operand(sum.term));
            self.line(&format!("{name} += {term};"));
        }
        self.define(&stored);
        for statement in &per_row {
            self.act(statement);
        }
        for _ in 0..others.len() - together + together.min(1) + 1 {
            self.close();
        }
    }
}
