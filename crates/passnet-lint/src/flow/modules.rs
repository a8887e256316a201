//! Classes of PyTorch that a pass may extend: `torch.nn.Module` and `torch.autograd.Function`. Both only wrap a function `forward`.
//!
//! A call of a module runs its `forward`, and `apply` of an autograd function runs its `forward` with a new context. All else that
//! these classes can do keeps data or runs code at other times, so the pass may neither use nor override it.

use ruff_python_ast::{Expr, ExprCall, StmtClassDef};
use ruff_text_size::Ranged;

use super::{CodeLocation, Flow, ModuleId, Value};
use crate::{
    bound::Bound,
    class::{ClassKind, Receiver},
    ids::ClassId,
    rules::StatementNotAllowed,
};

/// The context that `forward` gets. It is a name that no list has, so each use is a finding.
const CONTEXT: &str = "torch.autograd.function.FunctionCtx";

impl<'a> Flow<'a> {
    /// Returns the name of the method that a call of an instance runs.
    pub(super) fn called_method(&self, instance: &Value) -> &'static str {
        match instance {
            Value::Record(class) if self.classes[class.0].kind == ClassKind::Module => "forward",
            _ => "__call__",
        }
    }

    /// Returns whether an attribute is `eval` of a module. It returns the module, and the mode that it sets cannot be read.
    pub(super) fn is_eval(&self, owner: &Value, name: &str) -> bool {
        matches!(owner, Value::Record(class) if self.classes[class.0].kind == ClassKind::Module) && name == "eval"
    }

    /// Checks the names of the members of a module or an autograd function.
    pub(super) fn check_inherited(&mut self, id: ModuleId, class: ClassId, def: &'a StmtClassDef) {
        let checked = &self.classes[class.0];
        let fields = checked.fields.iter().map(|(name, _)| *name);
        let names: Vec<&str> =
            fields.chain(checked.constants.keys().copied()).chain(checked.methods.keys().copied()).collect();
        match checked.kind {
            ClassKind::Module => {
                // Names with two underscores are findings already.
                for name in names.into_iter().filter(|name| *name != "forward" && !name.starts_with("__")) {
                    if is_inherited(name) {
                        let subject =
                            format!("`{name}` in `{}`, a name of `torch.nn.Module` (choose another one)", def.name);
                        self.report(id, &def.name, &StatementNotAllowed { subject });
                    }
                }
            }
            ClassKind::Autograd => {
                let is_static =
                    checked.methods.get("forward").is_some_and(|(_, receiver)| *receiver == Receiver::Nothing);
                let other = names.into_iter().find(|name| *name != "forward");
                if !is_static || other.is_some() {
                    let found =
                        other.map_or("a `forward` that is no static method".to_owned(), |name| format!("`{name}`"));
                    let subject = format!(
                        "{found} in the autograd function `{}` (a pass has no backward: write one static method `forward`, or a plain function)",
                        def.name
                    );
                    self.report(id, &def.name, &StatementNotAllowed { subject });
                }
            }
            _ => {}
        }
    }

    /// Returns the function `apply` of an autograd function: `forward`, with a context of which nothing may be used.
    pub(super) fn apply_of(&mut self, class: ClassId) -> Option<Value> {
        let checked = &self.classes[class.0];
        let (forward, _) = checked.methods.get("forward").copied().filter(|_| checked.kind == ClassKind::Autograd)?;
        let module = self.function(forward).module;
        let place = match self.function(forward).body {
            super::Body::Def(def) => def.name.range(),
            _ => return None,
        };
        let bound = Bound {
            targets: [forward].into(),
            positional: vec![Value::Path(CONTEXT.to_owned())],
            keywords: Vec::new(),
        };
        Some(Value::function(self.bind_partial(CodeLocation { module, function: None }, &place, bound)))
    }

    /// Returns whether a statement is `super().__init__()` in an `__init__`, which does nothing to the fields of the class.
    pub(super) fn is_super_init(&self, frame: CodeLocation, expr: &Expr) -> bool {
        let init = expr.as_call_expr().filter(|call| call.arguments.is_empty());
        let Some(Expr::Attribute(init)) = init.map(|call| &*call.func) else { return false };
        let Some(parent) = init.value.as_call_expr().filter(|_| init.attr.as_str() == "__init__") else { return false };
        let Some(class) = self.class_of_init(frame) else { return false };
        let is_builtin = parent.func.as_name_expr().is_some_and(|name| name.id.as_str() == "super")
            && self.lookup(frame, "super").is_none();
        is_builtin && self.names_itself(frame, class, parent)
    }

    /// Returns the class whose `__init__` is running.
    fn class_of_init(&self, frame: CodeLocation) -> Option<ClassId> {
        let function = frame.function?;
        let is_init = |class: &crate::class::CheckedClass<'_>| {
            matches!(class.kind, ClassKind::Group | ClassKind::Module)
                && class.methods.get("__init__").is_some_and(|(id, _)| *id == function)
        };
        self.classes.iter().position(is_init).map(ClassId)
    }

    /// Returns whether the arguments of `super` are missing, or are the class and its instance.
    fn names_itself(&self, frame: CodeLocation, class: ClassId, call: &ExprCall) -> bool {
        let named = |expr: &Expr| expr.as_name_expr().and_then(|name| self.lookup(frame, name.id.as_str()));
        match &*call.arguments.args {
            _ if !call.arguments.keywords.is_empty() => false,
            [] => true,
            [first, second] => named(first) == Some(Value::Class(class)) && named(second) == Some(Value::Record(class)),
            _ => false,
        }
    }
}

/// Parts of private names that `torch.nn.Module` has, or may get in another version of PyTorch.
const PRIVATE_PARTS: &[&str] = &["buffer", "call", "hook", "state_dict"];

/// Returns whether `torch.nn.Module` has, or may get, an attribute of this name. `test_replacements.py` compares the list with the installed
/// version.
fn is_inherited(name: &str) -> bool {
    include_str!("../names/module.txt").lines().any(|inherited| inherited == name)
        || (name.starts_with('_') && PRIVATE_PARTS.iter().any(|part| name.contains(part)))
}
