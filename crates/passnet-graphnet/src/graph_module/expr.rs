use std::borrow::Cow;

use passnet_graph::{Arg, Callee, ValueId, operators::GETATTR};
use ruff_python_ast::{
    Expr, ExprAttribute, ExprCall, ExprName, ExprNumberLiteral, ExprSlice, ExprUnaryOp, Number, UnaryOp,
};

use super::{
    body::{is_function, is_module},
    lower::Lower,
    scope::Local,
};
use crate::{
    Error, ErrorKind,
    forward::unsupported,
    literal::{Scalar, float_call},
    operators,
};

impl<'a> Lower<'a> {
    /// Reads an expression. If the expression is an operation, it becomes a node, with the name `wanted` if that is possible.
    pub(super) fn expr(&mut self, expr: &'a Expr, wanted: Option<Local<'a>>) -> Result<Arg, Error> {
        match expr {
            Expr::Name(name) => self.name(name),
            Expr::NoneLiteral(_) => Ok(Arg::None),
            Expr::BooleanLiteral(literal) => Ok(Arg::Bool(literal.value)),
            Expr::EllipsisLiteral(_) => Ok(Arg::Ellipsis),
            Expr::NumberLiteral(literal) => self.number(literal, false),
            Expr::StringLiteral(literal) => Ok(self.body.builder.str(literal.value.to_str())),
            Expr::Tuple(tuple) => {
                let base = self.elements(&tuple.elts)?;
                Ok(self.body.tuple(base))
            }
            Expr::List(list) => {
                let base = self.elements(&list.elts)?;
                Ok(self.body.list(base))
            }
            Expr::Slice(slice) => self.slice(slice),
            Expr::Call(call) => self.call_expr(call, wanted),
            Expr::Attribute(attribute) => self.attribute(attribute, wanted),
            Expr::UnaryOp(unary) => self.unary(unary, wanted),
            Expr::BinOp(binary) => match operators::binary(binary.op.as_str()) {
                Some(target) => self.operation(target, [&binary.left, &binary.right], wanted),
                None => Err(unsupported(self.source, expr, "this operator")),
            },
            Expr::Subscript(subscript) => {
                self.operation("operator.getitem", [&subscript.value, &subscript.slice], wanted)
            }
            Expr::Compare(compare) => match (&*compare.ops, &*compare.comparators) {
                ([op], [right]) if let Some(target) = operators::compare(op.as_str()) => {
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
        wanted: Option<Local<'a>>,
    ) -> Result<Arg, Error> {
        let base = self.body.args.len();
        for operand in operands {
            let arg = self.expr(operand, None)?;
            self.body.args.push(arg);
        }
        Ok(self.body.call_function(target, wanted, base).into())
    }

    /// Pushes each element on the stack. Returns the position of the first element.
    fn elements(&mut self, elements: &'a [Expr]) -> Result<usize, Error> {
        let base = self.body.args.len();
        for element in elements {
            let arg = self.expr(element, None)?;
            self.body.args.push(arg);
        }
        Ok(base)
    }

    fn name(&mut self, name: &ExprName) -> Result<Arg, Error> {
        let unbound = || self.source.error(name, ErrorKind::Unbound(name.id.to_string()));
        self.body.name(&name.id).ok_or_else(unbound)
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

    /// Reads a sign: `-1` and `-inf` are constants, `-x` is an operation.
    fn unary(&mut self, unary: &'a ExprUnaryOp, wanted: Option<Local<'a>>) -> Result<Arg, Error> {
        match (unary.op, &*unary.operand) {
            (UnaryOp::USub, Expr::NumberLiteral(literal)) => return self.number(literal, true),
            (UnaryOp::UAdd, Expr::NumberLiteral(literal)) => return self.number(literal, false),
            (UnaryOp::USub, Expr::Name(name)) if name.id == "inf" => return Ok(Arg::Float(f64::NEG_INFINITY)),
            _ => {}
        }
        match operators::unary(unary.op.as_str()) {
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
        Ok(self.body.builder.slice(start, stop, step))
    }

    fn attribute(&mut self, attribute: &'a ExprAttribute, wanted: Option<Local<'a>>) -> Result<Arg, Error> {
        match self.dotted(attribute) {
            Some(("torch", path)) => Ok(self.body.constant(&path)),
            _ => {
                let receiver = self.receiver(&attribute.value)?;
                let base = self.body.args.len();
                self.body.push_attribute(receiver, &attribute.attr);
                Ok(self.body.call_function(GETATTR, wanted, base).into())
            }
        }
    }

    /// Reads an expression with methods and attributes. It has to be a value.
    fn receiver(&mut self, expr: &'a Expr) -> Result<ValueId, Error> {
        match expr {
            Expr::Name(name) if name.id == "self" => {
                Err(unsupported(self.source, expr, "an attribute or submodule of `self`"))
            }
            _ => match self.expr(expr, None)? {
                Arg::Value(value) => Ok(value),
                _ => Err(unsupported(self.source, expr, "a method or attribute of a constant")),
            },
        }
    }

    /// Returns the first word and the whole path of a dotted name that begins with a module.
    fn dotted(&self, attribute: &'a ExprAttribute) -> Option<(&'a str, Cow<'a, str>)> {
        let mut root = &*attribute.value;
        while let Expr::Attribute(inner) = root {
            root = &inner.value;
        }
        let root = root.as_name_expr().map(|name| name.id.as_str())?;
        if !is_module(root) {
            return None;
        }
        let text = self.source.text_of(attribute);
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
        Some((root, if is_plain { text.into() } else { spell(attribute).into() }))
    }

    fn call_expr(&mut self, call: &'a ExprCall, wanted: Option<Local<'a>>) -> Result<Arg, Error> {
        match &*call.func {
            Expr::Attribute(attribute) => match self.dotted(attribute) {
                Some(("torch", path)) if path == "torch.device" => self.device(call),
                Some((_, path)) if is_function(&path) => {
                    let base = self.body.args.len();
                    self.arguments(call, Callee::Function(&path), base, wanted)
                }
                Some((_, path)) => Err(unsupported(self.source, call, format!("a call of `{path}`"))),
                None => {
                    let base = self.body.args.len();
                    let receiver = self.receiver(&attribute.value)?;
                    self.body.args.push(receiver.into());
                    self.arguments(call, Callee::Method(&attribute.attr), base, wanted)
                }
            },
            Expr::Name(name) => match name.id.as_str() {
                "slice" => self.slice_call(call),
                // A local value called `device` hides the imported name.
                "device" if self.body.scope.get("device").is_none() => self.device(call),
                "float" => self.float_call(call),
                "getattr" => self.arguments(call, Callee::Function(GETATTR), self.body.args.len(), wanted),
                other => Err(unsupported(self.source, call, format!("a call of `{other}`"))),
            },
            other => Err(unsupported(self.source, other, "a call of this")),
        }
    }

    /// Reads the arguments and adds the node. The stack from `base` up holds the arguments that precede them.
    fn arguments(
        &mut self,
        call: &'a ExprCall,
        callee: Callee<'_>,
        base: usize,
        wanted: Option<Local<'a>>,
    ) -> Result<Arg, Error> {
        let kwargs_base = self.body.kwargs.len();
        self.elements(&call.arguments.args)?;
        for keyword in &call.arguments.keywords {
            let Some(key) = &keyword.arg else {
                return Err(unsupported(self.source, &keyword.value, "an unpacked dictionary"));
            };
            let arg = self.expr(&keyword.value, None)?;
            self.body.kwargs.push((key.as_str(), arg));
        }
        Ok(self.body.call(callee, wanted, base, kwargs_base).into())
    }

    /// Reads `slice(stop)`, `slice(start, stop)` or `slice(start, stop, step)`.
    fn slice_call(&mut self, call: &'a ExprCall) -> Result<Arg, Error> {
        if !call.arguments.keywords.is_empty() {
            return Err(unsupported(self.source, call, "a slice with keywords"));
        }
        let base = self.elements(&call.arguments.args)?;
        let malformed = || unsupported(self.source, call, "a slice without bounds, or with more than three");
        self.body.slice_call(base).ok_or_else(malformed)
    }

    /// Reads `device('cuda')`, `device('cuda:0')`, `device('cuda', 0)` or `device(type='cuda', index=0)`.
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
        let kind = kind.ok_or_else(malformed)?.value.to_str();
        let number = number.transpose()?;
        if arguments.len() > 1 + usize::from(index.is_some()) {
            return Err(malformed());
        }
        self.body.device(kind, number).ok_or_else(malformed)
    }

    /// Reads `float('inf')` and similar calls.
    fn float_call(&self, call: &'a ExprCall) -> Result<Arg, Error> {
        float_call(call).map(Arg::Float).ok_or_else(|| unsupported(self.source, call, "a call of `float`"))
    }
}

/// Returns a dotted name whose text contains blanks or comments.
fn spell(attribute: &ExprAttribute) -> String {
    match &*attribute.value {
        Expr::Attribute(inner) => format!("{}.{}", spell(inner), attribute.attr),
        root => format!("{}.{}", root.as_name_expr().map_or("", |name| &name.id), attribute.attr),
    }
}
