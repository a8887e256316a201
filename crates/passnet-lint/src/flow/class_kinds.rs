//! The kinds of classes that a pass may define, and their members.

use ruff_python_ast::{
    Decorator, Expr, ExprCall, ExprContext, Keyword, Stmt, StmtAssign, StmtClassDef, StmtFunctionDef,
    visitor::{self, Visitor},
};
use ruff_text_size::Ranged;

use super::{CodeLocation, Flow, FunctionRole, ModuleId, SiteId, Value, scope::Scope};
use crate::{
    class::{CheckedClass, ClassKind, Receiver},
    ids::ClassId,
    rules::{ModuleState, StatementNotAllowed},
};

/// Exceptions that a class of the directory may extend.
const ERRORS: &[&str] = &[
    "AssertionError",
    "Exception",
    "IndexError",
    "KeyError",
    "NotImplementedError",
    "RuntimeError",
    "TypeError",
    "ValueError",
];

/// Settings of `dataclasses.dataclass` that decide about comparison, order and layout only.
const DATACLASS_KEYWORDS: &[&str] = &["eq", "frozen", "kw_only", "match_args", "order", "repr", "slots"];

impl<'a> Flow<'a> {
    fn new_site(&mut self) -> SiteId {
        self.heap.push(Value::Nothing);
        SiteId(self.heap.len() - 1)
    }

    /// Registers a class at module level. Returns `None` if its bases or decorators are not those of a class of data.
    pub(super) fn register_class(&mut self, id: ModuleId, def: &'a StmtClassDef) -> Option<ClassId> {
        let kind = self.class_kind(id, def)?;
        let mut class = CheckedClass::new(kind);
        // `dataclass` leaves such fields out, or moves them to the end.
        let moves = ["ClassVar", "InitVar", "KW_ONLY"]
            .iter()
            .any(|word| self.sources.iter().any(|source| source.mentions(word)));
        class.in_order = kind != ClassKind::Data || !moves;
        for stmt in &def.body {
            match stmt {
                Stmt::AnnAssign(assign) => {
                    let Expr::Name(name) = &*assign.target else { continue };
                    // `field(init=False)` and `field(kw_only=True)`.
                    let settings = assign.value.as_ref().and_then(|value| value.as_call_expr());
                    if settings.is_some_and(|call| !call.arguments.keywords.iter().all(is_default)) {
                        class.in_order = false;
                    }
                    let site = self.new_site();
                    if matches!(kind, ClassKind::NamedTuple | ClassKind::Data) {
                        class.fields.push((name.id.as_str(), site));
                    } else {
                        class.constants.insert(name.id.as_str(), site);
                    }
                }
                Stmt::Assign(assign) if is_slots(assign) => {}
                Stmt::Assign(assign) => {
                    for target in assign.targets.iter().filter_map(Expr::as_name_expr) {
                        let site = self.new_site();
                        class.constants.insert(target.id.as_str(), site);
                    }
                }
                Stmt::FunctionDef(def) => {
                    if matches!(kind, ClassKind::Group | ClassKind::Module) && def.name.as_str() == "__init__" {
                        for name in assigned_fields(def) {
                            let site = self.new_site();
                            class.fields.push((name, site));
                        }
                    }
                    let frame = CodeLocation { module: id, function: None };
                    let function = self.register_function(frame, FunctionRole::Host, &def.parameters, def);
                    class.methods.insert(def.name.as_str(), (function, receiver(def)));
                }
                _ => {}
            }
        }
        self.classes.push(class);
        Some(ClassId(self.classes.len() - 1))
    }

    fn class_kind(&self, id: ModuleId, def: &StmtClassDef) -> Option<ClassKind> {
        let (bases, keywords) =
            def.arguments.as_ref().map_or((&[][..], &[][..]), |list| (&*list.args, &*list.keywords));
        if !keywords.is_empty() || def.type_params.is_some() {
            return None;
        }
        let is_builtin = |expr: &Expr, names: &[&str]| {
            expr.as_name_expr()
                .is_some_and(|name| names.contains(&name.id.as_str()) && self.module_name(id, &name.id).is_none())
        };
        let kind = match bases {
            [] => None,
            [base] if is_builtin(base, &["object"]) => None,
            // `class Mode(str, Enum)`: its members are strings as well.
            [mixin, base] if is_builtin(mixin, &["int", "str"]) => {
                Some(self.base_kind(id, base).filter(|kind| *kind == ClassKind::Enumeration)?)
            }
            [base] if is_builtin(base, ERRORS) => Some(ClassKind::Error),
            [base] => Some(self.base_kind(id, base)?),
            _ => return None,
        };
        match (kind, &*def.decorator_list) {
            (None, []) => Some(ClassKind::Group),
            (Some(kind), []) => Some(kind),
            (None, [one]) => self.is_dataclass(id, one).then_some(ClassKind::Data),
            (Some(ClassKind::Enumeration), [one]) => {
                (self.dotted(id, &one.expression)? == "enum.unique").then_some(ClassKind::Enumeration)
            }
            _ => None,
        }
    }

    fn base_kind(&self, id: ModuleId, base: &Expr) -> Option<ClassKind> {
        match self.dotted(id, base)?.as_str() {
            "enum.Enum" | "enum.IntEnum" | "enum.StrEnum" | "enum.Flag" | "enum.IntFlag" => {
                Some(ClassKind::Enumeration)
            }
            "typing.NamedTuple" => Some(ClassKind::NamedTuple),
            "torch.nn.Module" => Some(ClassKind::Module),
            "torch.autograd.Function" => Some(ClassKind::Autograd),
            _ => None,
        }
    }

