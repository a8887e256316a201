//! Inputs that are overwritten: whether each element is read for the last time where it is written.

use crate::{
    front::{
        expr::{BufferId, Expr},
        index::Index,
    },
    plan::{
        stage::{LoopForm, Program, Stage, Statement},
        tile::is_looped,
    },
};

impl Program {
    /// Returns whether each element of an input that is overwritten is read for the last time where it is written.
    pub(super) fn reads_before_writing(&self, stages: &[Stage], wanted: BufferId, form: LoopForm) -> bool {
        let mut written: Option<&Index> = None;
        for stage in stages {
            // A tile that holds whole rows reads each element once.
            let rereads = form == LoopForm::Nests || is_looped(stage, &self.arena);
            let is_over = written.is_some();
            for level in 0..stage.per_row.len() {
                let statements = || {
                    let segments = stage.segments.iter().flat_map(|segment| &segment.levels[level]);
                    segments.chain(&stage.per_row[level])
                };
                for statement in statements() {
                    // A read after the write sees the new element, on a later level or in a later stage.
                    if self.reads(statement, wanted).next().is_some() && (is_over || (rereads && written.is_some())) {
                        return false;
                    }
                }
                for statement in statements() {
                    if let Statement::Store { buffer, at, .. } = statement
                        && *buffer == wanted
                    {
                        written = Some(at);
                    }
                }
            }
            if let (Some(written), false) = (written, is_over) {
                let all = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
                let mut all = all.chain(stage.per_row.iter().flatten());
                // Within the stage that writes, an element may only be read where it is written: threads and tiles
                // have no order among them.
                if stage.segments.len() > 1
                    || !all.all(|statement| self.reads(statement, wanted).all(|at| at == written))
                {
                    return false;
                }
            }
        }
        true
    }

    /// Returns the place at which a statement reads a buffer.
    fn reads(&self, statement: &Statement, wanted: BufferId) -> impl Iterator<Item = &Index> {
        self.arena.reachable(&[statement.value()]).into_iter().filter_map(move |id| match self.arena.get(id) {
            Expr::Load { buffer, at, .. } if *buffer == wanted => Some(at),
            _ => None,
        })
    }
}
