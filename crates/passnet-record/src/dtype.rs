use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Element type of a tensor, named as PyTorch names it (without the `torch.` prefix).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each variant is the PyTorch type of that name")]
pub enum DType {
    Float64,
    Float32,
    Float16,
    BFloat16,
    Int64,
    Int32,
    Int16,
    Int8,
    UInt8,
    Bool,
    Complex64,
    Complex128,
}

/// A dtype name that PassNet does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dtype `{0}`")]
pub struct UnknownDType(pub String);

impl DType {
    /// All dtypes, in declaration order.
    pub const ALL: [Self; 12] = [
        Self::Float64,
        Self::Float32,
        Self::Float16,
        Self::BFloat16,
        Self::Int64,
        Self::Int32,
        Self::Int16,
        Self::Int8,
        Self::UInt8,
        Self::Bool,
        Self::Complex64,
        Self::Complex128,
    ];

    /// Returns the PyTorch name without prefix, e.g. `bfloat16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::UInt8 => "uint8",
            Self::Bool => "bool",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }

    /// Returns the size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::Complex128 => 16,
            Self::Float64 | Self::Int64 | Self::Complex64 => 8,
            Self::Float32 | Self::Int32 => 4,
            Self::Float16 | Self::BFloat16 | Self::Int16 => 2,
            Self::Int8 | Self::UInt8 | Self::Bool => 1,
        }
    }

    /// Returns whether this is a real floating-point type. Complex types are not.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float64 | Self::Float32 | Self::Float16 | Self::BFloat16)
    }

    /// Returns whether this is a signed or unsigned integer type. Bool is not.
    pub const fn is_int(self) -> bool {
        matches!(self, Self::Int64 | Self::Int32 | Self::Int16 | Self::Int8 | Self::UInt8)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = UnknownDType;

    /// Accepts `float32` and `torch.float32`, and PyTorch's aliases (`float`, `half`, `long` ...).
    fn from_str(text: &str) -> Result<Self, UnknownDType> {
        let name = text.strip_prefix("torch.").unwrap_or(text);
        let name = match name {
            "double" => "float64",
            "float" => "float32",
            "half" => "float16",
            "long" => "int64",
            "int" => "int32",
            "short" => "int16",
            "cfloat" => "complex64",
            "cdouble" => "complex128",
            other => other,
        };
        Self::ALL.into_iter().find(|dtype| dtype.name() == name).ok_or_else(|| UnknownDType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_through_text_and_json() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            assert_eq!(format!("torch.{dtype}").parse(), Ok(dtype));
            assert_eq!(serde_json::to_string(&dtype).unwrap(), format!("\"{dtype}\""));
        }
        assert_eq!("torch.half".parse(), Ok(DType::Float16));
        assert_eq!("torch.float8".parse::<DType>(), Err(UnknownDType("torch.float8".to_owned())));
    }
}
