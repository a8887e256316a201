//! Further names of operations.

/// Prefix of the operators of PyTorch's library, after the name of the module.
const LIBRARY: &str = "ops.aten.";

/// Prefix of functions of `torch.special` where a graph names their definition in C++.
const SPECIAL: &str = "_C._special.special_";

/// Second names of operations, with the name that the lowerings use. The parameters of both are the same.
#[rustfmt::skip] // Pairs of names, several on a line.
const ALIASES: [(&str, &str); 19] = [
    ("_C._linalg.linalg_norm", "linalg_norm"), ("_C._linalg.linalg_vector_norm", "linalg_vector_norm"),
    ("absolute", "abs"), ("concatenate", "concat"), ("divide", "div"), ("expit", "sigmoid"), ("fix", "trunc"),
    ("greater", "gt"), ("greater_equal", "ge"), ("less", "lt"), ("less_equal", "le"), ("linalg.norm", "linalg_norm"),
    ("linalg.vector_norm", "linalg_vector_norm"), ("log_sigmoid", "logsigmoid"), ("mod", "remainder"), ("not_equal", "ne"),
    ("ravel", "flatten"), ("subtract", "sub"), ("swapdims", "swapaxes"),
];

/// Operators of the library that have the parameters of the function, with the name that the lowerings use. They change no argument.
#[rustfmt::skip] // Pairs of names, several on a line.
const OPERATORS: [(&str, &str); 47] = [
    ("_unsafe_view", "reshape"), ("abs", "abs"), ("add", "add"), ("amax", "amax"), ("amin", "amin"), ("cat", "cat"),
    ("clamp", "clamp"), ("clone", "clone"), ("constant_pad_nd", "constant_pad_nd"), ("cos", "cos"), ("div", "div"),
    ("eq", "eq"), ("exp", "exp"), ("expand", "expand"), ("flip", "flip"), ("ge", "ge"), ("gelu", "gelu"),
    ("gt", "gt"), ("le", "le"), ("log", "log"), ("lt", "lt"), ("maximum", "maximum"), ("mean", "mean"),
    ("minimum", "minimum"), ("mul", "mul"), ("native_dropout_backward", "native_dropout_backward"), ("ne", "ne"),
    ("neg", "neg"), ("numpy_T", "t"), ("permute", "permute"), ("pow", "pow"), ("relu", "relu"), ("roll", "roll"),
    ("rsqrt", "rsqrt"), ("select", "select"), ("select_backward", "select_backward"), ("sigmoid", "sigmoid"),
    ("silu", "silu"), ("sin", "sin"), ("slice", "aten_slice"), ("slice_backward", "slice_backward"),
    ("sqrt", "sqrt"), ("stack", "stack"), ("sub", "sub"), ("sum", "sum"), ("tanh", "tanh"),
    ("threshold_backward", "threshold_backward"),
];

/// Returns the name by which the lowerings know an operation.
pub(super) fn usual_name(name: &str) -> &str {
    let find = |names: &[(&'static str, &'static str)], name: &str| {
        names.iter().find(|(second, _)| *second == name).map(|&(_, usual)| usual)
    };
    if let Some(operator) = name.strip_prefix(LIBRARY) {
        // The overload follows: `add.Tensor`.
        let operator = operator.split('.').next().unwrap_or(operator);
        return find(&OPERATORS, operator).unwrap_or(name);
    }
    let short = name.strip_prefix(SPECIAL).unwrap_or(name);
    find(&ALIASES, short).unwrap_or(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_second_names_have_the_usual_one() {
        let check = |name, usual| assert_eq!(usual_name(name), usual);
        check("ops.aten.add.Tensor", "add");
        check("ops.aten.slice", "aten_slice");
        check("ops.aten.add_.Tensor", "ops.aten.add_.Tensor");
        check("ops.aten.embedding.default", "ops.aten.embedding.default");
        check("_C._special.special_expit", "sigmoid");
        check("subtract", "sub");
        check("relu", "relu");
    }
}
