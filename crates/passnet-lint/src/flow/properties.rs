//! Properties of the data flow, tested on generated programs.

use proptest::prelude::*;
use ruff_text_size::TextRange;

use super::Flow;
use crate::{source::ParsedFile, value::Value};

/// Attributes that a pass may read from no value.
const HOSTILE: &[&str] = &["__class__", "grad_fn", "float", "data", "real", "clone", "fn", "_version", "format"];

const HARMLESS: &[&str] = &["shape", "dtype", "device", "ndim", "itemsize"];

const NAMES: &[&str] = &["x", "y", "z", "w", "parts", "n", "table"];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(NAMES).prop_map(str::to_owned)
}

fn attribute() -> impl Strategy<Value = &'static str> {
    prop_oneof![2 => prop::sample::select(HARMLESS), 1 => prop::sample::select(HOSTILE)]
}

/// Returns an expression over the names of a function.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![4 => name(), 1 => Just("0".to_owned()), 1 => Just("[]".to_owned())];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), attribute()).prop_map(|(value, name)| format!("({value}).{name}")),
            (inner.clone(), attribute()).prop_map(|(value, name)| format!("({value}).{name}()")),
            (inner.clone(), attribute()).prop_map(|(value, name)| format!("getattr({value}, \"{name}\")")),
            (inner.clone(), attribute()).prop_map(|(value, name)| format!("getattr({value}, \"{name}\", x)")),
            inner.clone().prop_map(|value| format!("next(steps({value}), {value})")),
            inner.clone().prop_map(|value| format!("next(iter({value}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("partial(helper, {a})({b})")),
            inner.clone().prop_map(|value| format!("Layer({value})(x)")),
            inner.clone().prop_map(|value| format!("Static.apply({value})")),
            (inner.clone(), -2..3_i8).prop_map(|(value, index)| format!("({value})[{index}]")),
            inner.clone().prop_map(|value| format!("({value})[-0]")),
            inner.clone().prop_map(|value| format!("({value})[0:]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}, {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, *{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} if n else {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[({a}) for q in {b}]")),
            inner.clone().prop_map(|value| format!("{{0: {value}}}")),
            inner.clone().prop_map(|value| format!("helper({value})")),
            inner.clone().prop_map(|value| format!("(lambda q: q)({value})")),
            inner.clone().prop_map(|value| format!("torch.empty_like({value})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("Pair({a}, {b})")),
            inner.clone().prop_map(|value| format!("({value}).left")),
            inner.clone().prop_map(|value| format!("({value}).both")),
            inner.clone().prop_map(|value| format!("({value}).swapped()")),
            inner.clone().prop_map(|value| format!("({value}).values()")),
            inner.clone().prop_map(|value| format!("({value}).chunk(2)")),
            inner.clone().prop_map(|value| format!("make({value})()")),
            inner.clone().prop_map(|value| format!("partial(helper, y={value})(x)")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("list(product({a}, {b}))")),
            inner.clone().prop_map(|value| format!("list(map(helper, {value}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("dict({a}, k={b})")),
            inner.prop_map(|value| format!("list({value})")),
        ]
    })
}

/// Returns lines of a function body, indented by one level.
fn statement() -> impl Strategy<Value = String> {
    let assignment = (name(), expression()).prop_map(|(name, value)| format!("{name} = {value}"));
    let simple = prop_oneof![
        4 => assignment,
        1 => (name(), expression()).prop_map(|(name, value)| format!("{name} += {value}")),
        1 => (name(), expression()).prop_map(|(name, value)| format!("{name}[0] = {value}")),
        1 => (name(), expression()).prop_map(|(name, value)| format!("{name}[0:0] = {value}")),
        1 => (name(), expression()).prop_map(|(name, value)| format!("{name}.append({value})")),
        1 => (name(), name(), expression()).prop_map(|(a, b, value)| format!("{a}, {b} = {value}")),
        1 => (name(), name(), expression()).prop_map(|(a, b, value)| format!("{a}, *{b} = {value}")),
        1 => expression(),
    ];
    let block = prop::collection::vec(simple.clone(), 1..3).prop_map(|lines| lines.join("\n        "));
    prop_oneof![
        6 => simple,
        1 => (name(), expression(), block.clone())
            .prop_map(|(name, value, block)| format!("for {name} in {value}:\n        {block}")),
        1 => block.clone().prop_map(|block| format!("if n:\n        {block}")),
        1 => block.prop_map(|block| format!("while n:\n        {block}")),
    ]
}

fn program() -> impl Strategy<Value = String> {
    (prop::collection::vec(statement(), 1..6), expression(), expression()).prop_map(|(body, helped, returned)| {
        let names = "z, w, parts, n, table = x, y, [x], 0, {}";
        let body = body.join("\n    ");
        format!(
            "import torch\nfrom functools import partial\nfrom itertools import product\nfrom typing import NamedTuple\n\n\n\
             class Pair(NamedTuple):\n    left: object\n    right: object = None\n\n    @property\n    def both(self):\n        \
             return (self.left, self.right)\n\n    def swapped(self):\n        return Pair(self.right, self.left)\n\n\n\
             class Layer(torch.nn.Module):\n    def __init__(self, held):\n        super().__init__()\n        self.held = held\n\n    \
             def forward(self, value):\n        return (self.held, value)\n\n\n\
             class Static(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, value):\n        return value\n\n\n\
             def steps(value):\n    yield value\n    yield from [value]\n\n\n\
             def make(value):\n    def made(other=None):\n        return value\n\n    return made\n\n\ndef helper(x, y=0, z=0, w=0, parts=0, n=0, table=0):\n    return {helped}\n\n\n\
             def fused(x, y):\n    {names}\n    {body}\n    return {returned}\n"
        )
    })
}

/// Returns whether the data flow accepts a program, and the values from which an attribute was read.
fn judge(text: &str) -> (bool, Vec<(TextRange, Value)>) {
    let sources = [ParsedFile::parse("fuse.py", text.as_bytes()).unwrap_or_else(|error| panic!("{text}\n{error:?}"))];
    let mut flow = Flow::new(&sources);
    flow.run();
    let bases = std::mem::take(&mut flow.bases);
    (flow.into_findings().is_empty(), bases)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn an_accepted_program_asks_only_known_values(text in program()) {
        let (accepted, bases) = judge(&text);
        if accepted {
            for (range, base) in bases {
                prop_assert!(
                    !matches!(base, Value::Nothing | Value::Reported(_) | Value::Mixed),
                    "{text}\n{range:?}: {base:?}"
                );
            }
            let hostile = HOSTILE.iter().find(|name| {
                text.contains(&format!(").{name}")) || text.contains(&format!("\"{name}\""))
            });
            prop_assert!(hostile.is_none(), "{text}\naccepted with {hostile:?}");
        }
    }
}
