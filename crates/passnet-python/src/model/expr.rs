use std::borrow::Cow;

use passnet_graph::{Arg, Callee, operators::GETATTR};
use ruff_python_ast::{
    Expr, ExprAttribute, ExprCall, ExprName, ExprNumberLiteral, ExprSlice, ExprUnaryOp, Number, UnaryOp,
};

use super::{
    lower::{Lower, unsupported},
    operators,
};
use crate::{
    Error, ErrorKind,
    literal::{Scalar, float_call},
};

impl<'a> Lower<'a> {
    /// Reads an expression. If it is an operation, it becomes a node that is called `wanted` where that is possible.
    pub(super) fn expr(&mut self, expr: &'a Expr, wanted: Option<&'a str>) -> Result<Arg, Error> {
        match expr {
            Expr::Name(name) => self.name(name),
            Expr::NoneLiteral(_) => Ok(Arg::None),
            Expr::BooleanLiteral(literal) => Ok(Arg::Bool(literal.value)),
            Expr::EllipsisLiteral(_) => Ok(Arg::Ellipsis),
            Expr::NumberLiteral(literal) => self.number(literal, false),
            Expr::StringLiteral(literal) => Ok(self.builder.str(literal.value.to_str())),
            Expr::Tuple(tuple) => {
                let base = self.elements(&tuple.elts)?;
                let arg = self.builder.tuple(&self.args[base..]);
                self.args.truncate(base);
                Ok(arg)
            }
            Expr::List(list) => {
                let base = self.elements(&list.elts)?;
                let arg = self.builder.list(&self.args[base..]);
                self.args.truncate(base);
                Ok(arg)
            }
            Expr::Slice(slice) => self.slice(slice),
            Expr::Call(call) => self.call_expr(call, wanted),
            Expr::Attribute(attribute) => self.attribute(attribute, wanted),
            Expr::UnaryOp(unary) => self.unary(unary, wanted),
            Expr::BinOp(binary) => self.operation(operators::binary(binary.op), [&binary.left, &binary.right], wanted),
            Expr::Subscript(subscript) => {
                self.operation("operator.getitem", [&subscript.value, &subscript.slice], wanted)
            }
            Expr::Compare(compare) => match (&*compare.ops, &*compare.comparators) {
                ([op], [right]) if let Some(target) = operators::compare(*op) => {
                    self.operation(target, [&compare.left, right], wanted)
                }
                _ => Err(unsupported(self.source, expr, "this comparison")),
            },
            other => Err(unsupported(self.source, other, "this expression")),
        }
    }

    fn operation<const N: usize>(
        &mut self,
        target: &'static str,
        operands: [&'a Expr; N],
        wanted: Option<&'a str>,
    ) -> Result<Arg, Error> {
        let base = self.args.len();
        for operand in operands {
            let arg = self.expr(operand, None)?;
            self.args.push(arg);
        }
        Ok(self.call(Callee::Function(target), wanted, base, self.kwargs.len()).into())
    }

    /// Pushes each element and says where the first one is.
    fn elements(&mut self, elements: &'a [Expr]) -> Result<usize, Error> {
        let base = self.args.len();
        for element in elements {
            let arg = self.expr(element, None)?;
            self.args.push(arg);
        }
        Ok(base)
    }

    fn name(&mut self, name: &ExprName) -> Result<Arg, Error> {
        match (self.scope.get(&name.id), name.id.as_str()) {
            (Some(arg), _) => Ok(arg),
            (None, "inf") => Ok(Arg::Float(f64::INFINITY)),
            (None, "nan") => Ok(Arg::Float(f64::NAN)),
            (None, "Ellipsis") => Ok(Arg::Ellipsis),
            (None, unknown) => Err(self.source.error(name, ErrorKind::Unbound(unknown.to_owned()))),
        }
    }

    fn number(&self, literal: &ExprNumberLiteral, is_negative: bool) -> Result<Arg, Error> {
        match Scalar::number(&literal.value, is_negative) {
            Some(Scalar::Int(value)) => Ok(Arg::Int(value)),
            Some(Scalar::Float(value)) => Ok(Arg::Float(value)),
            _ if matches!(literal.value, Number::Complex { .. }) => {
                Err(unsupported(self.source, literal, "a complex number"))
            }
            _ => {
                let digits = self.source.text_of(literal).chars().take(40).collect();
                Err(self.source.error(literal, ErrorKind::HugeInteger(digits)))
            }
        }
    }

    /// `-1` and `-inf` are constants; `-x` is an operation.
    fn unary(&mut self, unary: &'a ExprUnaryOp, wanted: Option<&'a str>) -> Result<Arg, Error> {
        match (unary.op, &*unary.operand) {
            (UnaryOp::USub, Expr::NumberLiteral(literal)) => return self.number(literal, true),
            (UnaryOp::UAdd, Expr::NumberLiteral(literal)) => return self.number(literal, false),
            (UnaryOp::USub, Expr::Name(name)) if name.id == "inf" => return Ok(Arg::Float(f64::NEG_INFINITY)),
            _ => {}
        }
        match operators::unary(unary.op) {
            Some(target) => self.operation(target, [&unary.operand], wanted),
            None => Err(unsupported(self.source, unary, "`not`")),
        }
    }

    fn slice(&mut self, slice: &'a ExprSlice) -> Result<Arg, Error> {
        let mut bound = |bound: &'a Option<Box<Expr>>| match bound {
            Some(bound) => self.expr(bound, None),
            None => Ok(Arg::None),
        };
        let (start, stop, step) = (bound(&slice.lower)?, bound(&slice.upper)?, bound(&slice.step)?);
        Ok(self.builder.slice(start, stop, step))
    }

