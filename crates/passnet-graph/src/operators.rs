//! The functions of Python's `operator` module that a graph may call.

/// One function of `operator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Name inside `operator`, which is also the op name: `add`, `and_`.
    pub name: &'static str,
    /// Syntax in Python.
    pub syntax: Syntax,
}

/// Syntax of an operator in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// `a + b`
    Binary(&'static str),
    /// `a < b`
    Compare(&'static str),
    /// `-a`
    Unary(&'static str),
    /// `a += b`
    InPlace(&'static str),
    /// `a[b]`
    GetItem,
    /// `a[b] = c`
    SetItem,
}

impl Operator {
    /// Returns the number of arguments.
    pub const fn arity(&self) -> usize {
        match self.syntax {
            Syntax::Unary(_) => 1,
            Syntax::SetItem => 3,
            Syntax::Binary(_) | Syntax::Compare(_) | Syntax::InPlace(_) | Syntax::GetItem => 2,
        }
    }

    /// Returns whether the call changes its first argument (where that is a tensor).
    pub const fn mutates(&self) -> bool {
        matches!(self.syntax, Syntax::InPlace(_) | Syntax::SetItem)
    }
}

macro_rules! operators {
    ($($name:literal $syntax:expr;)+) => {
        &[$(Operator { name: $name, syntax: $syntax }),+]
    };
}

/// Every operator.
pub const OPERATORS: &[Operator] = operators! {
    "add" Syntax::Binary("+");
    "sub" Syntax::Binary("-");
    "mul" Syntax::Binary("*");
    "truediv" Syntax::Binary("/");
    "floordiv" Syntax::Binary("//");
    "mod" Syntax::Binary("%");
    "pow" Syntax::Binary("**");
    "matmul" Syntax::Binary("@");
    "and_" Syntax::Binary("&");
    "or_" Syntax::Binary("|");
    "xor" Syntax::Binary("^");
    "lshift" Syntax::Binary("<<");
    "rshift" Syntax::Binary(">>");
    "neg" Syntax::Unary("-");
    "invert" Syntax::Unary("~");
    "pos" Syntax::Unary("+");
    "gt" Syntax::Compare(">");
    "lt" Syntax::Compare("<");
    "eq" Syntax::Compare("==");
    "ne" Syntax::Compare("!=");
    "le" Syntax::Compare("<=");
    "ge" Syntax::Compare(">=");
    "getitem" Syntax::GetItem;
    "setitem" Syntax::SetItem;
    "iadd" Syntax::InPlace("+=");
    "isub" Syntax::InPlace("-=");
    "imul" Syntax::InPlace("*=");
    "itruediv" Syntax::InPlace("/=");
    "ifloordiv" Syntax::InPlace("//=");
    "imatmul" Syntax::InPlace("@=");
    "ipow" Syntax::InPlace("**=");
    "imod" Syntax::InPlace("%=");
    "iand" Syntax::InPlace("&=");
    "ior" Syntax::InPlace("|=");
    "ixor" Syntax::InPlace("^=");
    "ilshift" Syntax::InPlace("<<=");
    "irshift" Syntax::InPlace(">>=");
};

/// Target of an attribute read: `builtins.getattr(x, "real")`.
pub const GETATTR: &str = "builtins.getattr";

/// Returns the operator with the given target, e.g. `operator.add`.
pub fn by_target(target: &str) -> Option<&'static Operator> {
    let name = target.strip_prefix("operator.")?;
    OPERATORS.iter().find(|operator| operator.name == name)
}
