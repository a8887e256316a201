//! Calls: functions of the directory, allowed functions of modules, builtins, methods, launches.

use std::collections::BTreeSet;

use ruff_python_ast::ExprCall;
use ruff_text_size::Ranged;

use super::{
    CodeLocation, Flow, FunctionId, Value,
    api::{self, Api},
    arguments::Called,
    attributes::Access,
};
use crate::rules::{
    ApiNotAllowed, DunderAccess, KernelLaunch, SharedMutation, TensorAttribute, TensorRead, UnknownAttribute,
    UnknownCall,
};

impl<'a> Flow<'a> {
    pub(super) fn call(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        if let Some(result) = self.reflect(frame, call) {
            return result;
        }
        if let Some(access) = self.access(frame, &call.func) {
            // `eval_raw`, because a module or a launcher is not a value on its own but may have methods.
            let receiver = self.eval_raw(frame, access.owner);
            #[cfg(test)]
            if self.reporting {
                self.bases.push((access.range, receiver.clone()));
            }
            if let Some(result) = self.method_call(frame, call, &receiver, access) {
                return result;
            }
        }
        match self.eval_raw(frame, &call.func) {
            Value::Path(path) => self.api_call(frame, call, &path),
            Value::Builtin(name @ ("filter" | "map")) => self.map(frame, call, name),
            Value::Class(class) => self.construct(frame, call, class),
            owner @ Value::Record(_) => {
                let name = self.called_method(&owner);
                self.class_call(frame, call, &owner, name).unwrap_or_else(|| {
                    let subject = format!("calling {}", owner.describe());
                    self.report(frame.module, call, &UnknownCall { subject })
                })
            }
            Value::Builtin(name) => self.builtin_call(frame, call, name),
            Value::Functions(ids) => {
                let called = self.eval_arguments(frame, &call.arguments);
                self.call_functions(frame, call, &ids, &called)
            }
            Value::Launcher | Value::Native if self.is_pure(frame) => self.report_impure(frame, call, "a launch"),
            Value::Launcher => self.launch(frame, call),
            Value::Native => {
                let called = self.eval_arguments(frame, &call.arguments);
                self.check_data(frame, call, &called, "a native kernel");
                Value::Tensor
            }
            Value::Kernel => {
                let subject = "a kernel is called like a function".to_owned();
                self.report(frame.module, call, &KernelLaunch { subject })
            }
            value @ (Value::Nothing | Value::Reported(_)) => {
                self.eval_arguments(frame, &call.arguments);
                value
            }
            other => self.report(frame.module, call, &UnknownCall { subject: format!("calling {}", other.describe()) }),
        }
    }

    pub(super) fn call_functions(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        ids: &BTreeSet<FunctionId>,
        called: &Called,
    ) -> Value {
        ids.iter().fold(Value::Nothing, |joined, id| joined.join(self.bind_call(frame, node, *id, called)))
    }

    /// Returns the result of calling a method of a value; `None` if the receiver has no methods of its own (modules, launchers).
    fn method_call(
        &mut self,
        frame: CodeLocation,
        call: &'a ExprCall,
        receiver: &Value,
        access: Access<'a>,
    ) -> Option<Value> {
        let Access { owner, name, range, name_range } = access;
        if name.starts_with("__") {
            return Some(self.report(frame.module, &range, &DunderAccess { subject: name.to_owned() }));
        }
        let receiver = match receiver {
            Value::Path(path) if api::api(path) == Some(Api::Constant) => &Value::Plain,
            other => other,
        };
        match receiver {
            Value::Tensor => {
                let called = self.eval_arguments(frame, &call.arguments);
                let inspects = api::TENSOR_INSPECTIONS.contains(&name);
                let parts = api::TENSOR_PARTS.contains(&name);
                if !inspects && !parts && !api::makes_tensor(name) {
                    let subject = if name == "data_ptr" { "data_ptr()` outside of `x.data_ptr() % 64" } else { name };
                    let violation = TensorAttribute { subject: subject.to_owned() };
                    return Some(self.report(frame.module, &name_range, &violation));
                }
                self.note_copy(frame, &name_range, name);
                // `view_as` and `expand_as` take a tensor and use its shape only.
                if !name.ends_with("_as") {
                    self.check_plain_arguments(frame, call, &called, "passing it to a method");
                }
                self.check_keywords(frame, call, api::CREATE_KEYWORDS, api::VIEW_KEYWORDS);
                Some(match (inspects, parts) {
                    (true, _) => Value::Plain,
                    (_, true) => self.container(frame, call, Value::Tensor).shared(),
                    _ => Value::Tensor,
                })
            }
            Value::Class(_) | Value::Record(_) => self.class_call(frame, call, receiver, name),
            Value::Plain | Value::Tuple(_) if api::PLAIN_METHODS.contains(&name) => {
                self.require_plain(frame, call, receiver, "passing it to a method");
                Some(self.plain_call(frame, call))
            }
            Value::Plain if let Some(result) = self.text_call(frame, call, owner, name) => Some(result),
            Value::Plain if name == "all_kwargs" && call.arguments.is_empty() => {
                Some(self.dictionary(frame, call, Value::Plain))
            }
            Value::LaunchArgument if api::ARGUMENT_INSPECTIONS.contains(&name) => Some(self.plain_call(frame, call)),
            Value::Items { sites, fresh } => Some(self.items_call(frame, call, sites, *fresh, name)),
            Value::Plain | Value::Tuple(_) | Value::LaunchArgument | Value::Kernel | Value::Functions(_) => {
                let violation = UnknownAttribute { subject: name.to_owned(), owner: receiver.describe() };
                Some(self.report(frame.module, &name_range, &violation))
            }
            _ => None,
        }
    }

