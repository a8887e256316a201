//! Indices as expressions on the positions of a tile.

use super::{TritonPrinter, name_of, places::without_constant};
use crate::{
    back::print::{operand, size, sum},
    front::index::{Index, Term},
};

impl TritonPrinter<'_> {
    /// Returns the text of an index. Lines before it define the names of shared parts.
    pub(super) fn index(&mut self, index: &Index, condition: usize) -> String {
        let part = without_constant(index);
        if !self.places.shared.contains(&part) {
            return self.in_place(index, condition);
        }
        let name = self.shared_place(&part, condition);
        match index.constant_part() {
            0 => name,
            constant => format!("{name} + {}", size(constant)),
        }
    }

    /// Returns the name of a shared part.
    fn shared_place(&mut self, part: &Index, condition: usize) -> String {
        if let Some(name) = self.places.names.get(part) {
            return name.clone();
        }
        let text = self.in_place(part, condition);
        let name = self.fresh_line("at", &text);
        self.places.names.insert(part.clone(), name.clone());
        name
    }

    /// Returns the text of an index that is no shared part itself, or of a shared part where it gets its name.
    fn in_place(&mut self, index: &Index, condition: usize) -> String {
        sum(index, |term| match term {
            Term::Var(var) => {
                let all = [&self.rows, &self.columns, &self.fixed];
                all.into_iter().find_map(|loops| name_of(loops, *var)).unwrap_or("0").to_owned()
            }
            Term::Div(inner, by) | Term::Mod(inner, by) => {
                let part = Index::term(term.clone());
                if part != *index && self.places.shared.contains(&part) {
                    return self.shared_place(&part, condition);
                }
                let sign = if matches!(term, Term::Div(..)) { "//" } else { "%" };
                format!("{} {sign} {}", operand(self.index(inner, condition)), size(*by))
            }
            Term::Value { expr, wrap: 0, .. } => self.value(*expr, condition),
            Term::Value { expr, wrap, .. } => {
                let value = self.value(*expr, condition);
                format!("tl.where({value} < 0, {value} + {}, {value})", size(*wrap))
            }
        })
    }
}
