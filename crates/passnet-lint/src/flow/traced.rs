//! Functions that `pattern` calls while it is traced. They have the rules of `pattern`, and host code cannot call them.

use ruff_python_ast::{
    Expr, Stmt, StmtFunctionDef,
    visitor::{self, Visitor},
};
use ruff_text_size::Ranged;

use super::{Binding, Flow, FunctionRole, ModuleId, Value};

impl<'a> Flow<'a> {
    /// Notes the functions without decorators that a pattern calls, itself or through others.
    pub(super) fn find_traced(&mut self) {
        let mut open: Vec<(ModuleId, &'a StmtFunctionDef)> = Vec::new();
        for id in self.module_ids() {
            open.extend(self.plain_function(id, "pattern").map(|def| (id, def)));
        }
        while let Some((id, def)) = open.pop() {
            let mut called = Called::default();
            called.visit_body(&def.body);
            for callee in called.names {
                let Some((home, name)) = self.named_function(id, callee) else { continue };
                let Some(def) = self.plain_function(home, name) else { continue };
                if self.traced.insert((home, def.start())) {
                    open.push((home, def));
                }
            }
        }
    }

    /// Returns whether an expression outside of all functions names functions that are traced only.
    pub(crate) fn names_traced(&self, id: ModuleId, callee: &'a Expr) -> bool {
        let value = self.named_function(id, callee).and_then(|(home, name)| self.module_name(home, name));
        match value {
            Some(Value::Functions(ids)) => ids.iter().all(|id| self.function(*id).role == FunctionRole::Pattern),
            _ => false,
        }
    }

    /// Returns the file and the name that `name` or `module.name` stands for.
    fn named_function(&self, id: ModuleId, callee: &'a Expr) -> Option<(ModuleId, &'a str)> {
        match callee {
            Expr::Name(name) => Some(self.imported_from(id, name.id.as_str())),
            Expr::Attribute(attribute) => {
                let owner = attribute.value.as_name_expr()?;
                match self.module_name(id, owner.id.as_str())? {
                    Value::Module(home) => Some(self.imported_from(home, attribute.attr.as_str())),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Follows imports of a name from file to file.
    fn imported_from(&self, id: ModuleId, name: &'a str) -> (ModuleId, &'a str) {
        let (mut id, mut name) = (id, name);
        // A chain of imports longer than there are files is a cycle.
        for _ in 0..=self.modules.len() {
            match self.modules[id.0].names.get(name) {
                Some(Binding::Imported(from, original)) => (id, name) = (*from, original),
                _ => break,
            }
        }
        (id, name)
    }

    fn plain_function(&self, id: ModuleId, name: &str) -> Option<&'a StmtFunctionDef> {
        let defs = self.statements(id).iter().filter_map(Stmt::as_function_def_stmt);
        defs.into_iter().find(|def| def.name.as_str() == name && def.decorator_list.is_empty())
    }
}

/// The names and attributes that a body calls.
#[derive(Default)]
struct Called<'a> {
    names: Vec<&'a Expr>,
}

impl<'a> Visitor<'a> for Called<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            self.names.push(&call.func);
        }
        visitor::walk_expr(self, expr);
    }
}
