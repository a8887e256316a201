//! Expressions of host code.

use ruff_python_ast::{Expr, ExprBinOp, ExprSubscript, Operator, UnaryOp};
use ruff_text_size::Ranged;

use super::{CodeLocation, Flow, Value, api};
use crate::importable::IMPORTABLE;
use crate::rules::{
    ApiNotAllowed, DunderAccess, ModuleAsValue, StatementNotAllowed, TensorOperator, TensorRead, UnassignedName,
    UnknownName,
};

/// Alignment in bytes of the memory that PyTorch allocates.
const MOST_ALIGNED: u64 = 64;

impl<'a> Flow<'a> {
    /// Returns the value of an expression. A name of an imported module may be used only if it is data.
    pub(super) fn eval(&mut self, frame: CodeLocation, expr: &'a Expr) -> Value {
        let value = self.eval_raw(frame, expr);
        self.judge(frame, expr, value)
    }

    pub(super) fn judge(&mut self, frame: CodeLocation, node: &impl Ranged, value: Value) -> Value {
        match value {
            Value::Path(path) => match api::api(&path) {
                Some(api::Api::Constant) => Value::Plain,
                Some(_) => self.report(frame.module, node, &ModuleAsValue { subject: path }),
                None if IMPORTABLE.contains(&path.as_str()) => {
                    self.report(frame.module, node, &ModuleAsValue { subject: path })
                }
                None => self.report(frame.module, node, &ApiNotAllowed { subject: path }),
            },
            Value::Module(id) => {
                let subject = self.source(id).stem.to_owned();
                self.report(frame.module, node, &ModuleAsValue { subject })
            }
            Value::Builtin(name) => self.report(frame.module, node, &ModuleAsValue { subject: name.to_owned() }),
            value => value,
        }
    }

    /// Returns the value of an expression, where a name of an imported module stays a name: `torch.empty` before it is called.
    pub(super) fn eval_raw(&mut self, frame: CodeLocation, expr: &'a Expr) -> Value {
        match expr {
            Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => Value::Plain,
            Expr::Name(name) => self.name(frame, expr, name.id.as_str()),
            Expr::Attribute(_) => match self.access(frame, expr) {
                Some(access) => self.attribute(frame, access),
                None => Value::Mixed,
            },
            Expr::Subscript(subscript) => self.subscript(frame, subscript),
            Expr::Call(call) => self.call(frame, call),
            Expr::Tuple(tuple) => {
                if tuple.elts.iter().any(Expr::is_starred_expr) {
                    return self.display(frame, expr, &tuple.elts);
                }
                let elements = tuple.elts.iter().map(|element| self.eval(frame, element)).collect();
                Value::tuple(elements)
            }
            Expr::List(list) => self.display(frame, expr, &list.elts),
            Expr::Set(set) => {
                self.check_set(frame, &set.elts);
                self.display(frame, expr, &set.elts)
            }
            Expr::Dict(dict) => {
                let (mut joined, mut values) = (Value::Nothing, Vec::new());
                for item in &dict.items {
                    let value = self.eval(frame, &item.value);
                    let value = match &item.key {
                        Some(key) => {
                            self.plain(frame, key, "a dictionary key");
                            value
                        }
                        None => self.values_or_elements(frame, &item.value, value),
                    };
                    values.push(value.clone());
                    joined = joined.join(value);
                }
                let made = self.dictionary(frame, expr, joined);
                self.note_display(&made, dict, &values);
                made
            }
            Expr::ListComp(comp) => self.comprehension(frame, expr, &comp.generators, &comp.elt),
            Expr::SetComp(comp) => {
                let made = self.comprehension(frame, expr, &comp.generators, &comp.elt);
                self.check_set(frame, std::slice::from_ref(&comp.elt));
                made
            }
            Expr::Generator(comp) => {
                let made = self.comprehension(frame, expr, &comp.generators, &comp.elt);
                self.iterator(made)
            }
            Expr::DictComp(comp) => {
                self.generators(frame, &comp.generators);
                if let Some(key) = &comp.key {
                    self.plain(frame, key, "a dictionary key");
                }
                let value = self.eval(frame, &comp.value);
                self.dictionary(frame, expr, value)
            }
            Expr::BinOp(binary) => {
                if let Some(owner) = aligned_owner(binary)
                    && self.eval(frame, owner) == Value::Tensor
                {
                    self.asks_alignment = true;
                    return Value::Plain;
                }
                let left = self.eval(frame, &binary.left);
                let right = self.eval(frame, &binary.right);
                self.arithmetic(frame, expr, binary.op, left, right)
            }
            Expr::UnaryOp(unary) if unary.op == UnaryOp::Not => {
                self.condition(frame, &unary.operand);
                Value::Plain
            }
            Expr::UnaryOp(unary) => match self.eval(frame, &unary.operand) {
                Value::Tensor => {
                    let subject = format!("`{}`", unary.op);
                    self.report(frame.module, expr, &TensorOperator { subject })
                }
                Value::Nothing => Value::Nothing,
                value if self.is_plain(&value) => Value::Plain,
                value => self.unknown(frame, expr, &value),
            },
            Expr::Compare(compare) => self.compare(frame, compare),
            Expr::BoolOp(boolean) => {
                let mut joined = Value::Nothing;
                for (index, operand) in boolean.values.iter().enumerate() {
                    let value = self.eval(frame, operand);
                    // Python reads the truth value of every operand but the last, which it returns as it is.
                    if index + 1 < boolean.values.len() {
                        self.truth(frame, operand, &value);
                    }
                    joined = joined.join(value);
                }
                joined
            }
            Expr::If(choice) => {
                self.condition(frame, &choice.test);
                let body = self.eval(frame, &choice.body);
                let orelse = self.eval(frame, &choice.orelse);
                body.join(orelse)
            }
            Expr::Lambda(lambda) => self.lambda(frame, lambda),
            Expr::Named(_) if frame.function.is_none() => {
                let subject = "`:=` at module level".to_owned();
                self.report(frame.module, expr, &StatementNotAllowed { subject })
            }
            Expr::Named(named) => {
                let value = self.eval(frame, &named.value);
                self.bind(frame, &named.target, value.clone());
                value
            }
            Expr::FString(text) => {
                for element in text.value.elements() {
                    self.interpolation(frame, element);
                }
                Value::Plain
            }
            Expr::Slice(slice) => {
                for part in slice.lower.iter().chain(&slice.upper).chain(&slice.step) {
                    self.plain(frame, part, "a slice");
                }
                Value::Plain
            }
            Expr::Starred(starred) => self.eval(frame, &starred.value),
            Expr::Yield(_) | Expr::YieldFrom(_) => self.run_yield(frame, expr),
            Expr::Await(_) | Expr::TString(_) | Expr::IpyEscapeCommand(_) => {
                let subject = "this expression".to_owned();
                self.report(frame.module, expr, &StatementNotAllowed { subject })
            }
        }
    }

