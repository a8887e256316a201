//! From the syntax tree of a Paddle text to a graph.

use passnet_graph::{Arg, Builder, Callee, Graph, ValueId, names::is_value_name, operators::GETATTR};
use ruff_python_ast::{Expr, ExprAttribute, ExprCall, ExprName, ModModule, Stmt, StmtAssign, StmtFunctionDef, UnaryOp};
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

use super::types::{self, PaddleGraph, ValueType};
use crate::{Error, ErrorKind, forward, literal::Scalar, operators, source::Source};

/// Namespace of Paddle's operators.
const NAMESPACE: &str = "torch.ops.paddle";

pub(super) fn lower(source: &Source<'_>, module: &ModModule) -> Result<PaddleGraph, Error> {
    let forward = forward::find_forward(source, module)?;
    let mut lower = PaddleLowering {
        source,
        builder: Graph::builder(),
        bound: FxHashMap::default(),
        taken: FxHashSet::default(),
        types: Vec::new(),
    };
    lower.parameters(forward)?;
    for statement in &forward.body {
        match statement {
            Stmt::Return(returned) => {
                let value = returned.value.as_deref();
                let value = value.ok_or_else(|| source.error(returned, ErrorKind::NoReturn))?;
                let outputs = match value {
                    Expr::Tuple(tuple) => lower.exprs(&tuple.elts)?,
                    other => vec![lower.expr(other, None)?],
                };
                let graph = lower.builder.finish(&outputs);
                let graph = graph.map_err(|error| source.error(&forward.name, error.into()))?;
                // Values after the last comment have no entry yet.
                lower.types.resize(graph.num_values(), None);
                return Ok(PaddleGraph { graph, types: lower.types });
            }
            Stmt::Assign(assign) => lower.assign(assign)?,
            Stmt::Expr(expr) => drop(lower.expr(&expr.value, None)?),
            Stmt::Delete(_) | Stmt::Pass(_) => {}
            other => return Err(lower.unsupported(other, "this statement")),
        }
    }
    Err(source.error_at(forward.end(), ErrorKind::NoReturn))
}

struct PaddleLowering<'a> {
    source: &'a Source<'a>,
    builder: Builder,
    /// The value or constant of each name. A list is stored itself, because it is not a node.
    bound: FxHashMap<&'a str, Arg>,
    /// Names that values have.
    taken: FxHashSet<String>,
    /// Type of each value, if it is known.
    types: Vec<Option<ValueType>>,
}

impl<'a> PaddleLowering<'a> {
    fn unsupported(&self, place: &impl Ranged, what: impl Into<String>) -> Error {
        self.source.error(place, ErrorKind::Unsupported { what: what.into(), part: "Paddle graph" })
    }

    fn parameters(&mut self, forward: &'a StmtFunctionDef) -> Result<(), Error> {
        let parameters = &forward.parameters;
        if parameters.args.len() != parameters.len() {
            return Err(self.unsupported(&parameters.range, "a parameter of this kind"));
        }
        // The first parameter is `self`.
        for parameter in parameters.args.iter().skip(1) {
            if let Some(default) = &parameter.default {
                return Err(self.unsupported(&**default, "a default value"));
            }
            let name = parameter.parameter.name.as_str();
            if !is_value_name(name) {
                return Err(self.source.error(&parameter.parameter.name, ErrorKind::ReservedName(name.to_owned())));
            }
            let value = self.builder.input(name);
            self.taken.insert(name.to_owned());
            if self.bound.insert(name, value.into()).is_some() {
                return Err(self.source.error(parameter, ErrorKind::DuplicateParameter(name.to_owned())));
            }
        }
        Ok(())
    }

    /// Reads `name = EXPR` or `first, second = EXPR`.
    fn assign(&mut self, assign: &'a StmtAssign) -> Result<(), Error> {
        let types = self.types_above(assign);
        let [target] = assign.targets.as_slice() else {
            return Err(self.unsupported(assign, "an assignment to several targets"));
        };
        match target {
            Expr::Name(name) => {
                let arg = self.expr(&assign.value, Some(&name.id))?;
                self.note(arg, types.and_then(|mut types| types.pop().filter(|_| types.is_empty()).flatten()));
                self.bind(name, arg)
            }
            Expr::Tuple(tuple) => self.unpack(&tuple.elts, &assign.value, types.unwrap_or_default()),
            Expr::List(list) => self.unpack(&list.elts, &assign.value, types.unwrap_or_default()),
            other => Err(self.unsupported(other, "an assignment to this")),
        }
    }

