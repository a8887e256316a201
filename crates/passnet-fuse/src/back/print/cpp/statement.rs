//! Statements: values that get names, stores, and reductions.

use passnet_record::DType;

use super::{CppPrinter, Sums, kind_type, storage_type, value::kept};
use crate::{
    back::print::size,
    front::{
        expr::{Expr, ExprId, ReduceOp, ValueKind},
        index::coefficient,
        tensor::TensorId,
    },
    plan::{
        lanes::LANES,
        stage::{Stage, Statement},
    },
};

impl CppPrinter<'_> {
    pub(super) fn declare_fold(&mut self, tensor: TensorId, fold: ReduceOp, kind: ValueKind) {
        let name = self.fold_name(tensor, fold);
        let start = match (fold, kind) {
            (ReduceOp::Sum, ValueKind::F32) => "0.0f",
            (ReduceOp::Sum, _) => "0",
            (ReduceOp::Max, ValueKind::F32 | ValueKind::F64) => "-INFINITY",
            (ReduceOp::Min, ValueKind::F32 | ValueKind::F64) => "INFINITY",
            (ReduceOp::Max, _) => "INT64_MIN",
            (ReduceOp::Min, _) => "INT64_MAX",
        };
        self.line(&format!("{} {name} = {start};", kind_type(kind)));
        match (kind, fold) {
            (ValueKind::F32, ReduceOp::Sum) if self.sums == Sums::Turns => self.line(&format!("turns {name}_lanes;")),
            (ValueKind::F32, ReduceOp::Sum) if self.sums == Sums::Cascade => {
                self.line(&format!("cascade {name}_lanes;"))
            }
            (ValueKind::F32, ReduceOp::Max | ReduceOp::Min) if self.sums != Sums::Plain => {
                self.line(&format!("extremes {name}_lanes({start});"));
            }
            (ValueKind::F32, _) => self.line(&format!("vec {name}_lanes = splat({start});")),
            _ => {}
        }
    }

    /// Prints the operation of a result as a comment before its first store in a function.
    fn comment_store(&mut self, statement: &Statement) {
        if let Statement::Store { buffer, .. } = statement
            && self.commented.insert(*buffer)
        {
            self.comment(self.program.operations.of_store(*buffer));
        }
    }

    /// Returns a new name for the result of a reduction. Before the line that declares it, prints the operation as a comment.
    pub(super) fn fold_name(&mut self, tensor: TensorId, fold: ReduceOp) -> String {
        self.comment(self.program.operations.of_reduction(tensor));
        let prefix = match fold {
            ReduceOp::Sum => "sum",
            ReduceOp::Max => "most",
            ReduceOp::Min => "least",
        };
        let name = format!("{prefix}{}", self.count);
        self.count += 1;
        self.folds.insert(tensor, name.clone());
        name
    }

    /// Returns the names of the sums among the statements.
    pub(super) fn names_of_sums(&self, statements: &[&Statement]) -> Vec<String> {
        let name = |statement: &&Statement| match statement {
            Statement::Reduce { tensor, fold: ReduceOp::Sum, .. } => self.folds.get(tensor).cloned(),
            _ => None,
        };
        statements.iter().filter_map(name).collect()
    }

    /// Joins the lanes of a reduction, if a loop had any.
    pub(super) fn finish_fold(&mut self, statement: &Statement, stage: &Stage) {
        let Statement::Reduce { tensor, fold, kind: ValueKind::F32, .. } = statement else { return };
        // Rows shorter than a register never fill the lanes.
        if stage.segments.iter().all(|segment| segment.innermost.extent < LANES) {
            return;
        }
        let name = self.folds[tensor].clone();
        let line = match fold {
            ReduceOp::Sum => format!("{name} = total({name}_lanes, {name});"),
            ReduceOp::Max => format!("{name} = maximum({name}, max_lanes({name}_lanes));"),
            ReduceOp::Min => format!("{name} = minimum({name}, min_lanes({name}_lanes));"),
        };
        self.line(&line);
    }

    /// Gives names to values, operands first.
    pub(super) fn define(&mut self, ids: &[ExprId]) {
        for &id in ids {
            let is_trivial = matches!(
                self.program.arena.get(id),
                Expr::Float { .. } | Expr::Int(_) | Expr::Bool(_) | Expr::Extent { .. } | Expr::Reduced { .. }
            );
            if is_trivial || self.names.contains_key(&id) || self.copies.contains(&id) || self.contractions.absorb(id) {
                continue;
            }
            let product = match *self.program.arena.get(id) {
                Expr::Round(product, DType::Float32) if !self.summed.contains(&id) => Some(product),
                _ => None,
            };
            if let Some(product) = product.filter(|_| !self.rows.contains_key(&id)) {
                // The rounding is not printed: the name stands for the product itself.
                let name = self.expr(product);
                self.names.insert(id, name);
                continue;
            }
            let has_lanes = self.has_lanes(id);
            let computed = || product.map_or_else(|| self.operation(id), |product| self.expr(product));
            let value = self.kept_in_row(id).unwrap_or_else(computed);
            let value = if self.conditions.contains(&id) && !has_lanes { kept(&value) } else { value };
            let name = format!("v{}", self.count);
            self.count += 1;
            let kind = self.program.arena.kind(id);
            let ty = match (has_lanes, kind) {
                (true, ValueKind::Bool) => "mask",
                (true, _) => "vec",
                (false, kind) => kind_type(kind),
            };
            self.line(&format!("const {ty} {name} = {value};"));
            if let Some(row) = self.rows.get(&id).filter(|_| !self.filled.contains(&id)) {
                let store =
                    if has_lanes { format!("put_row({row} + k, {name});") } else { format!("{row}[k] = {name};") };
                self.line(&store);
            }
            self.names.insert(id, name);
        }
    }

    /// Returns whether a value stands for a register of elements here.
    pub(super) fn has_lanes(&self, id: ExprId) -> bool {
        self.lanes.as_ref().is_some_and(|(_, varying)| varying.contains(&id))
    }

    /// Returns the text of a store that copies elements without converting them.
    fn copy(&self, statement: &Statement) -> Option<String> {
        let Statement::Store { buffer, at, value, .. } = statement else { return None };
        let Expr::Load { buffer: from, at: place, .. } = self.program.arena.get(*value) else { return None };
        self.copies.contains(value).then_some(())?;
        let (to, from) = (&self.buffers[*buffer], &self.buffers[*from]);
        let (to_text, from_text) = (self.index(at), self.index(place));
        let Some((var, _)) = &self.lanes else { return Some(format!("{to}[{to_text}] = {from}[{from_text}];")) };
        let stride = |at| coefficient(at, *var);
        let is_row = stride(at) == Some(1) && stride(place) == Some(1) && !self.is_partial;
        is_row.then(|| format!("copy_row({to} + {to_text}, {from} + {from_text});"))
    }

    pub(super) fn act(&mut self, statement: &Statement) {
        self.comment_store(statement);
        if let Some(line) = self.copy(statement) {
            return self.line(&line);
        }
        let line = match statement {
            Statement::Store { buffer, dtype, at, value } => {
                // A store that rounds needs a branch for NaN. Compilers turned a selection before it into branches
                // that depend on the data: 33 us where 6 are enough.
                let is_exact = *dtype == DType::BFloat16 && self.program.arena.is_exact(*value, *dtype);
                let (to, at_text, value) = (&self.buffers[*buffer], self.index(at), self.operand(*value));
                let left = if self.is_partial { ", left" } else { "" };
                match (&self.lanes, dtype) {
                    (Some((var, _)), _) => match coefficient(at, *var) {
                        Some(1) | None if is_exact => format!("put_row_exact({to} + {at_text}, {value}{left});"),
                        Some(1) | None => format!("put_row({to} + {at_text}, {value}{left});"),
                        Some(stride) => format!("put_strided({to} + {at_text}, {}, {value}{left});", size(stride)),
                    },
                    (None, DType::BFloat16) if is_exact => format!("put_exact({to} + {at_text}, {value});"),
                    (None, DType::Float16 | DType::BFloat16) => format!("put({to} + {at_text}, {value});"),
                    (None, DType::Int32 | DType::Int16 | DType::Int8 | DType::UInt8) => {
                        format!("{to}[{at_text}] = static_cast<{}>({value});", storage_type(*dtype))
                    }
                    (None, _) => format!("{to}[{at_text}] = {value};"),
                }
            }
            Statement::Reduce { tensor, fold, value, kind, .. } => {
                let mut name = self.folds[tensor].clone();
                let value = self.operand(*value);
                if self.is_across {
                    self.fold_across(&name, *fold, &value);
                    return;
                }
                if let (ReduceOp::Sum, Some(width)) = (fold, &self.left_of) {
                    let left = if self.is_partial { ", left" } else { "" };
                    self.line(&format!("add_left({name}_lanes, {name}, {value}, k, {width}{left});"));
                    return;
                }
                let value =
                    if self.is_partial { format!("first_lanes({value}, left, {})", neutral(*fold)) } else { value };
                if self.lanes.is_some() {
                    name.push_str("_lanes");
                    if self.in_whole_step {
                        name.push_str(".part[part]");
                    } else if self.sums != Sums::Plain && *fold != ReduceOp::Sum {
                        name.push_str(".part[0]");
                    }
                }
                match fold {
                    ReduceOp::Sum if self.lanes.is_none() && matches!(kind, ValueKind::F32 | ValueKind::F64) => {
                        format!("{name} = added({name}, {value});")
                    }
                    ReduceOp::Sum => format!("{name} += {value};"),
                    ReduceOp::Max => format!("{name} = maximum({value}, {name});"),
                    ReduceOp::Min => format!("{name} = minimum({value}, {name});"),
                }
            }
        };
        self.line(&line);
    }
}

/// Returns the neutral element of a reduction.
const fn neutral(fold: ReduceOp) -> &'static str {
    match fold {
        ReduceOp::Sum => "0.0f",
        ReduceOp::Max => "-INFINITY",
        ReduceOp::Min => "INFINITY",
    }
}