    /// A method that takes plain values and returns one.
    fn plain_call(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let called = self.eval_arguments(frame, &call.arguments);
        self.check_plain_arguments(frame, call, &called, "passing it to a method");
        Value::Plain
    }

    fn items_call(
        &mut self,
        frame: CodeLocation,
        call: &'a ExprCall,
        sites: &BTreeSet<super::SiteId>,
        fresh: bool,
        name: &str,
    ) -> Value {
        let called = self.eval_arguments(frame, &call.arguments);
        let element = if fresh { self.elements(sites) } else { self.elements(sites).shared() };
        let whole = Value::Items { sites: sites.clone(), fresh };
        if api::ITEMS_CHANGES.contains(&name) {
            if !fresh {
                return self.report(frame.module, call, &SharedMutation { subject: format!("`.{name}`") });
            }
            if matches!(name, "sort" | "remove") {
                // These compare elements.
                self.require_plain(frame, call, &whole, "comparing it");
            }
            if let ("setdefault", Some(key)) = (name, called.positional.first().cloned()) {
                self.require_plain(frame, call, &key, "using it as a dictionary key");
            }
            self.add_to(frame, call, &whole, &called, name);
            return if matches!(name, "pop" | "setdefault") { self.elements(sites) } else { Value::Plain };
        }
        if !api::ITEMS_READS.contains(&name) {
            let violation = UnknownAttribute { subject: name.to_owned(), owner: "a list or dictionary".to_owned() };
            return self.report(frame.module, call, &violation);
        }
        match name {
            "get" => {
                let default = called.positional.get(1).cloned().unwrap_or(Value::Plain);
                element.join(default)
            }
            "items" => self.container(frame, call, Value::Tuple(vec![Value::Plain, element])),
            "copy" if self.is_dictionary(&whole) => self.dictionary(frame, call, element),
            "values" | "copy" => self.container(frame, call, element),
            "keys" => Value::Plain,
            // `count` and `index` compare elements.
            _ => {
                self.check_plain_arguments(frame, call, &called, "comparing it");
                self.require_plain(frame, call, &whole, "comparing it");
                Value::Plain
            }
        }
    }

    /// Adds the arguments of a method such as `append` to a container.
    fn add_to(&mut self, frame: CodeLocation, call: &'a ExprCall, whole: &Value, called: &Called, name: &str) {
        for (index, value) in called.values().cloned().collect::<Vec<_>>().into_iter().enumerate() {
            // `extend` and `update` take the elements of their argument.
            let added = match (name, &value) {
                ("extend", Value::Items { .. } | Value::Tuple(_) | Value::Tensor) => self.element(frame, call, value),
                // A set would get the pairs as elements, a dictionary their second parts.
                ("update", other) if self.is_dictionary(other) => self.values_or_elements(frame, call, value),
                ("update", _) if index < called.positional.len() => {
                    let element = self.values_or_elements(frame, call, value);
                    self.require_plain(frame, call, &element, "updating with it; write `{**other}`");
                    element
                }
                _ => value,
            };
            self.put_into(frame, call, whole, added);
        }
    }

