//! Values of names.

use super::{Binding, CodeLocation, Flow, FunctionId, ModuleId, Value, api};

impl Flow<'_> {
    /// Returns the value of a name as Python's scopes resolve it: in the function, those around it, the class, the module, the builtins.
    /// Returns `None` if no allowed value has that name.
    pub(super) fn lookup(&self, frame: CodeLocation, name: &str) -> Option<Value> {
        let mut enclosing = frame.function;
        while let Some(id) = enclosing {
            let function = self.function(id);
            if let Some(value) = function.locals.get(name) {
                let own = frame.function == Some(id);
                return Some(if own { value.clone() } else { value.clone().shared() });
            }
            enclosing = function.parent;
        }
        match self.module_name(frame.module, name) {
            // While the module itself runs, it may still build its containers.
            Some(value) => Some(if frame.function.is_none() { value } else { value.shared() }),
            // No constant of a class that its body reads has the name of a builtin.
            None => {
                let constant = self.class_constants.get(name).filter(|_| frame.function.is_none());
                constant.cloned().or_else(|| api::builtin(name).map(Value::Builtin))
            }
        }
    }

    /// Returns whether a function binds the name itself.
    pub(crate) fn is_local(&self, id: FunctionId, name: &str) -> bool {
        self.function(id).locals.contains_key(name)
    }

    /// Returns the value of a name at the level of a module.
    pub(crate) fn module_name(&self, module: ModuleId, name: &str) -> Option<Value> {
        let (mut module, mut name) = (module, name);
        // A chain of imports longer than there are files is a cycle.
        for _ in 0..=self.modules.len() {
            match self.modules[module.0].names.get(name)? {
                Binding::Value(value) => return Some(value.clone()),
                Binding::Imported(from, original) => (module, name) = (*from, original),
            }
        }
        None
    }
}
