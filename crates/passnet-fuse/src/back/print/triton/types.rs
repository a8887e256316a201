//! Names of types in Triton.

use passnet_record::DType;

use crate::front::expr::ValueKind;

pub(super) const fn kind_type(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Bool => "tl.int1",
        ValueKind::I64 => "tl.int64",
        ValueKind::F32 => "tl.float32",
        ValueKind::F64 => "tl.float64",
    }
}

pub(super) const fn storage_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Float64 => "tl.float64",
        DType::Float32 => "tl.float32",
        DType::Float16 => "tl.float16",
        DType::BFloat16 => "tl.bfloat16",
        DType::Int64 => "tl.int64",
        DType::Int32 => "tl.int32",
        DType::Int16 => "tl.int16",
        DType::Int8 => "tl.int8",
        DType::UInt8 => "tl.uint8",
        // Complex numbers are never scheduled.
        DType::Bool | DType::Complex64 | DType::Complex128 => "tl.int1",
    }
}