    fn is_dataclass(&self, id: ModuleId, decorator: &Decorator) -> bool {
        let (callee, keywords) = match &decorator.expression {
            Expr::Call(call) if call.arguments.args.is_empty() => (&*call.func, &*call.arguments.keywords),
            other => (other, &[][..]),
        };
        self.dotted(id, callee).is_some_and(|path| path == "dataclasses.dataclass")
            && keywords.iter().all(|keyword| {
                let name = keyword.arg.as_ref().map_or("**", |name| name.as_str());
                DATACLASS_KEYWORDS.contains(&name) && keyword.value.is_boolean_literal_expr()
            })
    }

    /// Registers the class that `collections.namedtuple("Name", fields)` makes.
    pub(super) fn named_tuple(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let names: Option<Vec<&'a str>> = match &*call.arguments.args {
            [name, Expr::StringLiteral(text)] if name.is_string_literal_expr() => Some(
                text.value
                    .to_str()
                    .split(|c: char| c == ',' || c.is_whitespace())
                    .filter(|name| !name.is_empty())
                    .collect(),
            ),
            [name, fields] if name.is_string_literal_expr() && (fields.is_list_expr() || fields.is_tuple_expr()) => {
                super::natives::listed(fields)
                    .iter()
                    .map(|field| field.as_string_literal_expr().map(|text| text.value.to_str()))
                    .collect()
            }
            _ => None,
        };
        let Some(names) = names.filter(|_| frame.function.is_none()) else {
            let subject = "`namedtuple` without literal names, or inside a function,".to_owned();
            return self.report(frame.module, call, &StatementNotAllowed { subject });
        };
        let place = (frame.module, call.start());
        let class = match self.class_at.get(&place) {
            Some(class) => *class,
            None => {
                let mut class = CheckedClass::new(ClassKind::NamedTuple);
                class.fields = names.into_iter().map(|name| (name, self.new_site())).collect();
                self.classes.push(class);
                let id = ClassId(self.classes.len() - 1);
                self.class_at.insert(place, id);
                self.changed = true;
                id
            }
        };
        for keyword in &call.arguments.keywords {
            let defaults = self.eval(frame, &keyword.value);
            if !self.is_plain(&defaults) {
                self.report(frame.module, keyword, &ModuleState { subject: self.describe_state(&defaults) });
            }
            let default = match &defaults {
                Value::Plain => Value::Plain,
                _ => self.element(frame, keyword, defaults.clone()).shared(),
            };
            for (_, site) in self.classes[class.0].fields.clone() {
                self.put(site, default.clone());
            }
        }
        Value::Class(class)
    }
}

/// Returns whether a statement of a class lists the names of its attributes: `__slots__ = ("kernel", "block")`.
pub(super) fn is_slots(assign: &StmtAssign) -> bool {
    let names = match &*assign.value {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        Expr::List(list) => list.elts.as_slice(),
        _ => return false,
    };
    let is_name = |name: &Expr| {
        name.as_string_literal_expr()
            .is_some_and(|literal| !literal.value.is_empty() && !literal.value.to_str().starts_with("__"))
    };
    matches!(assign.targets.as_slice(), [Expr::Name(name)] if name.id.as_str() == "__slots__")
        && names.iter().all(is_name)
}

/// Returns whether a setting of a field is its default.
fn is_default(keyword: &Keyword) -> bool {
    keyword.arg.as_ref().is_some_and(|name| matches!(name.as_str(), "default" | "default_factory"))
}

/// Returns the name of the instance that a method gets, if the method gives no other meaning to the name. A method with a decorator may get
/// the class, or any value.
pub(super) fn own_instance(def: &StmtFunctionDef) -> Option<&str> {
    def.decorator_list.is_empty().then_some(())?;
    let first = def.parameters.posonlyargs.iter().chain(&def.parameters.args).next()?.name().as_str();
    let scope = Scope::of_body(Some(&def.parameters), &def.body);
    let bound = scope.names.iter().chain(&scope.comprehension).filter(|(name, _)| *name == first).count();
    (bound == 1).then_some(first)
}

/// Returns the names of the attributes of its instance to which `__init__` assigns.
pub(super) fn assigned_fields(def: &StmtFunctionDef) -> Vec<&str> {
    struct Fields<'a> {
        instance: &'a str,
        names: Vec<&'a str>,
    }
    impl<'a> Visitor<'a> for Fields<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Attribute(attribute) = expr
                && attribute.ctx == ExprContext::Store
                && attribute.value.as_name_expr().is_some_and(|owner| owner.id.as_str() == self.instance)
                && !self.names.contains(&attribute.attr.as_str())
            {
                self.names.push(attribute.attr.as_str());
            }
            visitor::walk_expr(self, expr);
        }
    }
    let Some(instance) = own_instance(def) else { return Vec::new() };
    let mut fields = Fields { instance, names: Vec::new() };
    fields.visit_body(&def.body);
    fields.names
}

pub(super) fn receiver(def: &StmtFunctionDef) -> Receiver {
    match &*def.decorator_list {
        [one] => match one.expression.as_name_expr().map(|name| name.id.as_str()) {
            Some("staticmethod") => Receiver::Nothing,
            Some("classmethod") => Receiver::Class,
            Some("property") => Receiver::Property,
            _ => Receiver::Instance,
        },
        _ => Receiver::Instance,
    }
}
