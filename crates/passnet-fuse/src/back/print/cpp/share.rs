//! Division of a stage among threads. The author chooses the number of parts; a call computes the parts from `begin` to `end`.
//! An element has the same value in any part, so results do not depend on the number of threads.

use super::{CppPrinter, division::Division};
use crate::{
    back::print::size,
    front::expr::{Binary, Expr},
    plan::{
        lanes::LANES,
        running::RunningSums,
        stage::{Loop, Stage, Statement, roots},
    },
};

/// Number of elements of a part: the smallest number that PyTorch gives to a thread.
const GRAIN: i64 = 32_768;
/// Largest number of parts: several for each thread of a large CPU, because some threads are slower than others.
const MOST_PARTS: i64 = 256;
/// Number of rows from which the loops over rows are divided. With fewer rows, the rows themselves are divided.
const MANY_ROWS: i64 = 64;
/// Number of elements to which the ends of parts of a row are rounded: a multiple of whole registers.
const STEP: i64 = 4 * LANES;

/// Work of one element of a running sum, as a multiple of other elements: each addition waits for the one before.
const RUNNING_SUM: i64 = 4;

impl CppPrinter<'_> {
    /// Returns where a stage can be divided, and into how many parts. `blocks` is the number of blocks of rows if the stage is
    /// computed across its rows.
    pub(super) fn share(&self, stage: &Stage, blocks: Option<i64>) -> (Division, i64) {
        // The number depends on sizes and not on the threads of the machine, so that equal tasks give equal files.
        let wanted = (self.work(stage) / GRAIN).min(MOST_PARTS);
        if wanted < 2 {
            return (Division::Whole, 1);
        }
        let share = match (blocks, RunningSums::of(stage, &self.program.arena)) {
            (Some(units), _) => Division::Columns { units },
            // Each row continues the sums of the row before.
            (None, Some(_)) => share_of_rows(&stage.outer[..stage.outer.len() - 1], wanted),
            (None, None) if has_slices(stage, wanted) => Division::Slices { units: (longest(stage) + STEP - 1) / STEP },
            (None, None) => share_of_rows(&stage.outer, wanted),
        };
        match share.units().min(wanted) {
            ..2 => (Division::Whole, 1),
            parts => (share, parts),
        }
    }

    /// Returns the work of a stage in elements. Elements that are expensive or visited on several levels count more than once.
    fn work(&self, stage: &Stage) -> i64 {
        let arena = &self.program.arena;
        let rows: i64 = stage.outer.iter().chain(&stage.inner).map(|nest| nest.extent).product();
        let along = match RunningSums::of(stage, arena) {
            Some(_) => RUNNING_SUM,
            None => stage.segments.iter().map(|segment| segment.innermost.extent).sum(),
        };
        let is_expensive = |id: &_| {
            let expr = arena.get(*id);
            matches!(expr, Expr::Unary(op, _) if op.is_expensive()) || matches!(expr, Expr::Binary(Binary::Pow, ..))
        };
        let expensive = arena.reachable(&roots(stage)).iter().filter(|id| is_expensive(id)).count() as i64;
        rows * along * (1 + expensive.min(3))
    }

    /// Opens a loop over the part of several loops that a call computes, with the variable of each: `i0`, `i1` ..., and `first`
    /// for the blocks of rows.
    pub(super) fn open_together(&mut self, nests: &[Loop], blocks: Option<i64>) {
        if nests.is_empty() && blocks.is_none() {
            return;
        }
        let units: i64 = nests.iter().map(|nest| nest.extent).product::<i64>() * blocks.unwrap_or(1);
        let bounds = format!("{} / {}", size(units), size(self.parts));
        let is_one = nests.len() + usize::from(blocks.is_some()) == 1;
        let own = match nests.first() {
            Some(Loop { var: Some(_), .. }) if is_one => "i0",
            _ => "at",
        };
        self.line(&format!("for (int64_t {own} = begin * {bounds}; {own} < end * {bounds}; ++{own}) {{"));
        self.indent += 1;
        let mut below = units;
        for (depth, nest) in nests.iter().enumerate() {
            below /= nest.extent;
            let Some(var) = nest.var else { continue };
            let name = format!("i{depth}");
            if own == "at" {
                let place = if below == 1 { "at".to_owned() } else { format!("at / {}", size(below)) };
                let place = if depth == 0 { place } else { format!("{place} % {}", size(nest.extent)) };
                self.line(&format!("const int64_t {name} = {place};"));
            }
            self.vars.insert(var, name);
        }
        if let Some(blocks) = blocks {
            self.line(&format!("const int64_t first = at % {} * columns;", size(blocks)));
        }
    }

    /// Returns the bounds of an innermost loop. Where it is divided, a block is opened in which they are variables.
    pub(super) fn open_slice(&mut self, extent: i64) -> (&'static str, String) {
        if !self.is_sliced {
            return ("0", size(extent));
        }
        let steps = (extent + STEP - 1) / STEP;
        let bound = |of: &str| {
            format!("std::min<int64_t>({of} * {} / {} * {STEP}, {})", size(steps), size(self.parts), size(extent))
        };
        let lines =
            [format!("const int64_t from = {};", bound("begin")), format!("const int64_t to = {};", bound("end"))];
        self.line("{");
        self.indent += 1;
        lines.iter().for_each(|line| self.line(line));
        ("from", "to".to_owned())
    }

    pub(super) fn close_slice(&mut self) {
        if self.is_sliced {
            self.close();
        }
    }
}

/// Returns whether the innermost loops of a stage are divided rather than its rows.
fn has_slices(stage: &Stage, wanted: i64) -> bool {
    let rows: i64 = stage.outer.iter().map(|nest| nest.extent).product();
    let mut statements = stage.segments.iter().flat_map(|segment| segment.levels.iter().flatten());
    let has_folds = statements.any(|statement| matches!(statement, Statement::Reduce { .. }));
    // A sum along a row is never divided: its order, and with it the result, would depend on the number of parts.
    !has_folds && stage.inner.is_empty() && rows < wanted.min(MANY_ROWS) && longest(stage) > STEP
}

fn longest(stage: &Stage) -> i64 {
    stage.segments.iter().map(|segment| segment.innermost.extent).max().unwrap_or(1)
}

fn share_of_rows(outer: &[Loop], wanted: i64) -> Division {
    let mut units = 1;
    for (place, nest) in outer.iter().enumerate() {
        units *= nest.extent;
        if units >= wanted {
            return Division::Rows { depth: place + 1, units };
        }
    }
    if units > 1 { Division::Rows { depth: outer.len(), units } } else { Division::Whole }
}
