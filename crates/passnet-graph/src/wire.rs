//! JSON form of a graph, as `docs/reference/graph-wire.md` defines it.

use serde_json::{Map, Number, Value, json};

use crate::{Arg, Builder, Callee, Graph, NodeId, ValueId, VerifyError, verify::MAX_ARG_DEPTH};

/// Version of the wire form.
pub const WIRE_VERSION: u64 = 1;

/// Reason why a JSON value is not a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The text is not JSON.
    #[error("the graph is not JSON: {0}")]
    Json(String),
    /// A field is missing or malformed.
    #[error("{path}: expected {expected}")]
    Form {
        /// Place in the document, e.g. `nodes[3].args[1]`.
        path: String,
        /// Expected content.
        expected: &'static str,
    },
    /// The version is not supported: the writer is newer than this reader.
    #[error("wire form {found} is not supported (this version reads {WIRE_VERSION}); install a newer PassNet")]
    Version {
        /// Version of the writer.
        found: u64,
    },
    /// A law of the graph does not hold.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

/// Returns the wire form of a graph.
pub fn to_value(graph: &Graph) -> Value {
    let args = |args: &[Arg]| args.iter().map(|&arg| arg_to_value(graph, arg)).collect::<Vec<_>>();
    let nodes: Vec<Value> = graph
        .nodes()
        .map(|node| {
            let (op, target) = match node.callee {
                Callee::Function(target) => ("call_function", target),
                Callee::Method(target) => ("call_method", target),
            };
            let kwargs: Vec<Value> =
                node.kwargs.iter().map(|&(key, arg)| json!([graph.str(key), arg_to_value(graph, arg)])).collect();
            json!({"name": node.name, "op": op, "target": target, "args": args(node.args), "kwargs": kwargs})
        })
        .collect();
    let mut object = json!({
        "version": WIRE_VERSION,
        "inputs": graph.input_names().collect::<Vec<_>>(),
        "nodes": nodes,
        "outputs": args(graph.outputs()),
    });
    if graph.has_frees() {
        let frees = graph.nodes().map(|node| node.frees.iter().map(|value| value.0).collect::<Vec<_>>());
        object["frees"] = frees.collect::<Vec<_>>().into();
    }
    object
}

/// Returns the wire form of one argument of `graph`.
pub fn arg_to_value(graph: &Graph, arg: Arg) -> Value {
    let elements = |range| graph.elements(range).iter().map(|&arg| arg_to_value(graph, arg)).collect::<Vec<_>>();
    match arg {
        Arg::Value(value) => json!({"ref": value.0}),
        Arg::None => Value::Null,
        Arg::Bool(value) => value.into(),
        Arg::Int(value) => value.into(),
        Arg::Float(value) => match Number::from_f64(value) {
            Some(number) => Value::Number(number),
            // JSON has no numbers for NaN and infinity.
            None if value.is_nan() => json!({"float": "nan"}),
            None => json!({"float": if value < 0.0 { "-inf" } else { "inf" }}),
        },
        Arg::Str(id) => graph.str(id).into(),
        Arg::List(range) => json!({"list": elements(range)}),
        Arg::Tuple(range) => json!({"tuple": elements(range)}),
        Arg::Slice(range) => json!({"slice": elements(range)}),
        Arg::Ellipsis => json!({"ellipsis": true}),
        Arg::DType(dtype) => json!({"dtype": dtype.name()}),
        Arg::Device(device) => json!({"device": [graph.str(device.kind), device.index]}),
        Arg::Attr(id) => json!({"attr": graph.str(id)}),
    }
}

/// Reads a graph from JSON text.
///
/// # Errors
/// If the text is not JSON, has an integer outside 64 bits, or is not a wire form of a graph that obeys the laws.
pub fn from_json(text: &str) -> Result<Graph, WireError> {
    let value: Value = serde_json::from_str(text).map_err(|error| WireError::Json(error.to_string()))?;
    // A mask of 2**64 would silently become a float, which is a different constant.
    if let Some(integer) = integer_outside_64_bits(text) {
        return Err(WireError::Json(format!("the integer {integer} does not fit into 64 bits")));
    }
    from_value(&value)
}