    fn attribute(&mut self, attribute: &'a ExprAttribute, wanted: Option<&'a str>) -> Result<Arg, Error> {
        match self.dotted(attribute) {
            Some(("torch", path)) => Ok(match path.parse() {
                Ok(dtype) => Arg::DType(dtype),
                Err(_) => self.builder.attr(&path),
            }),
            _ => {
                let base = self.args.len();
                let receiver = self.receiver(&attribute.value)?;
                let name = self.builder.str(&attribute.attr);
                self.args.extend([receiver, name]);
                Ok(self.call(Callee::Function(GETATTR), wanted, base, self.kwargs.len()).into())
            }
        }
    }

    /// Something with methods and attributes: a value.
    fn receiver(&mut self, expr: &'a Expr) -> Result<Arg, Error> {
        match expr {
            Expr::Name(name) if name.id == "self" => {
                Err(unsupported(self.source, expr, "an attribute or submodule of `self`"))
            }
            _ => match self.expr(expr, None)? {
                Arg::Value(value) => Ok(value.into()),
                _ => Err(unsupported(self.source, expr, "a method or attribute of a constant")),
            },
        }
    }

    /// The root and the whole path of a dotted name that begins with a module.
    fn dotted(&self, attribute: &'a ExprAttribute) -> Option<(&'a str, Cow<'a, str>)> {
        let mut root = &*attribute.value;
        while let Expr::Attribute(inner) = root {
            root = &inner.value;
        }
        let root = root.as_name_expr().map(|name| name.id.as_str())?;
        if !matches!(root, "torch" | "operator" | "builtins") {
            return None;
        }
        let text = self.source.text_of(attribute);
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
        Some((root, if is_plain { text.into() } else { spell(attribute).into() }))
    }

    fn call_expr(&mut self, call: &'a ExprCall, wanted: Option<&'a str>) -> Result<Arg, Error> {
        match &*call.func {
            Expr::Attribute(attribute) => match self.dotted(attribute) {
                Some(("torch", path)) if path == "torch.device" => self.device(call),
                Some((root, path)) => {
                    let is_known = match root {
                        "operator" => passnet_graph::operators::by_target(&path).is_some(),
                        "builtins" => path == GETATTR,
                        _ => true,
                    };
                    if !is_known {
                        return Err(unsupported(self.source, call, format!("a call of `{path}`")));
                    }
                    let base = self.args.len();
                    self.arguments(call, Callee::Function(&path), base, wanted)
                }
                None => {
                    let base = self.args.len();
                    let receiver = self.receiver(&attribute.value)?;
                    self.args.push(receiver);
                    self.arguments(call, Callee::Method(&attribute.attr), base, wanted)
                }
            },
            Expr::Name(name) => match name.id.as_str() {
                "slice" => self.slice_call(call),
                "device" if self.scope.get("device").is_none() => self.device(call),
                "float" => self.float_call(call),
                "getattr" => self.arguments(call, Callee::Function(GETATTR), self.args.len(), wanted),
                other => Err(unsupported(self.source, call, format!("a call of `{other}`"))),
            },
            other => Err(unsupported(self.source, other, "a call of this")),
        }
    }

