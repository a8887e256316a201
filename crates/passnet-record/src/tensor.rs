use serde::{Deserialize, Serialize};

use crate::DType;

/// Metadata of one input of a graph (weights, data inputs and symbolic integers alike).
///
/// This is the content of one class of `weight_meta.py`, after parsing. `docs/reference/inputs.md` describes how values are made from the
/// metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TensorMeta {
    /// Name of the parameter of `forward`.
    pub name: String,
    /// Name in the graph that this graph was cut from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_name: Option<String>,
    /// Extent of each dimension; empty for a scalar tensor.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: DType,
    /// Device at the time of the capture, e.g. `cuda:0`. The referee replaces it by the device under test.
    pub device: String,
    /// Mean of the values; `None` for types without one. May be NaN.
    pub mean: Option<f64>,
    /// Standard deviation of the values; `None` for types without one. May be NaN.
    pub std: Option<f64>,
    /// Literal values in row-major order, one per element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Vec<TensorValue>>,
    /// Smallest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_val: Option<f64>,
    /// Largest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_val: Option<f64>,
}

impl TensorMeta {
    /// Returns the number of elements; `None` where the product overflows 64 bits.
    pub fn numel(&self) -> Option<u64> {
        // Shapes come from untrusted files, and an overflow would make a huge tensor look small.
        self.shape.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent))
    }

    /// Returns the number of bytes of a contiguous tensor; `None` where the number overflows 64 bits.
    pub fn nbytes(&self) -> Option<u64> {
        self.numel()?.checked_mul(self.dtype.size() as u64)
    }
}

/// One literal element of a tensor, or one literal result.
///
/// In JSON, an integer is a number without a decimal point. A float is a number with a decimal point, or one of the strings `"nan"`,
/// `"inf"` and `"-inf"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TensorValue {
    /// `True` or `False`.
    Bool(bool),
    /// A Python integer that fits 64 bits.
    Int(i64),
    /// A Python float.
    Float(f64),
}

impl Serialize for TensorValue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Bool(value) => serializer.serialize_bool(value),
            Self::Int(value) => serializer.serialize_i64(value),
            // JSON has no numbers for NaN and the infinities, and serde_json would write `null`.
            Self::Float(value) if value.is_nan() => serializer.serialize_str("nan"),
            Self::Float(value) if value == f64::INFINITY => serializer.serialize_str("inf"),
            Self::Float(value) if value == f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            Self::Float(value) => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for TensorValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = TensorValue;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a bool, a 64-bit integer, a float, or \"nan\", \"inf\", \"-inf\"")
            }

            fn visit_bool<E>(self, value: bool) -> Result<TensorValue, E> {
                Ok(TensorValue::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<TensorValue, E> {
                Ok(TensorValue::Int(value))
            }

            // serde_json calls this for every integer that is not negative.
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<TensorValue, E> {
                let value = i64::try_from(value).map_err(|_| E::custom("integer does not fit into 64 bits"))?;
                Ok(TensorValue::Int(value))
            }

            fn visit_f64<E>(self, value: f64) -> Result<TensorValue, E> {
                Ok(TensorValue::Float(value))
            }

            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<TensorValue, E> {
                match value {
                    "nan" => Ok(TensorValue::Float(f64::NAN)),
                    "inf" => Ok(TensorValue::Float(f64::INFINITY)),
                    "-inf" => Ok(TensorValue::Float(f64::NEG_INFINITY)),
                    other => Err(E::custom(format!("`{other}` is not a tensor value"))),
                }
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_kind_through_json() {
        let values = [
            TensorValue::Bool(true),
            TensorValue::Int(-3),
            TensorValue::Float(2.0),
            TensorValue::Float(f64::NEG_INFINITY),
        ];
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"[true,-3,2.0,"-inf"]"#);
        assert_eq!(serde_json::from_str::<Vec<TensorValue>>(&text).unwrap(), values);
        assert!(serde_json::from_str::<TensorValue>("\"three\"").is_err());
    }

    #[test]
    fn sizes_do_not_overflow() {
        let meta = TensorMeta {
            name: "x".to_owned(),
            original_name: None,
            shape: vec![u64::MAX, 2],
            dtype: DType::Float32,
            device: "cpu".to_owned(),
            mean: None,
            std: None,
            data: None,
            min_val: None,
            max_val: None,
        };
        assert_eq!(meta.nbytes(), None);
    }
}
