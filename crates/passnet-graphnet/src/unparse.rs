//! Prints a module byte for byte as `ast.unparse` of Python 3.11 does.
//!
//! Two texts with the same syntax tree have the same printed form: line breaks, quotes, brackets and comments do not matter.
//! Hashes of text are computed from this form. The printer supports the grammar of samples (imports, classes, functions,
//! assignments, expressions of names, literals, calls and operators). Other syntax is an error.

mod expr;

use std::borrow::Cow;

use ruff_python_ast::{Expr, ModModule, Parameters, Stmt, StmtAssign};
use ruff_text_size::Ranged;

use crate::{Error, ErrorKind, source::Source};

/// Prints the text of a module in normal form. `path` is used in messages only.
///
/// # Errors
/// If the text is not Python, or has statements or expressions beyond those of samples.
pub fn unparse(path: &str, text: &str) -> Result<String, Error> {
    let source = Source::new(path, text)?;
    let module = source.parse()?;
    Unparser::new(&source, Unchanged).module(&module)
}

/// Changes names and drops assignments while a module is printed.
pub(crate) trait Rewrite<'a> {
    /// Returns whether to print a target of an assignment or `del`. `is_free` is true for the statements `target = None` and
    /// `del target`.
    fn keeps_target(&mut self, target: &'a Expr, is_free: bool) -> bool;

    /// Reads the parameters of a method before the method is printed.
    fn parameters(&mut self, parameters: &'a Parameters);

    /// Returns the text to print for a name.
    fn name(&self, name: &'a str) -> Cow<'a, str>;
}

struct Unchanged;

impl<'a> Rewrite<'a> for Unchanged {
    fn keeps_target(&mut self, _: &'a Expr, _: bool) -> bool {
        true
    }

    fn parameters(&mut self, _: &'a Parameters) {}

    fn name(&self, name: &'a str) -> Cow<'a, str> {
        name.into()
    }
}

pub(crate) struct Unparser<'s, R> {
    source: &'s Source<'s>,
    rewrite: R,
    out: String,
    indent: usize,
}

impl<'s, R> Unparser<'s, R> {
    pub(crate) fn new(source: &'s Source<'s>, rewrite: R) -> Self {
        Self { source, rewrite, out: String::with_capacity(source.text.len()), indent: 0 }
    }

    fn unsupported(&self, place: &impl Ranged, what: &str) -> Error {
        self.source.error(place, ErrorKind::Unsupported { what: what.to_owned(), part: "sample" })
    }
}

impl<'a, R: Rewrite<'a>> Unparser<'_, R> {
    /// Returns the whole text, without a newline at the end.
    pub(crate) fn module(mut self, module: &'a ModModule) -> Result<String, Error> {
        self.statements(&module.body)?;
        Ok(self.out)
    }

    fn statements(&mut self, body: &'a [Stmt]) -> Result<(), Error> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Begins a line. The first line of the text needs no newline before it.
    fn line(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
    }

    fn block(&mut self, body: &'a [Stmt]) -> Result<(), Error> {
        self.out.push(':');
        self.indent += 1;
        self.statements(body)?;
        self.indent -= 1;
        Ok(())
    }

    fn statement(&mut self, statement: &'a Stmt) -> Result<(), Error> {
        match statement {
            Stmt::Assign(assign) => self.assign(assign),
            Stmt::AugAssign(assign) => {
                self.line("");
                self.expr(&assign.target)?;
                self.out.push(' ');
                self.out.push_str(assign.op.as_str());
                self.out.push_str("= ");
                self.expr(&assign.value)
            }
            Stmt::Return(returned) => {
                self.line("return");
                match &returned.value {
                    Some(value) => {
                        self.out.push(' ');
                        self.expr(value)
                    }
                    None => Ok(()),
                }
            }
            Stmt::Delete(delete) => {
                let mut targets = Vec::with_capacity(delete.targets.len());
                targets.extend(delete.targets.iter().filter(|target| self.rewrite.keeps_target(target, true)));
                if targets.is_empty() {
                    return Ok(());
                }
                self.line("del ");
                self.separated(targets, Self::expr)
            }
            Stmt::Pass(_) => {
                self.line("pass");
                Ok(())
            }
            // A string as a statement may be a docstring, which has its own layout.
            Stmt::Expr(expr) if !expr.value.is_string_literal_expr() => {
                self.line("");
                self.expr(&expr.value)
            }
            Stmt::Import(import) => {
                self.line("import ");
                self.separated(&import.names, Self::alias)
            }
            Stmt::ImportFrom(import) => {
                self.line("from ");
                (0..import.level).for_each(|_| self.out.push('.'));
                self.out.push_str(import.module.as_deref().unwrap_or_default());
                self.out.push_str(" import ");
                self.separated(&import.names, Self::alias)
            }
            Stmt::ClassDef(class) if class.decorator_list.is_empty() && class.type_params.is_none() => {
                self.blank_line();
                self.line("class ");
                self.out.push_str(&class.name);
                if let Some(arguments) = class.arguments.as_ref().filter(|arguments| !arguments.is_empty()) {
                    self.arguments(arguments)?;
                }
                self.block(&class.body)
            }
            Stmt::FunctionDef(function)
                if function.decorator_list.is_empty()
                    && function.type_params.is_none()
                    && function.returns.is_none()
                    && !function.is_async =>
            {
                self.rewrite.parameters(&function.parameters);
                self.blank_line();
                self.line("def ");
                self.out.push_str(&function.name);
                self.parameters(&function.parameters)?;
                self.block(&function.body)
            }
            other => Err(self.unsupported(other, "this statement")),
        }
    }

    fn blank_line(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn alias(&mut self, alias: &'a ruff_python_ast::Alias) -> Result<(), Error> {
        self.out.push_str(&alias.name);
        if let Some(name) = &alias.asname {
            self.out.push_str(" as ");
            self.out.push_str(name);
        }
        Ok(())
    }

    fn assign(&mut self, assign: &'a StmtAssign) -> Result<(), Error> {
        let is_free = assign.value.is_none_literal_expr();
        let start = self.out.len();
        self.line("");
        let targets_start = self.out.len();
        for target in &assign.targets {
            if self.rewrite.keeps_target(target, is_free) {
                self.target(target)?;
                self.out.push_str(" = ");
            }
        }
        // All targets were left out, so the line that was begun for them is removed too.
        if self.out.len() == targets_start {
            self.out.truncate(start);
            return Ok(());
        }
        self.expr(&assign.value)
    }

    fn parameters(&mut self, parameters: &'a Parameters) -> Result<(), Error> {
        let is_plain = parameters.posonlyargs.is_empty()
            && parameters.kwonlyargs.is_empty()
            && parameters.vararg.is_none()
            && parameters.kwarg.is_none()
            && parameters.args.iter().all(|parameter| parameter.default.is_none());
        if !is_plain {
            return Err(self.unsupported(&parameters.range, "a parameter of this kind"));
        }
        self.out.push('(');
        self.separated(&parameters.args, |this, parameter| {
            let name = this.rewrite.name(&parameter.parameter.name);
            this.out.push_str(&name);
            match &parameter.parameter.annotation {
                Some(annotation) => {
                    this.out.push_str(": ");
                    this.expr(annotation)
                }
                None => Ok(()),
            }
        })?;
        self.out.push(')');
        Ok(())
    }

    fn separated<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut print: impl FnMut(&mut Self, T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            print(self, item)?;
        }
        Ok(())
    }
}