    /// Reads the arguments and adds the node. What is on the stack from `base` up are arguments before them.
    fn arguments(
        &mut self,
        call: &'a ExprCall,
        callee: Callee<'_>,
        base: usize,
        wanted: Option<&'a str>,
    ) -> Result<Arg, Error> {
        let kwargs_base = self.kwargs.len();
        self.elements(&call.arguments.args)?;
        for keyword in &call.arguments.keywords {
            let Some(key) = &keyword.arg else {
                return Err(unsupported(self.source, &keyword.value, "an unpacked dictionary"));
            };
            let arg = self.expr(&keyword.value, None)?;
            self.kwargs.push((key.as_str(), arg));
        }
        Ok(self.call(callee, wanted, base, kwargs_base).into())
    }

    /// `slice(stop)`, `slice(start, stop)`, `slice(start, stop, step)`.
    fn slice_call(&mut self, call: &'a ExprCall) -> Result<Arg, Error> {
        if !call.arguments.keywords.is_empty() {
            return Err(unsupported(self.source, call, "a slice with keywords"));
        }
        let base = self.elements(&call.arguments.args)?;
        let (start, stop, step) = match self.args[base..] {
            [stop] => (Arg::None, stop, Arg::None),
            [start, stop] => (start, stop, Arg::None),
            [start, stop, step] => (start, stop, step),
            _ => return Err(unsupported(self.source, call, "a slice without bounds, or with more than three")),
        };
        self.args.truncate(base);
        Ok(self.builder.slice(start, stop, step))
    }

    /// `device('cuda')`, `device('cuda:0')`, `device('cuda', 0)`, `device(type='cuda', index=0)`.
    fn device(&mut self, call: &'a ExprCall) -> Result<Arg, Error> {
        let arguments = &call.arguments;
        let kind = arguments.find_argument_value("type", 0).and_then(Expr::as_string_literal_expr);
        let index = arguments.find_argument_value("index", 1);
        let malformed = || unsupported(self.source, call, "a device of this form");
        let number = index.map(|index| index.as_number_literal_expr().ok_or_else(malformed)).transpose()?;
        let number = number.map(|number| match &number.value {
            Number::Int(integer) => integer.as_u64().and_then(|index| u32::try_from(index).ok()).ok_or_else(malformed),
            _ => Err(malformed()),
        });
        let (kind, number) = match (kind.map(|kind| kind.value.to_str()), number.transpose()?) {
            (Some(text), None) => match text.split_once(':') {
                Some((kind, index)) => (kind, Some(index.parse().map_err(|_| malformed())?)),
                None => (text, None),
            },
            (Some(kind), Some(index)) => (kind, Some(index)),
            (None, _) => return Err(malformed()),
        };
        if arguments.len() > 1 + usize::from(index.is_some()) || !passnet_graph::names::is_identifier(kind) {
            return Err(malformed());
        }
        Ok(self.builder.device(kind, number))
    }

    /// `float('inf')` and its like.
    fn float_call(&self, call: &'a ExprCall) -> Result<Arg, Error> {
        float_call(call).map(Arg::Float).ok_or_else(|| unsupported(self.source, call, "a call of `float`"))
    }
}

/// Spells a dotted name whose text has blanks or comments in it.
fn spell(attribute: &ExprAttribute) -> String {
    match &*attribute.value {
        Expr::Attribute(inner) => format!("{}.{}", spell(inner), attribute.attr),
        root => format!("{}.{}", root.as_name_expr().map_or("", |name| &name.id), attribute.attr),
    }
}
