use passnet_graph::{Arg, Builder, Callee, Graph, NodeId, ValueId, names::is_value_name};
use ruff_python_ast::{Expr, ExprName, ModModule, Stmt, StmtAssign, StmtAugAssign, StmtFunctionDef, StmtReturn};
use ruff_text_size::Ranged;

use super::{operators, scope::Scope};
use crate::{Error, ErrorKind, source::Source};

/// Module to graph.
pub(super) fn lower(source: &Source<'_>, module: &ModModule) -> Result<Graph, Error> {
    let forward = find_forward(source, module)?;
    let mut lower = Lower {
        source,
        builder: Graph::builder(),
        scope: Scope::default(),
        args: Vec::new(),
        kwargs: Vec::new(),
        setitem: None,
    };
    lower.parameters(forward)?;
    let mut statements = forward.body.iter().peekable();
    let returned = loop {
        let Some(statement) = statements.next() else {
            return Err(source.error_at(forward.end(), ErrorKind::NoReturn));
        };
        if let Stmt::Return(returned) = statement {
            break returned;
        }
        lower.statement(statement, statements.peek().copied())?;
    };
    if let Some(after) = statements.next() {
        return Err(unsupported(source, after, "code after the return"));
    }
    let outputs = lower.outputs(returned)?;
    lower.scope.record_frees(&mut lower.builder);
    lower.builder.finish(&outputs).map_err(|error| source.error(&forward.name, error.into()))
}

pub(super) fn unsupported(source: &Source<'_>, place: &impl Ranged, what: impl Into<String>) -> Error {
    source.error(place, ErrorKind::Unsupported { what: what.into(), part: "graph" })
}

fn find_forward<'a>(source: &Source<'_>, module: &'a ModModule) -> Result<&'a StmtFunctionDef, Error> {
    let mut found = None;
    for statement in &module.body {
        match statement {
            Stmt::Import(_) | Stmt::ImportFrom(_) => {}
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            Stmt::ClassDef(class) if found.is_none() => found = Some(class),
            other => return Err(unsupported(source, other, "this statement beside the one class")),
        }
    }
    let mut forward = None;
    for statement in found.iter().flat_map(|class| &class.body) {
        match statement {
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            Stmt::Pass(_) => {}
            Stmt::FunctionDef(function) if &function.name == "forward" && forward.is_none() => {
                forward = Some(function);
            }
            other => return Err(unsupported(source, other, "this statement beside the one method `forward`")),
        }
    }
    forward.ok_or_else(|| source.error_at(source_end(source), ErrorKind::NoForward))
}

fn source_end(source: &Source<'_>) -> ruff_text_size::TextSize {
    // Sources are capped far below 4 GiB.
    ruff_text_size::TextSize::new(source.text.len() as u32)
}

pub(super) struct Lower<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) builder: Builder,
    pub(super) scope: Scope<'a>,
    /// Stack of the arguments of the calls that are being read.
    pub(super) args: Vec<Arg>,
    pub(super) kwargs: Vec<(&'a str, Arg)>,
    /// The node of `x[i] = v`, if the statement that is being read gives it its name.
    setitem: Option<ValueId>,
}

impl<'a> Lower<'a> {
    fn parameters(&mut self, forward: &'a StmtFunctionDef) -> Result<(), Error> {
        let parameters = &forward.parameters;
        if !parameters.posonlyargs.is_empty() || !parameters.kwonlyargs.is_empty() {
            return Err(unsupported(self.source, &parameters.range, "a positional-only or keyword-only parameter"));
        }
        if let Some(variadic) = parameters.vararg.as_ref().or(parameters.kwarg.as_ref()) {
            return Err(unsupported(self.source, &variadic.range, "a variadic parameter"));
        }
        for parameter in parameters.args.iter().skip(1) {
            if let Some(default) = &parameter.default {
                return Err(unsupported(self.source, &**default, "a default value"));
            }
            let name = parameter.parameter.name.as_str();
            self.check_name(name, &parameter.parameter.name)?;
            let value = self.builder.input(name);
            if !self.scope.add_parameter(name, value) {
                let kind = ErrorKind::DuplicateParameter(name.to_owned());
                return Err(self.source.error(&parameter.parameter.name, kind));
            }
        }
        Ok(())
    }

    fn check_name(&self, name: &str, place: &impl Ranged) -> Result<(), Error> {
        if is_value_name(name) {
            Ok(())
        } else {
            Err(self.source.error(place, ErrorKind::ReservedName(name.to_owned())))
        }
    }

    fn statement(&mut self, statement: &'a Stmt, next: Option<&'a Stmt>) -> Result<(), Error> {
        match statement {
            Stmt::Assign(assign) => self.assign(assign, next),
            Stmt::AugAssign(assign) => self.assign_in_place(assign, next),
            Stmt::Delete(delete) => delete.targets.iter().try_for_each(|target| self.free(target)),
            Stmt::Expr(expr) => self.expr(&expr.value, None).map(|_| ()),
            Stmt::Pass(_) => Ok(()),
            other => Err(unsupported(self.source, other, "this statement")),
        }
    }

