//! Expressions, as the quick reader reads them.

use passnet_graph::{Arg, Callee, names::is_torch_path, operators::GETATTR};

use super::Reader;
use crate::{
    graph_module::body::{is_function, is_module},
    literal::float_of,
    operators,
};

/// The part of an expression that has been read. A call becomes a node only when it is known whether the expression ends there:
/// in `y = a.f(x).T`, the name `y` belongs to `.T` and not to the call.
#[derive(Clone, Copy)]
pub(super) enum PartialExpr<'a> {
    Arg(Arg),
    /// A call with the arguments on the stacks from `args` and `kwargs` up.
    Call {
        callee: Callee<'a>,
        args: usize,
        kwargs: usize,
    },
}

impl<'a> Reader<'a> {
    /// Reads an expression with at most one operator that has two operands. If there are more operators, reading stops before the
    /// place where the caller expects the end.
    pub(super) fn expr(&mut self) -> Option<PartialExpr<'a>> {
        let base = self.body.args.len();
        let is_signed = matches!(self.cursor.byte(), b'-' | b'+' | b'~');
        let left = self.operand()?;
        self.gap();
        if !self.is_operator() {
            return Some(left);
        }
        let symbol = self.cursor.operator()?;
        let function = operators::binary(symbol).or_else(|| operators::compare(symbol))?;
        // `-x ** y` is `-(x ** y)`.
        if is_signed && symbol == "**" {
            return None;
        }
        self.deepen(2)?;
        let left = self.settle(left, None);
        self.push(left);
        self.gap();
        let right = self.operand()?;
        let right = self.settle(right, None);
        self.push(right);
        self.gap();
        Some(self.function(function, base))
    }

    /// Steps over the characters that may separate tokens here.
    fn gap(&mut self) {
        if self.brackets > 0 {
            self.cursor.trivia();
        } else {
            self.cursor.spaces();
        }
    }

    fn is_operator(&self) -> bool {
        match self.cursor.byte() {
            b'=' => self.cursor.byte_ahead(1) == b'=',
            byte => matches!(byte, b'+' | b'-' | b'*' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^' | b'<' | b'>' | b'!'),
        }
    }

    fn function(&self, function: &'static str, args: usize) -> PartialExpr<'a> {
        PartialExpr::Call { callee: Callee::Function(function), args, kwargs: self.body.kwargs.len() }
    }

    /// Reads signs and their operand. `-1` and `-inf` are constants, `-x` is an operation.
    fn operand(&mut self) -> Option<PartialExpr<'a>> {
        let sign = match self.cursor.byte() {
            b'-' => "-",
            b'+' => "+",
            b'~' => "~",
            _ => return self.primary(),
        };
        self.cursor.step(1);
        self.deepen(1)?;
        self.gap();
        let is_invert = sign == "~";
        match self.cursor.byte() {
            b'0'..=b'9' if !is_invert => return self.number(sign == "-"),
            // `-(1)` is a constant, too.
            b'(' if !is_invert => return None,
            _ => {}
        }
        let (start, base) = (self.cursor.at(), self.body.args.len());
        let operand = self.operand()?;
        if sign == "-" && self.cursor.since(start)? == "inf" {
            return Some(PartialExpr::Arg(Arg::Float(f64::NEG_INFINITY)));
        }
        let operand = self.settle(operand, None);
        self.push(operand);
        Some(self.function(operators::unary(sign)?, base))
    }

    fn number(&mut self, is_negative: bool) -> Option<PartialExpr<'a>> {
        // `1.5e-05` counts as five tokens of nesting.
        self.deepen(5)?;
        self.cursor.number(is_negative).map(PartialExpr::Arg)
    }

    /// Reads a literal, name or call, and the attributes, methods and items after it.
    fn primary(&mut self) -> Option<PartialExpr<'a>> {
        let mut term = self.atom()?;
        loop {
            let base = match term {
                PartialExpr::Arg(_) => self.body.args.len(),
                PartialExpr::Call { args, .. } => args,
            };
            match self.cursor.byte() {
                b'.' => {
                    // Settled before the name is read: the receiver's node comes before the nodes of the
                    // arguments.
                    let Arg::Value(receiver) = self.settle(term, None) else { return None };
                    self.cursor.step(1);
                    self.deepen(2)?;
                    let name = self.cursor.word()?;
                    if self.cursor.byte() == b'(' {
                        self.push(receiver.into());
                        term = self.arguments(Callee::Method(name), base)?;
                    } else {
                        self.body.push_attribute(receiver, name);
                        term = self.function(GETATTR, base);
                    }
                }
                b'[' => {
                    let receiver = self.settle(term, None);
                    self.push(receiver);
                    let index = self.index()?;
                    self.push(index);
                    term = self.function("operator.getitem", base);
                }
                _ => return Some(term),
            }
        }
    }

    fn atom(&mut self) -> Option<PartialExpr<'a>> {
        match self.cursor.byte() {
            b'0'..=b'9' => self.number(false),
            b'\'' | b'"' => {
                self.deepen(1)?;
                let text = self.cursor.string()?;
                Some(PartialExpr::Arg(self.body.builder.str(text)))
            }
            b'(' => self.bracketed(),
            b'[' => {
                let base = self.body.args.len();
                self.elements()?;
                Some(PartialExpr::Arg(self.body.list(base)))
            }
            b'.' => {
                self.deepen(3)?;
                self.cursor.expect_text("...")?;
                Some(PartialExpr::Arg(Arg::Ellipsis))
            }
            _ => self.named(),
        }
    }

    /// Reads an expression that begins with a word.
    fn named(&mut self) -> Option<PartialExpr<'a>> {
        self.deepen(1)?;
        let start = self.cursor.at();
        let word = self.cursor.word()?;
        match self.cursor.byte() {
            b'.' if is_module(word) => {
                let path = self.dotted(start)?;
                if self.cursor.byte() == b'(' {
                    return match path {
                        "torch.device" => self.device(),
                        _ if is_function(path) => self.arguments(Callee::Function(path), self.body.args.len()),
                        _ => None,
                    };
                }
                let constant = self.body.constant(path);
                (matches!(constant, Arg::DType(_)) || is_torch_path(path)).then_some(PartialExpr::Arg(constant))
            }
            b'(' => match word {
                "slice" => {
                    let base = self.body.args.len();
                    self.elements()?;
                    self.body.slice_call(base).map(PartialExpr::Arg)
                }
                "device" if self.body.scope.get("device").is_none() => self.device(),
                "float" => {
                    let bracket = self.open()?;
                    let value = float_of(self.cursor.string()?)?;
                    (!self.continues(bracket)?).then_some(PartialExpr::Arg(Arg::Float(value)))
                }
                "getattr" => self.arguments(Callee::Function(GETATTR), self.body.args.len()),
                _ => None,
            },
            _ => self.name(word).map(PartialExpr::Arg),
        }
    }

    /// Reads `('cuda')`, `('cuda', 0)` or `(type='cuda', index=0)` from the open bracket on.
    fn device(&mut self) -> Option<PartialExpr<'a>> {
        let bracket = self.open()?;
        let has_keywords = self.cursor.eat_word("type");
        if has_keywords {
            self.cursor.expect(b'=')?;
        }
        let kind = self.cursor.string()?;
        let mut index = None;
        if self.continues(bracket)? {
            if self.cursor.eat_word("index") {
                self.cursor.expect(b'=')?;
            } else if has_keywords {
                return None;
            }
            let Arg::Int(number) = self.cursor.number(false)? else { return None };
            index = Some(u32::try_from(number).ok()?);
            if self.continues(bracket)? {
                return None;
            }
        }
        self.body.device(kind, index).map(PartialExpr::Arg)
    }

    /// Reads `(x)`, which is `x`, or a tuple.
    fn bracketed(&mut self) -> Option<PartialExpr<'a>> {
        let base = self.body.args.len();
        let bracket = self.open()?;
        if self.closes(bracket) {
            return Some(PartialExpr::Arg(self.body.tuple(base)));
        }
        let first = self.expr()?;
        if self.closes(bracket) {
            return Some(first);
        }
        let first = self.settle(first, None);
        self.push(first);
        while self.continues(bracket)? {
            let element = self.arg()?;
            self.push(element);
        }
        Some(PartialExpr::Arg(self.body.tuple(base)))
    }

    /// Pushes the elements in brackets, from the open bracket on. Returns false if there is a single element without a comma
    /// after it.
    pub(super) fn elements(&mut self) -> Option<bool> {
        let bracket = self.open()?;
        if self.closes(bracket) {
            return Some(true);
        }
        let mut has_comma = false;
        loop {
            let element = self.arg()?;
            self.push(element);
            has_comma |= self.cursor.byte() == b',';
            if !self.continues(bracket)? {
                return Some(has_comma);
            }
        }
    }

    /// Reads the arguments of a call, from the open bracket on. The stack from `base` up holds the arguments that precede them.
    fn arguments(&mut self, callee: Callee<'a>, base: usize) -> Option<PartialExpr<'a>> {
        let kwargs = self.body.kwargs.len();
        let bracket = self.open()?;
        let mut continues = !self.closes(bracket);
        while continues {
            self.argument(kwargs)?;
            continues = self.continues(bracket)?;
        }
        Some(PartialExpr::Call { callee, args: base, kwargs })
    }

    /// Reads one argument of a call whose keyword arguments begin at `kwargs`.
    fn argument(&mut self, kwargs: usize) -> Option<()> {
        let start = self.cursor.at();
        let word = self.cursor.word();
        if let (Some(keyword), b'=') = (word, self.cursor.byte())
            && self.cursor.byte_ahead(1) != b'='
        {
            self.deepen(2)?;
            self.cursor.step(1);
            self.cursor.trivia();
            let arg = self.arg()?;
            self.body.kwargs.push((keyword, arg));
            return Some(());
        }
        let arg = match (word, self.cursor.byte()) {
            // Most arguments are names.
            (Some(name), b',' | b')') => self.name(name)?,
            _ => {
                // The word was the start of a longer expression. Reading it again is safe, because words have no effect on the
                // graph.
                self.cursor.go_to(start);
                self.arg()?
            }
        };
        self.push(arg);
        // Python requires positional arguments before keyword arguments.
        (self.body.kwargs.len() == kwargs).then_some(())
    }

    /// Reads `[i]`, `[i, j]` or `[a:b:c]` from the open bracket on.
    pub(super) fn index(&mut self) -> Option<Arg> {
        let base = self.body.args.len();
        let bracket = self.open()?;
        let first = self.index_element()?;
        if self.closes(bracket) {
            return Some(first);
        }
        self.push(first);
        while self.continues(bracket)? {
            let element = self.index_element()?;
            self.push(element);
        }
        Some(self.body.tuple(base))
    }

    fn index_element(&mut self) -> Option<Arg> {
        let start = if self.cursor.byte() == b':' { Arg::None } else { self.arg()? };
        if self.cursor.byte() != b':' {
            return Some(start);
        }
        let stop = self.bound()?;
        let step = if self.cursor.byte() == b':' { self.bound()? } else { Arg::None };
        Some(self.body.builder.slice(start, stop, step))
    }

    /// Reads a bound of a slice: the text after a `:` up to the next one, or up to the end of the slice.
    fn bound(&mut self) -> Option<Arg> {
        self.deepen(1)?;
        self.cursor.step(1);
        self.cursor.trivia();
        if matches!(self.cursor.byte(), b':' | b',' | b']') { Some(Arg::None) } else { self.arg() }
    }
}