    fn api_call(&mut self, frame: CodeLocation, call: &'a ExprCall, path: &str) -> Value {
        let Some(kind) = api::api(path) else {
            self.eval_arguments(frame, &call.arguments);
            return self.report(frame.module, call, &ApiNotAllowed { subject: path.to_owned() });
        };
        self.check_pure_api(frame, call, path, kind);
        match kind {
            Api::Compute if path == "typing.cast" => return self.cast(frame, call),
            Api::Native(language) => return self.native_call(frame, call, language),
            Api::Wrap => return self.wrap_call(frame, call),
            Api::Reduce => return self.reduce(frame, call),
            Api::Partial => return self.partial(frame, call),
            Api::Replace => return self.replace(frame, call),
            Api::Iterate => return self.iterate(frame, call, path),
            Api::NamedTuple => return self.named_tuple(frame, call),
            _ => {}
        }
        let called = self.eval_arguments(frame, &call.arguments);
        match kind {
            Api::Constant | Api::Field => {
                self.report(frame.module, call, &UnknownCall { subject: format!("calling `{path}`") })
            }
            Api::Create | Api::CreateLike => {
                self.check_keywords(frame, call, api::CREATE_KEYWORDS, &[]);
                let like = usize::from(kind == Api::CreateLike);
                let shape_of = |name: &str| kind == Api::CreateLike && name == "input";
                let values = called.positional.iter().skip(like);
                let values = values.chain(called.keywords.iter().filter(|(name, _)| !shape_of(name)).map(|(_, v)| v));
                for value in values.chain(&called.rest).cloned().collect::<Vec<_>>() {
                    self.require_plain(frame, call, &value, "filling a tensor with it");
                }
                Value::Tensor
            }
            Api::View | Api::Views => self.view(frame, call, path, &called),
            Api::Compute => self.compute(frame, call, path, &called),
            Api::Inspect | Api::Copy => {
                self.check_data(frame, call, &called, path);
                Value::Plain
            }
            Api::Context => {
                self.check_data(frame, call, &called, path);
                Value::Context
            }
            Api::Config => self.config(frame, call, &called),
            Api::Broadcast => self.broadcast(frame, call, &called),
            Api::Descriptor => self.descriptor(frame, call, &called),
            Api::Allocator => self.allocator(frame, call, &called),
            Api::Native(_) | Api::Wrap | Api::Reduce | Api::Partial | Api::Replace | Api::Iterate | Api::NamedTuple => {
                Value::Nothing
            }
        }
    }

    /// Checks a function of `torch` that makes views of its first argument.
    fn view(&mut self, frame: CodeLocation, call: &'a ExprCall, path: &str, called: &Called) -> Value {
        self.note_copy(frame, call, path.rsplit('.').next().unwrap_or_default());
        self.check_keywords(frame, call, &["input"], api::VIEW_KEYWORDS);
        let given = called.keywords.iter().filter(|(name, _)| name != "input").map(|(_, value)| value);
        for value in called.positional.iter().skip(1).chain(given).chain(&called.rest).cloned().collect::<Vec<_>>() {
            self.require_plain(frame, call, &value, "passing it to a view");
        }
        let viewed = called.keywords.iter().find(|(name, _)| name == "input").map(|(_, value)| value);
        let viewed = viewed.or(called.positional.first()).cloned().unwrap_or(Value::Nothing);
        if !matches!(viewed, Value::Tensor | Value::Nothing | Value::Reported(_)) {
            return self.unknown(frame, call, &viewed);
        }
        if api::api(path) == Some(Api::Views) {
            self.container(frame, call, Value::Tensor).shared()
        } else {
            Value::Tensor
        }
    }

    /// `torch.broadcast_tensors`, which makes a view of each argument.
    fn broadcast(&mut self, frame: CodeLocation, call: &'a ExprCall, called: &Called) -> Value {
        self.check_keywords(frame, call, &[], &[]);
        for value in called.values().cloned().collect::<Vec<_>>() {
            if !matches!(value, Value::Tensor | Value::Nothing | Value::Reported(_)) {
                return self.unknown(frame, call, &value);
            }
        }
        self.container(frame, call, Value::Tensor).shared()
    }

