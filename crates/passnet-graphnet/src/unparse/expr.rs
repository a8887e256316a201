use std::fmt::Write;

use passnet_graph::literal::{FloatRepr, StrRepr};
use ruff_python_ast::{Arguments, Expr, ExprNumberLiteral, ExprSlice, Number, Operator, UnaryOp};

use super::{Rewrite, Unparser};
use crate::{Error, ErrorKind};

/// Precedence of an expression. An expression gets brackets if its precedence is lower than its place requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Tuple,
    Test,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Arithmetic,
    Term,
    Factor,
    Power,
    Atom,
}

impl Precedence {
    fn of(op: Operator) -> Self {
        match op {
            Operator::Add | Operator::Sub => Self::Arithmetic,
            Operator::Mult | Operator::MatMult | Operator::Div | Operator::Mod | Operator::FloorDiv => Self::Term,
            Operator::Pow => Self::Power,
            Operator::LShift | Operator::RShift => Self::Shift,
            Operator::BitOr => Self::BitOr,
            Operator::BitXor => Self::BitXor,
            Operator::BitAnd => Self::BitAnd,
        }
    }

    /// Returns the next higher precedence.
    fn next(self) -> Self {
        match self {
            Self::Tuple => Self::Test,
            Self::Test => Self::Compare,
            Self::Compare => Self::BitOr,
            Self::BitOr => Self::BitXor,
            Self::BitXor => Self::BitAnd,
            Self::BitAnd => Self::Shift,
            Self::Shift => Self::Arithmetic,
            Self::Arithmetic => Self::Term,
            Self::Term => Self::Factor,
            Self::Factor => Self::Power,
            Self::Power | Self::Atom => Self::Atom,
        }
    }
}

