//! Costs of the plan of the built-in author (`docs/reference/fuse.md`), from which its times are predicted.

use serde::{Deserialize, Serialize};

use crate::DType;

/// Work of one call of eager mode, or of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCosts {
    /// Bytes that are read or written.
    pub bytes: i64,
    /// Elements that are computed, for each operation.
    pub elements: i64,
    /// Elements among them of operations with an operand or a result of a half type.
    pub half_elements: i64,
    /// Elements of functions such as `exp`.
    pub functions: i64,
    /// Elements of pooling and interpolation.
    pub windows: i64,
    /// Multiplications of products of matrices whose result has a half type.
    pub half_products: i64,
    /// Multiplications of other products of matrices.
    pub products: i64,
    /// Number of convolutions.
    pub convolutions: i64,
}

/// Costs of a region in eager mode, or of its replacement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionCosts {
    /// Calls that only make a view.
    pub views: i64,
    /// Results and temporary tensors of a replacement. In eager mode, the calls include their memory.
    pub tensors: i64,
    /// Calls of eager mode that compute, or kernels. The work of all kernels of a replacement counts for the first one.
    pub calls: Vec<CallCosts>,
}

/// Costs of one side (eager mode, or a replacement) in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideRates {
    /// The host before the first call: for a replacement, its call with the look-up of its plan.
    pub begin_ns: f64,
    /// A call of PyTorch that computes, or the launch of a kernel.
    pub call_ns: f64,
    /// A convolution in addition: the library looks up a plan for each call.
    pub convolution_ns: f64,
    /// A call that only makes a view.
    pub view_ns: f64,
    /// Fresh memory for one tensor.
    pub tensor_ns: f64,
    /// A byte that is read or written.
    pub byte_ns: f64,
    /// An element of an operation.
    pub element_ns: f64,
    /// An element of an operation on a half type in addition.
    pub half_element_ns: f64,
    /// An element of a function such as `exp` in addition.
    pub function_ns: f64,
    /// An element of an operation over windows in addition.
    pub window_ns: f64,
    /// A multiplication of a product of matrices of a half type.
    pub half_product_ns: f64,
    /// A multiplication of another product of matrices.
    pub product_ns: f64,
}

/// Constants of a class of devices, with which times are predicted from costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRates {
    pub eager: SideRates,
    pub fused: SideRates,
    /// The wait for the end of the last kernel, as far as it does not depend on the work.
    pub wait_ns: f64,
    /// A byte beyond those that a cache holds in addition, for fresh pages and memory outside of the cache.
    pub far_byte_ns: f64,
    /// True if the host continues while kernels run.
    pub overlaps: bool,
}

/// Shape and type of a tensor that a pass gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedInput {
    pub dtype: DType,
    pub shape: Vec<i64>,
}

/// One place where a pass is applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedPart {
    /// Name of the pass.
    pub pass: String,
    /// Position of the graph among the graphs of the task.
    pub graph: usize,
    /// Names of the operations, in program order.
    pub operations: Vec<String>,
    pub inputs: Vec<PlannedInput>,
    pub eager: RegionCosts,
    pub fused: RegionCosts,
    /// Predicted times.
    pub eager_ns: u64,
    pub fused_ns: u64,
}

/// Answer of `passnet fuse --explain --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCosts {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Constants of the predicted times.
    pub rates: DeviceRates,
    pub tasks: Vec<PlannedTask>,
}

/// The plan for one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTask {
    pub task: String,
    pub parts: Vec<PlannedPart>,
}