    /// Checks `torch.fx.wrap("name")` or `torch.fx.wrap(function)`.
    fn wrap_call(&mut self, frame: CodeLocation, call: &'a ExprCall) -> Value {
        let called = self.eval_arguments(frame, &call.arguments);
        let names_function =
            matches!(called.positional.as_slice(), [Value::Functions(_) | Value::Plain | Value::Kernel]);
        // `torch.fx.wrap` itself requires the top level of a module.
        if frame.function.is_some() || !names_function || !called.keywords.is_empty() || called.rest.is_some() {
            let subject = "`torch.fx.wrap` on anything but a function of the module".to_owned();
            return self.report(frame.module, call, &UnknownCall { subject });
        }
        Value::Plain
    }

    fn builtin_call(&mut self, frame: CodeLocation, call: &'a ExprCall, name: &'static str) -> Value {
        let key = call.arguments.find_keyword("key").filter(|_| matches!(name, "max" | "min" | "sorted"));
        if let Some(key) = key {
            self.order_by(frame, call, key);
        }
        let called = self.eval_arguments_but(frame, &call.arguments, key);
        if api::BUILTIN_COMPUTE.contains(&name) {
            // `len` reads no elements, so it is allowed for tensors too.
            if name != "len" {
                self.check_plain_arguments(frame, call, &called, &format!("passing it to `{name}`"));
            }
            return self.selected(frame, call, name, &called);
        }
        if name == "sorted" {
            self.check_plain_arguments(frame, call, &called, "sorting it");
        }
        if name == "dict" {
            let keywords = called.keywords.iter().fold(Value::Nothing, |joined, (_, value)| joined.join(value.clone()));
            let given = called.positional.iter().chain(&called.rest).cloned().collect::<Vec<_>>();
            let joined =
                given.into_iter().fold(keywords, |joined, value| joined.join(self.entries(frame, call, value)));
            let made = self.dictionary(frame, call, joined);
            self.note_call(&made, call, &called);
            return made;
        }
        let mut elements = Vec::new();
        for value in called.positional.iter().chain(&called.rest).cloned().collect::<Vec<_>>() {
            elements.push(self.element(frame, call, value));
        }
        let keywords = called.keywords.iter().map(|(_, value)| value.clone());
        let element = match name {
            "zip" => Value::tuple(elements),
            "enumerate" => Value::tuple(vec![Value::Plain, elements.into_iter().fold(Value::Nothing, Value::join)]),
            _ => elements.into_iter().chain(keywords).fold(Value::Nothing, Value::join),
        };
        if matches!(name, "frozenset" | "set") {
            self.require_plain(frame, call, &element, "putting it into a set");
        }
        let made = self.container(frame, call, element);
        match name {
            // Not even the function that made a tuple can change it.
            "tuple" => made.shared(),
            "enumerate" | "reversed" | "zip" => self.iterator(made),
            _ => made,
        }
    }

    pub(super) fn check_plain_arguments(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        called: &Called,
        what: &str,
    ) {
        for value in called.values().cloned().collect::<Vec<_>>() {
            self.require_plain(frame, node, &value, what);
        }
    }

    /// Checks that all arguments are tensors or plain data, so that no function is passed to other code.
    pub(super) fn check_data(&mut self, frame: CodeLocation, node: &impl Ranged, called: &Called, callee: &str) {
        for value in called.values().cloned().collect::<Vec<_>>() {
            let data =
                self.all_parts(&value, &mut |part| matches!(part, Value::Nothing | Value::Plain | Value::Tensor));
            if !data {
                let subject = format!("passing {} to {callee}", value.describe());
                self.report(frame.module, node, &UnknownCall { subject });
            }
        }
    }

    fn check_keywords(&mut self, frame: CodeLocation, call: &'a ExprCall, allowed: &[&str], more: &[&str]) {
        for keyword in &call.arguments.keywords {
            let Some(name) = keyword.arg.as_ref().map(|name| name.as_str()) else {
                let given = self.eval(frame, &keyword.value);
                let is_allowed = |name: &&str| allowed.contains(name) || more.contains(name);
                if self.known_keys(&given).is_some_and(|keys| keys.iter().all(is_allowed)) {
                    continue;
                }
                let shown = self.source(frame.module).slice(keyword);
                let subject = format!("`{shown}` in a call of PyTorch (write each argument with its name)");
                self.report(frame.module, keyword, &UnknownCall { subject });
                continue;
            };
            if !allowed.contains(&name) && !more.contains(&name) {
                self.report(frame.module, keyword, &TensorRead { subject: format!("the argument `{name}`") });
            }
        }
    }
}