    fn unpack(&mut self, targets: &'a [Expr], value: &'a Expr, types: Vec<Option<ValueType>>) -> Result<(), Error> {
        let names = targets.iter().map(|target| target.as_name_expr());
        let Some(names) = names.collect::<Option<Vec<&ExprName>>>() else {
            return Err(self.unsupported(value, "nested targets of these results"));
        };
        // The tuple of results has no name in the text. Its name is made from the name of the first result, so that prints are
        // readable.
        let wanted = names.first().map(|name| format!("{}_results", name.id));
        let whole = self.expr(value, wanted.as_deref())?;
        for (index, name) in names.into_iter().enumerate() {
            let args = [whole, Arg::Int(index as i64)];
            let item = self.node(Callee::Function("operator.getitem"), &args, &[], Some(&name.id));
            self.note(item.into(), types.get(index).cloned().flatten());
            self.bind(name, item.into())?;
        }
        Ok(())
    }

    fn bind(&mut self, name: &'a ExprName, arg: Arg) -> Result<(), Error> {
        if !is_value_name(&name.id) {
            return Err(self.source.error(name, ErrorKind::ReservedName(name.id.to_string())));
        }
        self.bound.insert(&name.id, arg);
        Ok(())
    }

    /// Returns the types in the comment on the line above a statement.
    fn types_above(&self, statement: &impl Ranged) -> Option<Vec<Option<ValueType>>> {
        let before = self.source.text.get(..statement.start().to_usize())?.rsplit_once('\n')?.0;
        types::results(before.rsplit_once('\n').map_or(before, |(_, line)| line).trim())
    }

    /// Records the type of a value, unless a type is known already: after `y = x`, both names have the same value.
    fn note(&mut self, arg: Arg, found: Option<ValueType>) {
        let Some(value) = arg.as_value() else { return };
        if value.index() >= self.types.len() {
            self.types.resize(value.index() + 1, None);
        }
        let known = &mut self.types[value.index()];
        *known = known.take().or(found);
    }

    fn exprs(&mut self, exprs: &'a [Expr]) -> Result<Vec<Arg>, Error> {
        exprs.iter().map(|expr| self.expr(expr, None)).collect()
    }

    /// Reads an expression. If the expression is an operation, it becomes a node, with the name `wanted` if that is possible.
    fn expr(&mut self, expr: &'a Expr, wanted: Option<&str>) -> Result<Arg, Error> {
        match Scalar::of(expr) {
            Some(Scalar::None) => return Ok(Arg::None),
            Some(Scalar::Bool(value)) => return Ok(Arg::Bool(value)),
            Some(Scalar::Int(value)) => return Ok(Arg::Int(value)),
            Some(Scalar::Float(value)) => return Ok(Arg::Float(value)),
            Some(Scalar::Str(text)) => return Ok(self.builder.str(text)),
            None => {}
        }
        match expr {
            Expr::Name(name) => {
                let unbound = || self.source.error(name, ErrorKind::Unbound(name.id.to_string()));
                self.bound.get(name.id.as_str()).copied().ok_or_else(unbound)
            }
            Expr::List(list) => {
                let elements = self.exprs(&list.elts)?;
                Ok(self.builder.list(&elements))
            }
            Expr::Tuple(tuple) => {
                let elements = self.exprs(&tuple.elts)?;
                Ok(self.builder.tuple(&elements))
            }
            Expr::Call(call) => self.call(call, wanted),
            Expr::Attribute(attribute) => self.attribute(attribute, wanted),
            Expr::BinOp(binary) => match operators::binary(binary.op.as_str()) {
                Some(target) => self.operation(target, [&binary.left, &binary.right], wanted),
                None => Err(self.unsupported(expr, "this operator")),
            },
            Expr::Subscript(subscript) => {
                self.operation("operator.getitem", [&subscript.value, &subscript.slice], wanted)
            }
            Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => {
                self.operation("operator.neg", [&unary.operand], wanted)
            }
            // Numbers that fit were returned above as scalars; this one needs more than 64 bits.
            Expr::NumberLiteral(literal) => {
                let digits = self.source.text_of(literal).chars().take(40).collect();
                Err(self.source.error(literal, ErrorKind::HugeInteger(digits)))
            }
            other => Err(self.unsupported(other, "this expression")),
        }
    }

