//! The language of `pattern`: operations that tracing records, in straight-line code.

use std::sync::LazyLock;

use ruff_text_size::TextRange;
use rustc_hash::FxHashSet;

use super::{
    dialect::Dialect,
    flow::{CodeLocation, Flow},
    rules::Pattern,
    value::Value,
};

/// Functions of PyTorch that can be traced, one dotted name per line.
static FUNCTIONS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| include_str!("names/traceable.txt").lines().collect());

/// Methods and attributes of `torch.Tensor`, one name per line.
static METHODS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| include_str!("names/tensor.txt").lines().collect());

/// Namespaces that contain operators only.
const OPERATOR_NAMESPACES: &[&str] = &["torch._C._nn", "torch._C._fft", "torch._C._linalg", "torch._C._special"];

/// Builtins that patterns of captured graphs contain.
const BUILTINS: &[&str] =
    &["Ellipsis", "abs", "bool", "float", "int", "len", "max", "min", "pow", "round", "slice", "sum", "tuple"];

/// The language of `pattern`.
pub(super) struct PatternLanguage;

impl Dialect for PatternLanguage {
    const CONTROL_FLOW: bool = false;

    fn allows_path(path: &str) -> bool {
        if FUNCTIONS.contains(path) {
            return true;
        }
        let Some((module, name)) = path.rsplit_once('.') else { return false };
        if name.starts_with("__") {
            return false;
        }
        match module {
            "operator" => !matches!(name, "attrgetter" | "itemgetter" | "methodcaller" | "call"),
            "math" => !name.starts_with('_'),
            "torch.ops.aten" => name != "from_file",
            "torch.Tensor" => METHODS.contains(name),
            module => OPERATOR_NAMESPACES.contains(&module),
        }
    }

    fn allows_attribute(name: &str) -> bool {
        // `default`, `Tensor` and the like also name overloads: `torch.ops.aten.add.Tensor`.
        METHODS.contains(name) || matches!(name, "default" | "int" | "Tensor" | "Scalar" | "dim" | "out")
    }

    fn allows_builtin(name: &str) -> bool {
        BUILTINS.contains(&name)
    }

    fn allows_value(value: &Value) -> bool {
        matches!(value, Value::Plain | Value::Tuple(_))
    }

    fn report(flow: &mut Flow<'_>, frame: CodeLocation, range: TextRange, subject: String) {
        flow.report(frame.module, &range, &Pattern { subject });
    }
}
