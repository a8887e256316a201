use std::fmt::{self, Write};

use passnet_graph::literal::{FloatRepr, StrRepr};
use passnet_record::{TensorMeta, TensorValue};

/// Writes tensors as the text of a `weight_meta.py`. Floats keep all their digits.
pub fn print(tensors: &[TensorMeta]) -> String {
    let mut text = String::new();
    for (index, tensor) in tensors.iter().enumerate() {
        if index > 0 {
            text.push_str("\n\n");
        }
        // Writing to a string cannot fail.
        let _ = class(&mut text, tensor);
    }
    text
}

fn class(out: &mut String, tensor: &TensorMeta) -> fmt::Result {
    // The name of the class only has to be an identifier, because readers use the attribute `name`.
    let words = tensor.name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' });
    writeln!(out, "class Program_weight_tensor_meta_{}:", words.collect::<String>())?;
    writeln!(out, "    name = {}", StrRepr(&tensor.name))?;
    if let Some(name) = &tensor.original_name {
        writeln!(out, "    original_name = {}", StrRepr(name))?;
    }
    writeln!(out, "    shape = {:?}", tensor.shape)?;
    writeln!(out, "    dtype = 'torch.{}'", tensor.dtype)?;
    writeln!(out, "    device = {}", StrRepr(&tensor.device))?;
    writeln!(out, "    mean = {}", Number(tensor.mean))?;
    writeln!(out, "    std = {}", Number(tensor.std))?;
    match &tensor.data {
        None => writeln!(out, "    data = None")?,
        Some(values) => {
            out.write_str("    data = [")?;
            for (index, value) in values.iter().enumerate() {
                out.write_str(if index > 0 { ", " } else { "" })?;
                match value {
                    TensorValue::Bool(value) => out.write_str(if *value { "True" } else { "False" })?,
                    TensorValue::Int(value) => write!(out, "{value}")?,
                    TensorValue::Float(value) => write!(out, "{}", Number(Some(*value)))?,
                }
            }
            out.write_str("]\n")?;
        }
    }
    for (attribute, bound) in [("min_val", tensor.min_val), ("max_val", tensor.max_val)] {
        match bound {
            // Bounds of integer tensors are printed as integers. A float holds integers up to 2^53 exactly.
            Some(value) if tensor.dtype.is_int() && value.fract() == 0.0 => {
                writeln!(out, "    {attribute} = {value:.0}")?;
            }
            Some(value) => writeln!(out, "    {attribute} = {}", Number(Some(value)))?,
            None => {}
        }
    }
    Ok(())
}

/// A float or `None`, printed as Python.
struct Number(Option<f64>);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("None"),
            Some(value) if value.is_finite() => write!(f, "{}", FloatRepr(value)),
            // Python has no literal for NaN and infinity.
            Some(value) => write!(f, "float('{}')", FloatRepr(value)),
        }
    }
}