    fn assign(&mut self, assign: &'a StmtAssign, next: Option<&'a Stmt>) -> Result<(), Error> {
        let setitem = self.setitem.take();
        if assign.value.is_none_literal_expr() && assign.targets.iter().all(Expr::is_name_expr) {
            return assign.targets.iter().try_for_each(|target| self.free(target));
        }
        let wanted = assign.targets.iter().find_map(|target| target.as_name_expr());
        let wanted = wanted.map(|name| self.target_name(name)).transpose()?;
        let arg = self.expr(&assign.value, wanted)?;
        for target in &assign.targets {
            match (target, setitem) {
                (Expr::Name(name), Some(node)) => self.scope.bind_weakly(self.target_name(name)?, arg, Some(node)),
                _ => self.assign_to(target, arg, next)?,
            }
        }
        Ok(())
    }

    fn assign_to(&mut self, target: &'a Expr, arg: Arg, next: Option<&'a Stmt>) -> Result<(), Error> {
        match target {
            Expr::Name(_) if arg.elements().is_some() => {
                Err(unsupported(self.source, target, "a name for a list or tuple of constants"))
            }
            Expr::Name(name) => {
                self.scope.bind(self.target_name(name)?, arg);
                Ok(())
            }
            Expr::Subscript(subscript) => {
                let base = self.args.len();
                let receiver = self.expr(&subscript.value, None)?;
                self.args.push(receiver);
                let index = self.expr(&subscript.slice, None)?;
                self.args.extend([index, arg]);
                let alias = subscript.value.as_name_expr().and_then(|name| alias_of(next, &name.id));
                let node = self.call(Callee::Function("operator.setitem"), alias, base, self.kwargs.len());
                self.setitem = alias.map(|_| node);
                Ok(())
            }
            _ => {
                let Some(elements) = elements_of(target) else {
                    return Err(unsupported(self.source, target, "an assignment to this"));
                };
                for (index, element) in (0..).zip(elements) {
                    let name = element.as_name_expr().map(|name| self.target_name(name)).transpose()?;
                    let base = self.args.len();
                    self.args.extend([arg, Arg::Int(index)]);
                    let item = self.call(Callee::Function("operator.getitem"), name, base, self.kwargs.len());
                    self.assign_to(element, item.into(), None)?;
                }
                Ok(())
            }
        }
    }

    fn assign_in_place(&mut self, assign: &'a StmtAugAssign, next: Option<&'a Stmt>) -> Result<(), Error> {
        let Expr::Name(target) = &*assign.target else {
            return Err(unsupported(self.source, &*assign.target, "an in-place assignment to this"));
        };
        let name = self.target_name(target)?;
        let base = self.args.len();
        let old = self.expr(&assign.target, None)?;
        self.args.push(old);
        let operand = self.expr(&assign.value, None)?;
        self.args.push(operand);
        let alias = alias_of(next, name);
        let callee = Callee::Function(operators::in_place(assign.op));
        let value = self.call(callee, alias, base, self.kwargs.len());
        self.scope.bind_weakly(name, value.into(), old.as_value());
        Ok(())
    }

    fn outputs(&mut self, returned: &'a StmtReturn) -> Result<Vec<Arg>, Error> {
        let Some(value) = &returned.value else {
            return Err(self.source.error(returned, ErrorKind::NoReturn));
        };
        match elements_of(value) {
            Some(elements) => elements.iter().map(|element| self.expr(element, None)).collect(),
            None => Ok(vec![self.expr(value, None)?]),
        }
    }

    fn target_name(&self, target: &'a ExprName) -> Result<&'a str, Error> {
        self.check_name(&target.id, target)?;
        Ok(&target.id)
    }

    fn free(&mut self, target: &'a Expr) -> Result<(), Error> {
        let Expr::Name(name) = target else {
            return Err(unsupported(self.source, target, "a deletion of this"));
        };
        let after = self.builder.num_nodes().checked_sub(1).map(|last| NodeId(last as u32));
        self.scope.free(&name.id, after);
        Ok(())
    }

    /// Adds a node with the arguments from `args_base` and `kwargs_base` up, which it takes off the stacks.
    pub(super) fn call(
        &mut self,
        callee: Callee<'_>,
        wanted: Option<&'a str>,
        args_base: usize,
        kwargs_base: usize,
    ) -> ValueId {
        let target = callee.target();
        let name = self.scope.take_name(wanted, target.rsplit('.').next().unwrap_or(target));
        let value = self.builder.call(&name, callee, &self.args[args_base..], &self.kwargs[kwargs_base..]);
        self.args.truncate(args_base);
        self.kwargs.truncate(kwargs_base);
        self.scope.add_value(value);
        value
    }
}

/// `z` if the statement is `z = name`.
fn alias_of<'a>(statement: Option<&'a Stmt>, name: &str) -> Option<&'a str> {
    let assign = statement?.as_assign_stmt()?;
    let [Expr::Name(alias)] = assign.targets.as_slice() else { return None };
    (assign.value.as_name_expr()?.id == name && is_value_name(&alias.id)).then_some(&alias.id)
}

fn elements_of(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        _ => None,
    }
}
