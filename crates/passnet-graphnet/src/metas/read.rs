use passnet_record::{DType, TensorMeta, TensorValue};
use ruff_python_ast::{Expr, ExprName, Stmt, StmtClassDef};
use ruff_text_size::Ranged;

use crate::{Error, ErrorKind, literal::Scalar, source::Source};

pub(super) fn unsupported(source: &Source<'_>, place: &impl Ranged) -> Error {
    source.error(place, ErrorKind::Unsupported { what: "this".to_owned(), part: "tensor meta" })
}

/// Reads the tensor that one class describes.
pub(super) fn tensor(source: &Source<'_>, class: &StmtClassDef) -> Result<TensorMeta, Error> {
    let mut tensor = TensorMeta {
        name: String::new(),
        original_name: None,
        shape: Vec::new(),
        dtype: DType::Float32,
        device: "cpu".to_owned(),
        mean: Some(0.0),
        std: Some(1.0),
        data: None,
        min_val: None,
        max_val: None,
    };
    let mut data_at = None;
    for statement in &class.body {
        match statement {
            Stmt::Assign(assign) => {
                let [Expr::Name(target)] = assign.targets.as_slice() else {
                    return Err(unsupported(source, assign));
                };
                Attribute { source, target, value: &assign.value }.read(&mut tensor)?;
                if &target.id == "data" {
                    data_at = Some(assign);
                }
            }
            Stmt::Pass(_) => {}
            // Docstrings carry no attribute.
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            other => return Err(unsupported(source, other)),
        }
    }
    if tensor.name.is_empty() {
        return Err(source.error(&class.name, ErrorKind::NoName));
    }
    // The product of the extents is checked here, so that later code can rely on it to fit 64 bits.
    let numel = tensor.numel().ok_or_else(|| source.error(&class.name, ErrorKind::HugeShape))?;
    if let (Some(data), Some(place)) = (&tensor.data, data_at)
        && data.len() as u64 != numel
    {
        return Err(source.error(place, ErrorKind::DataLength { found: data.len(), expected: numel }));
    }
    Ok(tensor)
}

/// One attribute: `target = value`.
struct Attribute<'s> {
    source: &'s Source<'s>,
    target: &'s ExprName,
    value: &'s Expr,
}

impl Attribute<'_> {
    fn read(&self, tensor: &mut TensorMeta) -> Result<(), Error> {
        match self.target.id.as_str() {
            "name" => tensor.name = self.string()?,
            "original_name" => tensor.original_name = self.unless_none(Self::string)?,
            "shape" => tensor.shape = self.shape()?,
            "dtype" => {
                let name = self.string()?;
                tensor.dtype = name.parse().map_err(|error| self.source.error(self.value, ErrorKind::from(error)))?;
            }
            "device" => tensor.device = self.string()?,
            "mean" => tensor.mean = self.unless_none(Self::number)?,
            "std" => tensor.std = self.unless_none(Self::number)?,
            "data" => tensor.data = self.unless_none(Self::data)?,
            "min_val" | "low" => tensor.min_val = self.unless_none(Self::number)?,
            "max_val" | "high" => tensor.max_val = self.unless_none(Self::number)?,
            unknown => {
                return Err(self.source.error(self.target, ErrorKind::UnknownAttribute(unknown.to_owned())));
            }
        }
        Ok(())
    }

    fn bad(&self, place: &impl Ranged, expected: &'static str) -> Error {
        self.source.error(place, ErrorKind::BadAttribute { attribute: self.target.id.to_string(), expected })
    }

    fn unless_none<T>(&self, read: impl FnOnce(&Self) -> Result<T, Error>) -> Result<Option<T>, Error> {
        if self.value.is_none_literal_expr() { Ok(None) } else { read(self).map(Some) }
    }

    fn string(&self) -> Result<String, Error> {
        match Scalar::of(self.value) {
            Some(Scalar::Str(text)) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(self.bad(self.value, "a string that is not empty")),
        }
    }

    fn number(&self) -> Result<f64, Error> {
        match Scalar::of(self.value) {
            Some(Scalar::Float(value)) => Ok(value),
            Some(Scalar::Int(value)) => Ok(value as f64),
            Some(Scalar::Bool(value)) => Ok(f64::from(u8::from(value))),
            _ => Err(self.bad(self.value, "a number or None")),
        }
    }

    fn elements(&self, expected: &'static str) -> Result<&[Expr], Error> {
        match self.value {
            Expr::List(list) => Ok(&list.elts),
            Expr::Tuple(tuple) => Ok(&tuple.elts),
            _ => Err(self.bad(self.value, expected)),
        }
    }

    fn shape(&self) -> Result<Vec<u64>, Error> {
        let expected = "a list of integers from 0 up";
        let extent = |element: &Expr| match Scalar::of(element) {
            Some(Scalar::Int(extent)) => u64::try_from(extent).map_err(|_| self.bad(element, expected)),
            _ => Err(self.bad(element, expected)),
        };
        self.elements(expected)?.iter().map(extent).collect()
    }

    fn data(&self) -> Result<Vec<TensorValue>, Error> {
        let expected = "None or a flat list of bools, integers of 64 bits, and floats";
        let value = |element: &Expr| match Scalar::of(element) {
            Some(Scalar::Bool(value)) => Ok(TensorValue::Bool(value)),
            Some(Scalar::Int(value)) => Ok(TensorValue::Int(value)),
            Some(Scalar::Float(value)) => Ok(TensorValue::Float(value)),
            _ => Err(self.bad(element, expected)),
        };
        self.elements(expected)?.iter().map(value).collect()
    }
}