    fn operation<const N: usize>(
        &mut self,
        target: &str,
        operands: [&'a Expr; N],
        wanted: Option<&str>,
    ) -> Result<Arg, Error> {
        let mut args = Vec::with_capacity(N);
        for operand in operands {
            args.push(self.expr(operand, None)?);
        }
        Ok(self.node(Callee::Function(target), &args, &[], wanted).into())
    }

    fn call(&mut self, call: &'a ExprCall, wanted: Option<&str>) -> Result<Arg, Error> {
        let arguments = &call.arguments;
        match &*call.func {
            // `(lambda x, f: f(x))(CALL, ...)` turns a single result into a tuple.
            Expr::Lambda(_) => match &*arguments.args {
                [inner, Expr::Lambda(_)] => self.expr(inner, wanted),
                _ => Err(self.unsupported(call, "a lambda with these arguments")),
            },
            Expr::Name(name) if name.id == "float" => match &*arguments.args {
                [Expr::StringLiteral(text)] => {
                    let parsed = text.value.to_str().parse().map(Arg::Float);
                    parsed.map_err(|_| self.unsupported(call, "a call of `float` with this text"))
                }
                _ => Err(self.unsupported(call, "a call of `float` with these arguments")),
            },
            Expr::Attribute(attribute) => {
                let path = self.path(attribute).ok_or_else(|| self.unsupported(call, "a call of a method"))?;
                if let Some(place) = self.place(&path, &arguments.args) {
                    return Ok(place);
                }
                let args = self.exprs(&arguments.args)?;
                let mut kwargs = Vec::with_capacity(arguments.keywords.len());
                for keyword in &arguments.keywords {
                    let Some(key) = &keyword.arg else {
                        return Err(self.unsupported(&keyword.value, "an unpacked dictionary"));
                    };
                    kwargs.push((key.as_str(), self.expr(&keyword.value, None)?));
                }
                let name = path.strip_prefix("_C_ops.").unwrap_or(&path);
                Ok(self.node(Callee::Function(&format!("{NAMESPACE}.{name}")), &args, &kwargs, wanted).into())
            }
            other => Err(self.unsupported(other, "a call of this")),
        }
    }

    /// Returns the device of `paddle.core.CPUPlace()` and similar calls; `None` for calls of functions.
    fn place(&mut self, path: &str, args: &[Expr]) -> Option<Arg> {
        match (path.rsplit('.').next()?, args) {
            ("CPUPlace", []) => Some(self.builder.device("cpu", None)),
            ("CUDAPlace", []) => Some(self.builder.device("cuda", None)),
            ("CUDAPlace", [index]) => match Scalar::of(index) {
                Some(Scalar::Int(index)) => Some(self.builder.device("cuda", u32::try_from(index).ok())),
                _ => None,
            },
            // The device depends on the machine that runs the graph, so the call stays a symbol.
            ("_current_expected_place", []) => Some(self.builder.attr(&format!("{NAMESPACE}.{path}"))),
            _ => None,
        }
    }

    /// Reads `paddle.float32` and other constants, and `x.dtype`, which becomes a call of `getattr`.
    fn attribute(&mut self, attribute: &'a ExprAttribute, wanted: Option<&str>) -> Result<Arg, Error> {
        if let Some(path) = self.path(attribute) {
            return Ok(match path.parse() {
                Ok(dtype) => Arg::DType(dtype),
                Err(_) => self.builder.attr(&format!("{NAMESPACE}.{path}")),
            });
        }
        match self.expr(&attribute.value, None)? {
            Arg::Value(value) => {
                let args = [value.into(), self.builder.str(&attribute.attr)];
                Ok(self.node(Callee::Function(GETATTR), &args, &[], wanted).into())
            }
            _ => Err(self.unsupported(attribute, "an attribute of a constant")),
        }
    }

    /// Returns the dotted path below `paddle`.
    fn path(&self, attribute: &'a ExprAttribute) -> Option<String> {
        let head = match &*attribute.value {
            Expr::Name(name) if name.id == "paddle" => return Some(attribute.attr.to_string()),
            Expr::Attribute(inner) => self.path(inner)?,
            _ => return None,
        };
        Some(format!("{head}.{}", attribute.attr))
    }

    fn node(&mut self, callee: Callee<'_>, args: &[Arg], kwargs: &[(&str, Arg)], wanted: Option<&str>) -> ValueId {
        let last = callee.target().rsplit('.').next().unwrap_or_default();
        let base =
            wanted.filter(|name| is_value_name(name)).unwrap_or(if is_value_name(last) { last } else { "value" });
        let mut name = base.to_owned();
        let mut suffix = 1;
        // A text may assign a name several times, but each value of a graph needs its own name.
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{suffix}");
            suffix += 1;
        }
        self.builder.call(&name, callee, args, kwargs)
    }
}