/// Returns the first integer that `serde_json` would read as a float. `text` must be valid JSON.
fn integer_outside_64_bits(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(start) = rest.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
        rest = &rest[start..];
        if let Some(string) = rest.strip_prefix('"') {
            let mut is_escaped = false;
            let end = string.find(|char| {
                char == '"' && !is_escaped || {
                    is_escaped = char == '\\' && !is_escaped;
                    false
                }
            });
            rest = &string[end.map_or(string.len(), |end| end + 1)..];
            continue;
        }
        let end =
            rest.find(|char: char| !matches!(char, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        if !number.contains(['.', 'e', 'E']) && number.parse::<i64>().is_err() {
            return Some(number);
        }
        rest = after;
    }
    None
}

/// Reads a graph from its wire form.
///
/// An integer outside 64 bits has already become a float in a `serde_json::Value`. Only [`from_json`] can detect it.
///
/// # Errors
/// If `value` is not a wire form, or the graph breaks a law.
pub fn from_value(value: &Value) -> Result<Graph, WireError> {
    let object = value.as_object().ok_or(WireError::Form { path: "graph".to_owned(), expected: "an object" })?;
    let version = field(object, "graph", "version", "an integer", Value::as_u64)?;
    if version != WIRE_VERSION {
        return Err(WireError::Version { found: version });
    }
    let inputs = field(object, "graph", "inputs", "a list of names", Value::as_array)?;
    let nodes = field(object, "graph", "nodes", "a list of nodes", Value::as_array)?;
    let outputs = field(object, "graph", "outputs", "a list of arguments", Value::as_array)?;
    let frees = match object.get("frees") {
        None | Some(Value::Null) => None,
        Some(frees) => Some(frees.as_array().filter(|frees| frees.len() == nodes.len()).ok_or(WireError::Form {
            path: "frees".to_owned(),
            expected: "a list with one list of value numbers for each node",
        })?),
    };
    let mut reader = WireReader { builder: Graph::builder(), path: String::new() };
    for (index, input) in inputs.iter().enumerate() {
        let name =
            input.as_str().ok_or_else(|| WireError::Form { path: format!("inputs[{index}]"), expected: "a name" })?;
        reader.builder.input(name);
    }
    for (index, node) in nodes.iter().enumerate() {
        reader.node(&format!("nodes[{index}]"), node)?;
    }
    for (node, frees) in (0..).map(NodeId).zip(frees.into_iter().flatten()) {
        let values = frees.as_array().and_then(|frees| frees.iter().map(value_id).collect::<Option<Vec<_>>>());
        let values = values.ok_or_else(|| WireError::Form {
            path: format!("frees[{}]", node.0),
            expected: "a list of value numbers",
        })?;
        values.into_iter().for_each(|value| reader.builder.free_after(node, value));
    }
    "outputs".clone_into(&mut reader.path);
    let outputs = reader.args(outputs, 0)?;
    Ok(reader.builder.finish(&outputs)?)
}

fn field<'v, T>(
    object: &'v Map<String, Value>,
    path: &str,
    key: &str,
    expected: &'static str,
    get: impl FnOnce(&'v Value) -> Option<T>,
) -> Result<T, WireError> {
    object.get(key).and_then(get).ok_or_else(|| WireError::Form { path: format!("{path}.{key}"), expected })
}

fn value_id(value: &Value) -> Option<ValueId> {
    value.as_u64().and_then(|id| u32::try_from(id).ok()).map(ValueId)
}

struct WireReader {
    builder: Builder,
    /// Path of the argument list that is being read, for messages.
    path: String,
}

impl WireReader {
    fn node(&mut self, path: &str, node: &Value) -> Result<(), WireError> {
        let object =
            node.as_object().ok_or_else(|| WireError::Form { path: path.to_owned(), expected: "an object" })?;
        let name = field(object, path, "name", "a name", Value::as_str)?;
        let op = field(object, path, "op", "`call_function` or `call_method`", Value::as_str)?;
        let target = field(object, path, "target", "a dotted path or method name", Value::as_str)?;
        let args = field(object, path, "args", "a list of arguments", Value::as_array)?;
        let pairs = field(object, path, "kwargs", "a list of pairs", Value::as_array)?;
        self.path = format!("{path}.args");
        let args = self.args(args, 0)?;
        let mut kwargs = Vec::with_capacity(pairs.len());
        for (index, pair) in pairs.iter().enumerate() {
            self.path = format!("{path}.kwargs[{index}]");
            let Some([Value::String(key), arg]) = pair.as_array().map(Vec::as_slice) else {
                return Err(self.form("a pair of keyword name and argument"));
            };
            kwargs.push((key.as_str(), self.arg(arg, 0)?));
        }
        match op {
            "call_function" => self.builder.call_function(name, target, &args, &kwargs),
            "call_method" => self.builder.call_method(name, target, &args, &kwargs),
            _ => {
                let path = format!("{path}.op");
                return Err(WireError::Form { path, expected: "`call_function` or `call_method`" });
            }
        };
        Ok(())
    }

    fn form(&self, expected: &'static str) -> WireError {
        WireError::Form { path: self.path.clone(), expected }
    }

    fn args(&mut self, args: &[Value], depth: u32) -> Result<Vec<Arg>, WireError> {
        args.iter().map(|arg| self.arg(arg, depth)).collect()
    }

    fn elements(&mut self, value: &Value, depth: u32) -> Result<Vec<Arg>, WireError> {
        // The depth is checked before the recursion: the text may come from an untrusted source, and deep nesting would overflow the
        // stack.
        if depth > MAX_ARG_DEPTH {
            return Err(self.form("fewer nested lists and tuples"));
        }
        let elements = value.as_array().ok_or_else(|| self.form("a list of elements"))?;
        self.args(elements, depth + 1)
    }

    fn arg(&mut self, value: &Value, depth: u32) -> Result<Arg, WireError> {
        match value {
            Value::Null => Ok(Arg::None),
            Value::Bool(value) => Ok(Arg::Bool(*value)),
            Value::String(text) => Ok(self.builder.str(text)),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => Ok(Arg::Int(integer)),
                (None, Some(float)) if number.is_f64() => Ok(Arg::Float(float)),
                _ => Err(self.form("an integer of 64 bits, or a float")),
            },
            Value::Array(_) => Err(self.form("`{\"list\": [...]}` or `{\"tuple\": [...]}` instead of a bare list")),
            Value::Object(object) => {
                let mut entries = object.iter();
                match (entries.next(), entries.next()) {
                    (Some((tag, value)), None) => self.tagged(tag, value, depth),
                    _ => Err(self.form("an object with exactly one tag")),
                }
            }
        }
    }

    fn tagged(&mut self, tag: &str, value: &Value, depth: u32) -> Result<Arg, WireError> {
        match tag {
            "ref" => value_id(value).map(Arg::Value).ok_or_else(|| self.form("the number of a value")),
            "list" => self.elements(value, depth).map(|elements| self.builder.list(&elements)),
            "tuple" => self.elements(value, depth).map(|elements| self.builder.tuple(&elements)),
            "slice" => match self.elements(value, depth)?.as_slice() {
                &[start, stop, step] => Ok(self.builder.slice(start, stop, step)),
                _ => Err(self.form("a slice of three elements")),
            },
            "ellipsis" if value.as_bool() == Some(true) => Ok(Arg::Ellipsis),
            "float" => match value.as_str() {
                Some("inf") => Ok(Arg::Float(f64::INFINITY)),
                Some("-inf") => Ok(Arg::Float(f64::NEG_INFINITY)),
                Some("nan") => Ok(Arg::Float(f64::NAN)),
                _ => Err(self.form("`inf`, `-inf` or `nan`")),
            },
            "dtype" => value
                .as_str()
                .and_then(|name| name.parse().ok())
                .map(Arg::DType)
                .ok_or_else(|| self.form("the name of a dtype")),
            "device" => match value.as_array().map(Vec::as_slice) {
                Some([Value::String(kind), Value::Null]) => Ok(self.builder.device(kind, None)),
                Some([Value::String(kind), index]) => {
                    let index = index.as_u64().and_then(|index| u32::try_from(index).ok());
                    let index = index.ok_or_else(|| self.form("the ordinal of a device"))?;
                    Ok(self.builder.device(kind, Some(index)))
                }
                _ => Err(self.form("a device as kind and ordinal (or null)")),
            },
            "attr" => match value.as_str() {
                Some(path) => Ok(self.builder.attr(path)),
                None => Err(self.form("a dotted constant")),
            },
            _ => Err(self.form("one of the tags of docs/reference/graph-wire.md")),
        }
    }
}