impl<'a, R: Rewrite<'a>> Unparser<'_, R> {
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Result<(), Error> {
        self.expr_at(expr, Precedence::Test)
    }

    /// Prints a target of an assignment. A tuple needs no brackets there.
    pub(super) fn target(&mut self, target: &'a Expr) -> Result<(), Error> {
        self.expr_at(target, Precedence::Tuple)
    }

    fn expr_at(&mut self, expr: &'a Expr, place: Precedence) -> Result<(), Error> {
        match expr {
            Expr::Name(name) => {
                let name = self.rewrite.name(&name.id);
                self.out.push_str(&name);
            }
            Expr::NoneLiteral(_) => self.out.push_str("None"),
            Expr::BooleanLiteral(literal) => self.out.push_str(if literal.value { "True" } else { "False" }),
            Expr::EllipsisLiteral(_) => self.out.push_str("..."),
            Expr::StringLiteral(literal) => {
                // `ast.unparse` keeps the prefix `u` of the first part and drops all other prefixes.
                if literal.value.iter().next().is_some_and(|part| part.flags.prefix().is_unicode()) {
                    self.out.push('u');
                }
                self.write(format_args!("{}", StrRepr(literal.value.to_str())));
            }
            Expr::NumberLiteral(literal) => self.number(literal)?,
            Expr::Attribute(attribute) => {
                self.expr_at(&attribute.value, Precedence::Atom)?;
                // Brackets are needed, because `5.real` would be a malformed float.
                let is_int = matches!(&*attribute.value, Expr::NumberLiteral(number) if number.value.is_int());
                self.out.push_str(if is_int { " ." } else { "." });
                self.out.push_str(&attribute.attr);
            }
            Expr::Call(call) => {
                self.expr_at(&call.func, Precedence::Atom)?;
                self.arguments(&call.arguments)?;
            }
            Expr::Subscript(subscript) => {
                self.expr_at(&subscript.value, Precedence::Atom)?;
                self.out.push('[');
                match &*subscript.slice {
                    // `x[a, b]` has no brackets around its tuple, and `x[()]` has.
                    Expr::Tuple(tuple) if !tuple.elts.is_empty() => self.items(&tuple.elts)?,
                    slice => self.expr(slice)?,
                }
                self.out.push(']');
            }
            Expr::Slice(slice) => self.slice(slice)?,
            Expr::List(list) => {
                self.out.push('[');
                self.separated(&list.elts, Self::expr)?;
                self.out.push(']');
            }
            Expr::Tuple(tuple) => {
                self.bracketed(tuple.elts.is_empty() || place > Precedence::Tuple, |this| this.items(&tuple.elts))?;
            }
            Expr::UnaryOp(unary) if unary.op != UnaryOp::Not => {
                self.bracketed(place > Precedence::Factor, |this| {
                    this.out.push_str(unary.op.as_str());
                    this.expr_at(&unary.operand, Precedence::Factor)
                })?;
            }
            Expr::BinOp(binary) => {
                let own = Precedence::of(binary.op);
                // Powers group from the right, all other operators from the left.
                let (left, right) = if binary.op == Operator::Pow { (own.next(), own) } else { (own, own.next()) };
                self.bracketed(place > own, |this| {
                    this.expr_at(&binary.left, left)?;
                    this.write(format_args!(" {} ", binary.op.as_str()));
                    this.expr_at(&binary.right, right)
                })?;
            }
            Expr::Compare(compare) => {
                let own = Precedence::Compare;
                self.bracketed(place > own, |this| {
                    // A comparison inside a comparison needs brackets: `a < b < c` is a chain, not `(a < b) <
                    // c`.
                    this.expr_at(&compare.left, own.next())?;
                    for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                        this.write(format_args!(" {} ", op.as_str()));
                        this.expr_at(right, own.next())?;
                    }
                    Ok(())
                })?;
            }
            other => return Err(self.unsupported(other, "this expression")),
        }
        Ok(())
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(text);
    }

    fn bracketed(
        &mut self,
        has_brackets: bool,
        print: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !has_brackets {
            return print(self);
        }
        self.out.push('(');
        print(self)?;
        self.out.push(')');
        Ok(())
    }

    /// Prints the elements of a tuple, without its brackets.
    fn items(&mut self, elements: &'a [Expr]) -> Result<(), Error> {
        self.separated(elements, Self::expr)?;
        // `(x)` is `x` in brackets, `(x,)` is a tuple.
        if elements.len() == 1 {
            self.out.push(',');
        }
        Ok(())
    }

    pub(super) fn arguments(&mut self, arguments: &'a Arguments) -> Result<(), Error> {
        self.out.push('(');
        self.separated(&arguments.args, Self::expr)?;
        for (index, keyword) in arguments.keywords.iter().enumerate() {
            if index > 0 || !arguments.args.is_empty() {
                self.out.push_str(", ");
            }
            let Some(name) = &keyword.arg else {
                return Err(self.unsupported(&keyword.value, "an unpacked dictionary"));
            };
            self.out.push_str(name);
            self.out.push('=');
            self.expr(&keyword.value)?;
        }
        self.out.push(')');
        Ok(())
    }

    fn slice(&mut self, slice: &'a ExprSlice) -> Result<(), Error> {
        if let Some(lower) = &slice.lower {
            self.expr(lower)?;
        }
        self.out.push(':');
        if let Some(upper) = &slice.upper {
            self.expr(upper)?;
        }
        if let Some(step) = &slice.step {
            self.out.push(':');
            self.expr(step)?;
        }
        Ok(())
    }

    fn number(&mut self, literal: &ExprNumberLiteral) -> Result<(), Error> {
        match &literal.value {
            // Python prints an infinite literal as a number that overflows when it is read.
            Number::Float(value) if value.is_infinite() => self.out.push_str("1e309"),
            Number::Float(value) => self.write(format_args!("{}", FloatRepr(*value))),
            Number::Int(integer) => match integer.as_u64() {
                Some(value) => self.write(format_args!("{value}")),
                None => {
                    let digits = self.source.text_of(literal).chars().take(40).collect();
                    return Err(self.source.error(literal, ErrorKind::HugeInteger(digits)));
                }
            },
            Number::Complex { .. } => return Err(self.unsupported(literal, "a complex number")),
        }
        Ok(())
    }
}
