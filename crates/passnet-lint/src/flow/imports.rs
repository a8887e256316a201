//! Import statements: the modules that they import, and the meaning of the names that they bind.

use ruff_python_ast::{Alias, Stmt, StmtImport, StmtImportFrom};

use super::{Binding, CodeLocation, Flow, ModuleId, Value, api};
use crate::importable::{IMPORTABLE, IMPORTABLE_ROOTS, bound_name};
use crate::rules::{ImportNotAllowed, StarImport, StatementNotAllowed, UnknownName};

/// The package from which passes for the upstream harness import their helpers.
const UPSTREAM_PACKAGE: &str = "pass_dir";

/// Names of `typing` that a pass may import for annotations.
const TYPING_NAMES: &[&str] = &[
    "Annotated",
    "Any",
    "Callable",
    "ClassVar",
    "Dict",
    "Final",
    "FrozenSet",
    "Generator",
    "Iterable",
    "Iterator",
    "List",
    "Literal",
    "Mapping",
    "NamedTuple",
    "NoReturn",
    "Optional",
    "Self",
    "Sequence",
    "Set",
    "TYPE_CHECKING",
    "Tuple",
    "Type",
    "TypeAlias",
    "TypeVar",
    "Union",
    "cast",
];

/// Names of modules of the standard library that a pass may import. The modules have other names, which keep state or call what
/// they are given.
const STANDARD_NAMES: &[(&str, &[&str])] = &[
    ("collections", &["abc", "namedtuple"]),
    ("contextlib", &["nullcontext"]),
    ("dataclasses", &["dataclass", "field", "replace"]),
    ("enum", &["Enum", "Flag", "IntEnum", "IntFlag", "StrEnum", "auto", "unique"]),
    ("functools", &["cache", "lru_cache", "partial", "reduce", "wraps"]),
    ("textwrap", &["dedent"]),
    ("triton.runtime", &["driver"]),
    ("triton.tools.tensor_descriptor", &["TensorDescriptor"]),
];

/// Returns whether a pass may import this name from an importable module. Its use is checked separately.
fn is_public(module: &str, name: &str) -> bool {
    match module {
        "typing" => TYPING_NAMES.contains(&name),
        _ if let Some((_, names)) = STANDARD_NAMES.iter().find(|(known, _)| *known == module) => names.contains(&name),
        "passnet" => IMPORTABLE.contains(&format!("passnet.{name}").as_str()),
        _ => !name.starts_with('_'),
    }
}

/// Returns whether a name is that of a module of Python's standard library, or of a package that is often installed.
fn is_installed(module: &str) -> bool {
    include_str!("../names/installed.txt").lines().any(|name| name == module)
}

impl<'a> Flow<'a> {
    pub(super) fn register_imports(&mut self, id: ModuleId) {
        for stmt in self.statements(id) {
            match stmt {
                Stmt::Import(import) => self.register_import(id, import),
                Stmt::ImportFrom(import) => self.register_import_from(id, import),
                _ => {}
            }
        }
    }

    fn register_import(&mut self, id: ModuleId, import: &'a StmtImport) {
        if import.is_lazy {
            self.report(id, import, &StatementNotAllowed { subject: "a lazy import".to_owned() });
        }
        for alias in &import.names {
            let module = alias.name.as_str();
            let name = match self.plain_module(module) {
                Some(_) => Some(alias.asname.as_ref().unwrap_or(&alias.name)),
                None => alias.asname.as_ref(),
            };
            if let (Some(sibling), Some(name)) = (self.sibling(module), name) {
                self.bind_import(id, alias, name.as_str(), Binding::Value(Value::Module(sibling)));
                continue;
            }
            if !IMPORTABLE.contains(&module) {
                self.missing_import(id, alias, module);
            }
            let name = bound_name(alias);
            let path = if alias.asname.is_some() { module } else { name };
            self.bind_import(id, alias, name, Binding::Value(Value::Path(path.to_owned())));
        }
    }

    fn register_import_from(&mut self, id: ModuleId, import: &'a StmtImportFrom) {
        let module = import.module.as_ref().map_or("", |name| name.as_str());
        if import.is_lazy {
            self.report(id, import, &StatementNotAllowed { subject: "a lazy import".to_owned() });
        }
        for alias in &import.names {
            let name = alias.name.as_str();
            let bound = bound_name(alias);
            if name == "*" {
                self.report(id, alias, &StarImport { subject: module.to_owned() });
                continue;
            }
            let binding = match import.level {
                0 if module == "__future__" && name == "annotations" => continue,
                0 if IMPORTABLE.contains(&module) && is_public(module, name) => {
                    Binding::Value(Value::Path(format!("{module}.{name}")))
                }
                0 if IMPORTABLE.contains(&module) => self.missing_import(id, alias, &format!("{module}.{name}")),
                0 if let Some(sibling) = self.sibling(module) => Binding::Imported(sibling, name),
                0 if module == UPSTREAM_PACKAGE => match self.module_named(name) {
                    Some(sibling) => Binding::Value(Value::Module(sibling)),
                    None => self.missing_import(id, alias, &format!("{module}.{name}")),
                },
                1 if module.is_empty() => match self.module_named(name) {
                    Some(sibling) => Binding::Value(Value::Module(sibling)),
                    None => self.missing_import(id, alias, &format!(".{name}")),
                },
                1 => match self.module_named(module) {
                    Some(sibling) => Binding::Imported(sibling, name),
                    None => self.missing_import(id, alias, &format!(".{module}")),
                },
                level => {
                    let dots = ".".repeat(usize::try_from(level).unwrap_or_default().min(3));
                    self.missing_import(id, alias, &format!("{dots}{module}"))
                }
            };
            self.bind_import(id, alias, bound, binding);
        }
    }