    fn name(&mut self, frame: CodeLocation, node: &impl Ranged, name: &str) -> Value {
        match self.lookup(frame, name) {
            // No known value ever reaches the name, so its uses cannot be checked.
            Some(Value::Nothing) if self.reporting => {
                self.report(frame.module, node, &UnassignedName { subject: name.to_owned() })
            }
            Some(value) => value,
            None if name.starts_with("__") => {
                self.report(frame.module, node, &DunderAccess { subject: name.to_owned() })
            }
            None => self.report(frame.module, node, &UnknownName { subject: name.to_owned() }),
        }
    }

    fn subscript(&mut self, frame: CodeLocation, subscript: &'a ExprSubscript) -> Value {
        let container = self.eval_tuple(frame, &subscript.value);
        match container {
            Value::Kernel => {
                self.check_grid(frame, &subscript.slice);
                return Value::Launcher;
            }
            Value::Tensor => {
                let index = self.eval(frame, &subscript.slice);
                if is_view_index(&index) && !has_truth_value(&subscript.slice) {
                    return Value::Tensor;
                }
                let subject = "indexing by more than numbers and slices".to_owned();
                return self.report(frame.module, subscript, &TensorOperator { subject });
            }
            _ => {}
        }
        self.plain(frame, &subscript.slice, "an index");
        let is_slice = subscript.slice.is_slice_expr();
        match container {
            Value::Plain | Value::Nothing | Value::Reported(_) | Value::Native => container,
            Value::Tuple(elements) => match literal_index(&subscript.slice, elements.len()) {
                Some(index) => elements.into_iter().nth(index).unwrap_or(Value::Nothing),
                None => {
                    let joined = elements.into_iter().fold(Value::Nothing, Value::join);
                    if is_slice { self.container(frame, subscript, joined).shared() } else { joined }
                }
            },
            Value::Items { sites, fresh } => {
                let named = self.named_element(&sites, &subscript.slice);
                let element = named.unwrap_or_else(|| self.elements(&sites));
                if is_slice {
                    self.container(frame, subscript, element)
                } else if fresh {
                    element
                } else {
                    element.shared()
                }
            }
            other => self.unknown(frame, subscript, &other),
        }
    }

    /// Returns the value of a list or set display, or of a tuple with `*` in it.
    fn display(&mut self, frame: CodeLocation, node: &impl Ranged, elements: &'a [Expr]) -> Value {
        let mut joined = Value::Nothing;
        for expr in elements {
            let value = match expr {
                Expr::Starred(starred) => {
                    let iterated = self.eval(frame, &starred.value);
                    self.element(frame, starred, iterated)
                }
                _ => self.eval(frame, expr),
            };
            joined = joined.join(value);
        }
        self.container(frame, node, joined)
    }

    /// Returns a container made here.
    pub(super) fn container(&mut self, frame: CodeLocation, node: &impl Ranged, element: Value) -> Value {
        self.check_no_closure(frame, node, &element);
        Value::fresh(self.site(frame, node, element))
    }

