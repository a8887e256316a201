//! From syntax tree to graph. This reader reads all forms and reports all errors.

use passnet_graph::{Arg, Graph, ValueId, names::is_value_name};
use ruff_python_ast::{Expr, ExprName, ModModule, Stmt, StmtAssign, StmtAugAssign, StmtFunctionDef, StmtReturn};
use ruff_text_size::Ranged;

use super::{body::ModuleBody, scope::Local};
use crate::{
    Error, ErrorKind,
    forward::{find_forward, unsupported},
    operators,
    source::Source,
};

/// Returns the graph of a module.
pub(super) fn lower(source: &Source<'_>, module: &ModModule) -> Result<Graph, Error> {
    let forward = find_forward(source, module)?;
    let mut lower = Lower { source, body: ModuleBody::of_text(source.text.len()) };
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
    lower.body.finish(&outputs).map_err(|error| source.error(&forward.name, error.into()))
}

pub(super) struct Lower<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) body: ModuleBody<'a>,
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
        // The first parameter is `self`.
        for parameter in parameters.args.iter().skip(1) {
            if let Some(default) = &parameter.default {
                return Err(unsupported(self.source, &**default, "a default value"));
            }
            let name = &parameter.parameter.name;
            let local = self.local(name, name)?;
            if !self.body.parameter(local) {
                return Err(self.source.error(name, ErrorKind::DuplicateParameter(name.to_string())));
            }
        }
        Ok(())
    }

    fn local(&mut self, name: &'a str, place: &impl Ranged) -> Result<Local<'a>, Error> {
        let local = self.body.scope.local(name);
        if local.is_value_name {
            Ok(local)
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
        let setitem = self.body.take_setitem();
        if assign.value.is_none_literal_expr() && assign.targets.iter().all(Expr::is_name_expr) {
            return assign.targets.iter().try_for_each(|target| self.free(target));
        }
        // In `a = b = CALL`, the first plain name becomes the name of the node. The others are aliases.
        let wanted = assign.targets.iter().find_map(|target| target.as_name_expr());
        let wanted = wanted.map(|name| self.target(name)).transpose()?;
        let arg = self.expr(&assign.value, wanted)?;
        for target in &assign.targets {
            match target {
                Expr::Name(name) => self.bind(name, arg, setitem)?,
                _ => self.assign_to(target, arg, next)?,
            }
        }
        Ok(())
    }

    fn bind(&mut self, name: &'a ExprName, arg: Arg, setitem: Option<ValueId>) -> Result<(), Error> {
        let target = self.target(name)?;
        if self.body.bind(target, arg, setitem) {
            Ok(())
        } else {
            Err(unsupported(self.source, name, "a name for a list or tuple of constants"))
        }
    }

    fn assign_to(&mut self, target: &'a Expr, arg: Arg, next: Option<&'a Stmt>) -> Result<(), Error> {
        match target {
            Expr::Name(name) => self.bind(name, arg, None),
            Expr::Subscript(subscript) => {
                let base = self.body.args.len();
                let receiver = self.expr(&subscript.value, None)?;
                self.body.args.push(receiver);
                let index = self.expr(&subscript.slice, None)?;
                self.body.args.extend([index, arg]);
                let alias = subscript.value.as_name_expr().and_then(|name| alias_of(next, &name.id));
                let alias = alias.map(|alias| self.body.scope.local(alias));
                self.body.assign_item(alias, base);
                Ok(())
            }
            _ => {
                let Some(elements) = elements_of(target) else {
                    return Err(unsupported(self.source, target, "an assignment to this"));
                };
                for (index, element) in (0..).zip(elements) {
                    let name = element.as_name_expr().map(|name| self.target(name)).transpose()?;
                    let base = self.body.args.len();
                    self.body.args.extend([arg, Arg::Int(index)]);
                    let item = self.body.call_function("operator.getitem", name, base);
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
        let Some(function) = operators::in_place(assign.op.as_str()) else {
            return Err(unsupported(self.source, assign, "this assignment in place"));
        };
        let local = self.target(target)?;
        let base = self.body.args.len();
        for operand in [&assign.target, &assign.value] {
            let arg = self.expr(operand, None)?;
            self.body.args.push(arg);
        }
        let alias = alias_of(next, local.name).map(|alias| self.body.scope.local(alias));
        self.body.assign_in_place(function, local, alias, base);
        Ok(())
    }

    fn outputs(&mut self, returned: &'a StmtReturn) -> Result<Vec<Arg>, Error> {
        let Some(value) = &returned.value else {
            return Err(self.source.error(returned, ErrorKind::NoReturn));
        };
        match elements_of(value) {
            // `return x, y`, `return (x, y)` and `return [x, y]` are the same outputs.
            Some(elements) => elements.iter().map(|element| self.expr(element, None)).collect(),
            None => Ok(vec![self.expr(value, None)?]),
        }
    }

    fn target(&mut self, target: &'a ExprName) -> Result<Local<'a>, Error> {
        self.local(&target.id, target)
    }

    fn free(&mut self, target: &'a Expr) -> Result<(), Error> {
        let Expr::Name(name) = target else {
            return Err(unsupported(self.source, target, "a deletion of this"));
        };
        let local = self.body.scope.local(&name.id);
        self.body.free(local);
        Ok(())
    }
}

/// Returns `z` if the statement is `z = name`.
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