    /// Binds the modules that a function imports. Python loads a module once, so a second import changes nothing.
    pub(super) fn local_import(&mut self, frame: CodeLocation, stmt: &'a Stmt) {
        let names = match stmt {
            Stmt::Import(import) if !import.is_lazy => &import.names,
            Stmt::ImportFrom(import) if !import.is_lazy && import.level == 0 => &import.names,
            _ => {
                let subject = "this import inside a function".to_owned();
                self.report(frame.module, stmt, &StatementNotAllowed { subject });
                return;
            }
        };
        let from = stmt.as_import_from_stmt().and_then(|import| import.module.as_ref()).map(|module| module.as_str());
        for alias in names {
            let name = alias.name.as_str();
            let bound = bound_name(alias);
            let path = match (from, &alias.asname) {
                (Some(from), _) => format!("{from}.{name}"),
                (None, Some(_)) => name.to_owned(),
                (None, None) => bound.to_owned(),
            };
            let allowed = match from {
                Some(from) => IMPORTABLE.contains(&from) && name != "*" && is_public(from, name),
                None => IMPORTABLE.contains(&name),
            };
            let value = if allowed {
                Value::Path(path)
            } else {
                let subject = from.map_or(name.to_owned(), |from| format!("{from}.{name}"));
                self.report(frame.module, alias, &ImportNotAllowed { subject, hides_file: false })
            };
            self.bind_name(frame, bound, value);
        }
    }

    fn missing_import(&mut self, id: ModuleId, alias: &Alias, shown: &str) -> Binding<'a> {
        let hides_file = !IMPORTABLE_ROOTS.contains(&shown) && self.module_named(shown).is_some();
        Binding::Value(self.report(id, alias, &ImportNotAllowed { subject: shown.to_owned(), hides_file }))
    }

    fn bind_import(&mut self, id: ModuleId, alias: &Alias, name: &'a str, binding: Binding<'a>) {
        let names = &self.modules[id.0].names;
        // `import torch` and `import torch.nn` bind the same name to the same module.
        let same = match (names.get(name), &binding) {
            (Some(Binding::Value(old)), Binding::Value(new)) => old == new,
            (Some(_), _) => false,
            (None, _) => true,
        };
        self.check_binding(id, name, alias, !same || api::is_python_builtin(name));
        if same {
            self.modules[id.0].names.insert(name, binding);
        }
    }

    /// Returns the file that an absolute import refers to.
    fn sibling(&self, module: &str) -> Option<ModuleId> {
        self.plain_module(module).or_else(|| self.upstream_module(module))
    }

    /// Returns the file that a plain `import NAME` refers to. Python finds an installed module of that name first, so the file
    /// may not have the name of a known module. The worker refuses a directory in which another installed module has the name.
    fn plain_module(&self, module: &str) -> Option<ModuleId> {
        let installed = IMPORTABLE_ROOTS.contains(&module) || is_installed(module);
        if installed { None } else { self.module_named(module) }
    }

    /// Returns the file that `pass_dir.NAME` refers to.
    fn upstream_module(&self, module: &str) -> Option<ModuleId> {
        module.strip_prefix(UPSTREAM_PACKAGE)?.strip_prefix('.').and_then(|stem| self.module_named(stem))
    }

    pub(super) fn module_named(&self, stem: &str) -> Option<ModuleId> {
        self.sources.iter().position(|source| source.stem == stem).map(ModuleId)
    }

    /// Checks that names imported from files of the directory exist there.
    pub(super) fn check_sibling_imports(&mut self) {
        for id in self.module_ids() {
            for stmt in self.statements(id) {
                let Stmt::ImportFrom(import) = stmt else { continue };
                let sibling = match (&import.module, import.level) {
                    (Some(module), 0) => self.sibling(module.as_str()),
                    (Some(module), 1) => self.module_named(module.as_str()),
                    _ => None,
                };
                let Some(sibling) = sibling else { continue };
                for alias in &import.names {
                    // Python would look for a submodule of that name next, and there is none in a flat directory.
                    if self.module_name(sibling, alias.name.as_str()).is_none() && alias.name.as_str() != "*" {
                        let subject = format!("{}.{}", self.source(sibling).stem, alias.name.as_str());
                        self.report(id, alias, &UnknownName { subject });
                    }
                }
            }
        }
    }
}
