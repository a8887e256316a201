//! The statements of `forward`, as the quick reader reads them.

use passnet_graph::Arg;

use super::{Reader, expr::PartialExpr};
use crate::{graph_module::scope::Local, operators};

/// Largest number of brackets around a name.
const MAX_BRACKETS: usize = 8;

impl<'a> Reader<'a> {
    /// Reads all statements up to the return, which ends the text. Returns the returned values.
    pub(super) fn statements(&mut self) -> Option<Vec<Arg>> {
        loop {
            self.depth = self.indent as u32;
            if self.cursor.eat_word("return") {
                return self.outputs();
            }
            self.statement()?;
            self.next_statement()?;
        }
    }

    /// Steps from the end of a statement to the beginning of the next one.
    fn next_statement(&mut self) -> Option<()> {
        self.cursor.spaces();
        if self.cursor.eat(b';') {
            self.cursor.spaces();
            if !matches!(self.cursor.byte(), b'\n' | b'#') {
                return Some(());
            }
        }
        self.end_of_line()?;
        (self.next_line()? == self.indent).then_some(())
    }

    fn is_at_end_of_statement(&mut self) -> bool {
        self.cursor.spaces();
        matches!(self.cursor.byte(), b'\n' | b';' | b'#') || self.cursor.is_at_end()
    }

    /// Reads `x = ...`, `x += ...` or `x[...] = ...`.
    fn statement(&mut self) -> Option<()> {
        let name = self.bracketed_name()?;
        self.cursor.spaces();
        match self.cursor.byte() {
            // These words begin other statements. Only a parser can distinguish them from statements about a name.
            _ if matches!(name, "match" | "case" | "type" | "lazy") => None,
            b'=' if self.cursor.byte_ahead(1) != b'=' => self.assignment(name),
            b'[' => self.item_assignment(name),
            _ => self.assignment_in_place(name),
        }
    }

    /// Reads `x`, which formatters write as `(x)` if the line is long.
    fn bracketed_name(&mut self) -> Option<&'a str> {
        let mut brackets = 0;
        while self.cursor.eat(b'(') {
            self.cursor.trivia();
            brackets += 1;
        }
        let name = self.cursor.word()?;
        for _ in 0..brackets {
            self.cursor.trivia();
            self.cursor.expect(b')')?;
        }
        (brackets <= MAX_BRACKETS).then_some(name)
    }

    /// Reads `x = y = ...` from the first `=` on.
    fn assignment(&mut self, first: &'a str) -> Option<()> {
        let setitem = self.body.take_setitem();
        self.targets.clear();
        let mut target = Some(first);
        let mut value = None;
        // A term followed by `=` is a target; a name that ends the statement is the value.
        while let Some(name) = target.take() {
            let local = self.value_name(name)?;
            self.targets.push(local);
            self.cursor.step(1);
            self.cursor.spaces();
            let start = self.cursor.at();
            if let Some(name) = self.bracketed_name() {
                if self.is_at_end_of_statement() {
                    value = Some(self.name(name)?);
                } else if self.cursor.byte() == b'=' && self.cursor.byte_ahead(1) != b'=' {
                    target = Some(name);
                }
            }
            if target.is_none() && value.is_none() {
                self.cursor.go_to(start);
            }
        }
        let value = match value {
            Some(arg) => arg,
            None => {
                let term = self.expr()?;
                self.settle(term, self.targets.first().copied())
            }
        };
        for index in 0..self.targets.len() {
            let target = self.targets[index];
            // Only the literal `None` is read as this argument.
            if let Arg::None = value {
                self.body.free(target);
            } else if !self.body.bind(target, value, setitem) {
                return None;
            }
        }
        Some(())
    }

    /// Reads `x += ...` from the operator on.
    fn assignment_in_place(&mut self, name: &'a str) -> Option<()> {
        let function = operators::in_place(self.cursor.operator()?)?;
        self.cursor.expect(b'=')?;
        self.cursor.spaces();
        let target = self.value_name(name)?;
        let base = self.body.args.len();
        let old = self.name(name)?;
        self.push(old);
        let operand = self.arg()?;
        self.push(operand);
        let alias = self.alias(name);
        self.body.assign_in_place(function, target, alias, base);
        Some(())
    }

    /// Reads `x[...] = value` from the bracket on.
    fn item_assignment(&mut self, name: &'a str) -> Option<()> {
        let index_start = self.cursor.at();
        self.cursor.brackets()?;
        let index_end = self.cursor.at();
        self.cursor.spaces();
        self.cursor.expect(b'=')?;
        self.cursor.spaces();
        // Python evaluates the value before the index, and nodes follow this order, so the index is read
        // afterwards.
        let value = self.arg()?;
        let end = self.cursor.at();
        // The index was skipped as text before. It is read now, after the value.
        self.cursor.go_to(index_start);
        self.depth = self.indent as u32;
        let base = self.body.args.len();
        let receiver = self.name(name)?;
        self.push(receiver);
        let index = self.index()?;
        // If the index does not end where the skipped text ended, the two readings disagree.
        if self.cursor.at() != index_end {
            return None;
        }
        self.push(index);
        self.push(value);
        self.cursor.go_to(end);
        let alias = self.alias(name);
        self.body.assign_item(alias, base);
        Some(())
    }

    /// Returns `z` if the next statement is `z = name`. Returns `None` for a statement that cannot be read here; it cannot be
    /// read later either.
    fn alias(&mut self, name: &str) -> Option<Local<'a>> {
        let end = self.cursor.at();
        let alias = self.next_statement().and_then(|()| self.name_of(name));
        self.cursor.go_to(end);
        self.value_name(alias?)
    }

    fn name_of(&mut self, value: &str) -> Option<&'a str> {
        let alias = self.bracketed_name()?;
        self.cursor.spaces();
        self.cursor.expect(b'=')?;
        self.cursor.spaces();
        (self.bracketed_name()? == value && self.is_at_end_of_statement()).then_some(alias)
    }

    /// Reads the values after `return`, to the end of the text.
    fn outputs(&mut self) -> Option<Vec<Arg>> {
        self.cursor.spaces();
        let base = self.body.args.len();
        match self.cursor.byte() {
            b'[' => _ = self.elements()?,
            b'(' => {
                // `((x, y))` is `(x, y)`.
                let is_expression = !self.elements()?;
                if is_expression && self.body.args[base].elements().is_some() {
                    return None;
                }
            }
            _ => {
                let arg = self.arg()?;
                self.push(arg);
            }
        }
        if !self.is_at_end_of_statement() {
            return None;
        }
        self.cursor.eat(b';');
        self.cursor.trivia();
        self.cursor.is_at_end().then(|| self.body.args.split_off(base))
    }

    /// Reads an expression that does not name a node.
    pub(super) fn arg(&mut self) -> Option<Arg> {
        let term = self.expr()?;
        Some(self.settle(term, None))
    }

    /// Returns the argument for `None`, or for a bound name.
    pub(super) fn name(&mut self, name: &str) -> Option<Arg> {
        match name {
            "None" => Some(Arg::None),
            "True" => Some(Arg::Bool(true)),
            "False" => Some(Arg::Bool(false)),
            _ => self.body.name(name),
        }
    }

    /// Adds the node of `term`, if `term` is a call.
    pub(super) fn settle(&mut self, term: PartialExpr<'a>, wanted: Option<Local<'a>>) -> Arg {
        match term {
            PartialExpr::Arg(arg) => arg,
            PartialExpr::Call { callee, args, kwargs } => self.body.call(callee, wanted, args, kwargs).into(),
        }
    }
}