    /// Returns the elements of a value.
    pub(super) fn element(&mut self, frame: CodeLocation, node: &impl Ranged, value: Value) -> Value {
        match self.as_tuple(value) {
            value @ (Value::Plain | Value::Nothing | Value::Reported(_) | Value::Native) => value,
            Value::Tuple(elements) => elements.into_iter().fold(Value::Nothing, Value::join),
            // Iteration reads the keys, which are plain.
            value @ Value::Items { .. } if self.is_dictionary(&value) => Value::Plain,
            Value::Items { sites, fresh: true } => self.elements(&sites),
            Value::Items { sites, fresh: false } => self.elements(&sites).shared(),
            Value::Tensor | Value::LaunchArgument => {
                self.report(frame.module, node, &TensorRead { subject: "iterating over it".to_owned() })
            }
            other => self.unknown(frame, node, &other),
        }
    }

    pub(super) fn arithmetic(
        &mut self,
        frame: CodeLocation,
        node: &impl Ranged,
        op: Operator,
        left: Value,
        right: Value,
    ) -> Value {
        match (left, right) {
            (Value::Tensor, _) | (_, Value::Tensor) => {
                self.report(frame.module, node, &TensorOperator { subject: format!("`{op}`") })
            }
            (reported @ Value::Reported(_), _) | (_, reported @ Value::Reported(_)) => reported,
            (Value::Nothing, _) | (_, Value::Nothing) => Value::Nothing,
            (Value::Tuple(mut left), Value::Tuple(right)) if op == Operator::Add => {
                left.extend(right);
                Value::tuple(left)
            }
            // Concatenation and repetition make a new container of the old elements.
            (
                left @ (Value::Items { .. } | Value::Tuple(_) | Value::Plain),
                right @ (Value::Items { .. } | Value::Tuple(_) | Value::Plain),
            ) if combines(op) && (left != Value::Plain || !right.is_constant()) => {
                let merges = op == Operator::BitOr && self.is_dictionary(&left) && self.is_dictionary(&right);
                let mut joined = Value::Nothing;
                for side in [left, right].into_iter().filter(|side| *side != Value::Plain) {
                    let elements = self.values_or_elements(frame, node, side);
                    joined = joined.join(elements);
                }
                if merges { self.dictionary(frame, node, joined) } else { self.container(frame, node, joined) }
            }
            (left, right) if self.is_plain(&left) && self.is_plain(&right) => Value::Plain,
            (left, right) => {
                let other = if self.is_plain(&left) { right } else { left };
                self.unknown(frame, node, &other)
            }
        }
    }

    fn interpolation(&mut self, frame: CodeLocation, element: &'a ruff_python_ast::InterpolatedStringElement) {
        let Some(interpolation) = element.as_interpolation() else { return };
        self.plain(frame, &interpolation.expression, "formatting it");
        for part in interpolation.format_spec.iter().flat_map(|spec| &spec.elements) {
            self.interpolation(frame, part);
        }
    }
}

/// Returns whether an operator makes a new container of containers. As a plain value, it could be changed in place.
pub(super) fn combines(op: Operator) -> bool {
    matches!(op, Operator::Add | Operator::BitAnd | Operator::BitOr | Operator::BitXor | Operator::Mult | Operator::Sub)
}

/// Returns whether an index makes a view of a tensor: numbers, slices, `None`, `...`, tuples of these. A list would gather.
fn is_view_index(index: &Value) -> bool {
    match index {
        Value::Plain | Value::Nothing | Value::Reported(_) => true,
        Value::Tuple(parts) => parts.iter().all(is_view_index),
        _ => false,
    }
}

/// Returns whether an index is, or contains, `True`, `False` or a condition. Such an index copies or drops elements.
fn has_truth_value(index: &Expr) -> bool {
    match index {
        Expr::BooleanLiteral(_) | Expr::Compare(_) => true,
        Expr::UnaryOp(unary) => unary.op == UnaryOp::Not,
        Expr::Tuple(tuple) => tuple.elts.iter().any(has_truth_value),
        _ => false,
    }
}

/// Returns `x` of `x.data_ptr() % 16`, which tests the alignment. More of an address would let a pass distinguish calls, and a
/// kernel that gets an address as a number could access memory that is not an argument.
fn aligned_owner(binary: &ExprBinOp) -> Option<&Expr> {
    let modulus = match &*binary.right {
        Expr::NumberLiteral(literal) => literal.value.as_int()?.as_u64()?,
        _ => return None,
    };
    let Expr::Call(call) = &*binary.left else { return None };
    let Expr::Attribute(attribute) = &*call.func else { return None };
    let is_question = binary.op == Operator::Mod && attribute.attr.as_str() == "data_ptr" && call.arguments.is_empty();
    (is_question && (1..=MOST_ALIGNED).contains(&modulus)).then_some(&*attribute.value)
}

/// Returns the position that a literal index has in a tuple of this length.
fn literal_index(expr: &Expr, len: usize) -> Option<usize> {
    let number = |expr: &Expr| match expr {
        Expr::NumberLiteral(literal) => literal.value.as_int().and_then(|int| int.as_usize()),
        _ => None,
    };
    match expr {
        Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => len.checked_sub(number(&unary.operand)?),
        _ => number(expr),
    }
    .filter(|index| *index < len)
}
