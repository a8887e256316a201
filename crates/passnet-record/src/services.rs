//! Messages of the helper processes that run PyTorch outside evaluations: one JSON object per line in each direction.
//!
//! A helper answers each request with its reply, or with `{"error": SENTENCE}`; [`ServiceReply`] reads both. Graphs are in
//! wire form (`docs/reference/graph-wire.md`).
//!
//! ```
//! use passnet_record::services::{ServiceReply, KernelCounts};
//!
//! let counts: ServiceReply<KernelCounts> = serde_json::from_str(r#"{"kernels": [1, 2], "compilations": 1}"#)?;
//! assert_eq!(counts.into_result()?.kernels, [1, 2]);
//! let failed: ServiceReply<KernelCounts> = serde_json::from_str(r#"{"error": "RuntimeError: no such op"}"#)?;
//! assert!(failed.into_result().is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{AuthoredModel, DType, TensorMeta, TensorValue, counted};

/// Prefix of the error of a helper for a graph that needs more memory than a worker may use. The limit is a setting of the caller and not
/// a property of the graph, so such an error is not recorded.
pub const OVER_MEMORY: &str = "over the memory limit: ";

/// Reply of a helper, or a sentence that says why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceReply<T> {
    Reply(T),
    /// Sentence that describes the failure of the graph or of the helper.
    Error(String),
}

impl<T> ServiceReply<T> {
    /// Returns the reply.
    ///
    /// # Errors
    /// The error sentence of the helper.
    pub fn into_result(self) -> Result<T, String> {
        match self {
            Self::Reply(reply) => Ok(reply),
            Self::Error(message) => Err(message),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for ServiceReply<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // This is not `untagged`, because serde would then only report that no variant matched, and not which field is wrong.
        let value = Value::deserialize(deserializer)?;
        match value.get("error") {
            None | Some(Value::Null) => serde_json::from_value(value).map(Self::Reply),
            Some(message) => serde_json::from_value(message.clone()).map(Self::Error),
        }
        .map_err(serde::de::Error::custom)
    }
}

/// Times of one optimised model: the part of the result of `passnet.optimize` that a summary shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Optimized {
    /// Median time of a call by side, in nanoseconds: `eager`, `passnet`, and each mode of `torch.compile`.
    pub median_ns: BTreeMap<String, f64>,
    /// Seconds of the first calls of each side, in which it is compiled.
    #[serde(default)]
    pub compile_s: BTreeMap<String, f64>,
    /// Device memory of a call of each side; empty on the CPU.
    #[serde(default)]
    pub peak_bytes: BTreeMap<String, u64>,
    /// Reason of the failure of each side that failed.
    pub failures: BTreeMap<String, String>,
    /// Number of passes in the library.
    pub passes: usize,
    /// Work of a language model, if one was the author.
    #[serde(default)]
    pub authored: Option<AuthoredModel>,
}

impl fmt::Display for Optimized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let eager = self.median_ns.get("eager").copied().unwrap_or(f64::NAN);
        let mut sides: Vec<(&String, f64)> = self.median_ns.iter().map(|(name, &time)| (name, time)).collect();
        sides.sort_by(|a, b| a.1.total_cmp(&b.1));
        for (name, time) in sides {
            write!(f, "{name:<28} {:>12.1} us   {:.2} times as fast as eager", time / 1e3, eager / time)?;
            if let Some(seconds) = self.compile_s.get(name).filter(|_| name != "eager") {
                write!(f, ", compiled in {seconds:.1} s")?;
            }
            if let Some(&bytes) = self.peak_bytes.get(name) {
                write!(f, ", {} MiB of memory", bytes.div_ceil(1 << 20))?;
            }
            writeln!(f)?;
        }
        for (name, reason) in &self.failures {
            writeln!(f, "{name:<28} failed: {reason}")?;
        }
        if let Some(authored) = &self.authored {
            writeln!(f, "{authored}")?;
        }
        write!(f, "{} written", counted(self.passes, "pass"))
    }
}

/// A question without content. No helper can answer it, but the error reply shows that the helper runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyQuestion {}

/// Shape and dtype of an input, without values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputType {
    /// Extents.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: DType,
}

impl From<&TensorMeta> for InputType {
    fn from(meta: &TensorMeta) -> Self {
        Self { shape: meta.shape.clone(), dtype: meta.dtype }
    }
}

/// Request to propagate the types of all values of a graph. No values are computed and no device is needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropagateRequest {
    /// The graph, with its devices already replaced.
    pub graph: Value,
    /// One entry per input, in order; inputs are contiguous.
    pub inputs: Vec<InputType>,
    /// `cpu` or `cuda`.
    pub device: String,
}

/// Reply to [`PropagateRequest`]; `T` is the type of a value as the graph crate describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropagateReply<T> {
    /// One entry per input and node, in order.
    pub values: Vec<T>,
    /// The calls of the graph in canonical form.
    pub canonical: CanonicalCalls,
}

/// The calls of a graph in the form in which patterns are matched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CanonicalCalls {
    /// The graph in canonical form. Its values have the numbers of the original graph.
    pub graph: Value,
    /// For each node and each number among its arguments, in order: the place of the number among the numbers of the canonical
    /// call; `null` where no parameter of a pattern can stand for the number.
    pub places: Vec<Vec<Option<usize>>>,
}

/// Request to apply passes to a graph and to time each call of a pass and the operations that it replaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfirmRequest {
    /// The graph, with its devices already replaced.
    pub graph: Value,
    /// One entry per input, in order.
    pub inputs: Vec<TensorMeta>,
    /// `cpu`, `cuda` or `cuda:N`.
    pub device: String,
    /// Intra-op threads.
    pub threads: u32,
    /// File that is locked while calls are timed. Helpers may compile at the same time, but they time one after the other.
    pub lock: PathBuf,
    /// Files of the pass directory, by name.
    pub passes: BTreeMap<String, String>,
}

/// Reply to [`ConfirmRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfirmReply {
    /// One entry per kind of call. Calls of the same pass with arguments of the same types are one kind.
    pub calls: Vec<ConfirmedCall>,
}

/// A call of a pass and the operations that it replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmedCall {
    /// Name of the pass.
    pub pass: String,
    /// Description of the difference between the call's result and PyTorch's, or the error of the call; `None` if the call is right.
    pub fault: Option<String>,
    /// Pairs of times in nanoseconds: of the operations, and of the call right before or after them. Empty if there is a fault.
    pub pairs: Vec<[u64; 2]>,
}

/// Graph with the metas of its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphRequest {
    pub graph: Value,
    /// One entry per input, in order.
    pub inputs: Vec<TensorMeta>,
}

/// Request to run a graph once and describe its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnnotateRequest {
    pub graph: Value,
    /// One entry per input, in order.
    pub inputs: Vec<TensorMeta>,
    /// Bytes of inputs above which the graph is not run, only propagated.
    pub max_bytes: u64,
    /// Wall-clock limit in seconds.
    pub seconds: f64,
    /// True to search for other extents and dtypes as well.
    pub variants: bool,
}

/// Reply to [`AnnotateRequest`]: types, statistics and variants of the values of a graph, inputs before nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// Description of each value; `None` for values that are not tensors.
    pub values: Vec<Option<ValueMeta>>,
    /// True if statistics were measured by running the graph.
    pub executed: bool,
    /// Other extents of the data inputs at which the graph works.
    #[serde(default)]
    pub assignments: Vec<ExtentAssignment>,
    /// Other dtypes of the floating-point inputs at which the graph works.
    #[serde(default)]
    pub dtypes: Vec<Cast>,
}

/// Metadata of a tensor without its name. The fields are those of [`TensorMeta`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of `TensorMeta`")]
pub struct ValueMeta {
    pub shape: Vec<u64>,
    pub dtype: DType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Vec<TensorValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_val: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_val: Option<f64>,
}

impl ValueMeta {
    /// Returns the metadata with a name and with the CPU as the device.
    pub fn named(self, name: &str) -> TensorMeta {
        let Self { shape, dtype, mean, std, data, min_val, max_val } = self;
        let (name, device) = (name.to_owned(), "cpu".to_owned());
        TensorMeta { name, original_name: None, shape, dtype, device, mean, std, data, min_val, max_val }
    }
}

/// Request for the variants of an annotated graph: other extents and dtypes. The graph is not run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantsRequest {
    pub graph: Value,
    /// One entry per input, in order.
    pub inputs: Vec<TensorMeta>,
    /// Shape of each value, inputs before nodes; `None` for values that are not tensors.
    pub shapes: Vec<Option<Vec<u64>>>,
    /// Largest number of assignments of extents to search for.
    pub assignments: usize,
    /// Wall-clock limit in seconds.
    pub seconds: f64,
}

/// Reply to [`VariantsRequest`]. The fields are those of [`Annotation`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of `Annotation`")]
pub struct Variants {
    pub assignments: Vec<ExtentAssignment>,
    pub dtypes: Vec<Cast>,
}

/// Graph at other extents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExtentAssignment {
    /// Extents by name: `batch`, `length`, `height`, `width`.
    pub symbols: BTreeMap<String, u64>,
    /// Shape of each value; `None` for values that are not tensors, or that come after an op that does not run at these extents.
    pub shapes: Vec<Option<Vec<u64>>>,
    /// Arguments of nodes that depend on the extents.
    pub literals: Vec<Literals>,
}

/// Graph at another dtype.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cast {
    /// Dtype that replaces float32 in all inputs.
    pub dtype: DType,
    /// Dtype of each value; `None` in the same cases as in [`ExtentAssignment::shapes`].
    pub types: Vec<Option<DType>>,
    /// Arguments of nodes that depend on the dtype.
    pub literals: Vec<Literals>,
}

/// Replaced arguments of one node, in wire form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Literals {
    /// Index of the node.
    pub node: usize,
    /// All positional arguments of the node.
    pub args: Value,
    /// All keyword arguments of the node.
    pub kwargs: Value,
}

/// Request to bring the calls of a graph into canonical form: arguments by name, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CanonicalRequest {
    pub graph: Value,
}

/// Reply to [`CanonicalRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CanonicalReply {
    /// The graph with the same calls in the same order. A call that the installed PyTorch does not know is unchanged.
    pub graph: Value,
}

/// Request to count the kernels that prefixes of a graph compile to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelCountRequest {
    /// Name of the graph. A helper keeps the last graph, so that further prefixes need not build it again.
    pub id: String,
    pub graph: Value,
    /// One entry per input, in order.
    pub inputs: Vec<TensorMeta>,
    /// `cpu` or `cuda`.
    pub device: String,
    /// Numbers of leading ops to compile together.
    pub prefixes: Vec<usize>,
}

/// Reply to [`KernelCountRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Number of kernels of each prefix, in the order of the request.
    pub kernels: Vec<u32>,
    /// Number of calls of the compiler for all prefixes.
    pub compilations: u32,
}

/// Request to check that graphs run twice with equal results and without NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProveRequest {
    pub graphs: Vec<GraphRequest>,
    /// Bytes of all values of a graph above which the graph is refused.
    pub max_bytes: u64,
    /// Wall-clock limit for all graphs, in seconds.
    pub seconds: f64,
}

/// Reply to [`ProveRequest`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ProveReply {
    /// One entry per graph, in order.
    pub results: Vec<ServiceReply<ProvenGraph>>,
}

/// Result for a graph that passed the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenGraph {
    /// Bytes of all values of the graph, including inputs.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_an_optimised_model_has_a_line_for_each_side() {
        let check = |text: &str, expected: &str| {
            let result: Optimized = serde_json::from_str(text).unwrap();
            assert_eq!(result.to_string(), expected);
        };
        let times = r#""median_ns":{"eager":3000,"passnet":2000},"failures":{"torch.compile default":"no"},"passes":1"#;
        let eager = "eager                                 3.0 us   1.00 times as fast as eager";
        let passnet = "passnet                               2.0 us   1.50 times as fast as eager";
        let end = "torch.compile default        failed: no\n1 pass written";
        check(&format!("{{{times}}}"), &format!("{passnet}\n{eager}\n{end}"));
        let measured = r#""compile_s":{"eager":0.1,"passnet":2.51},"peak_bytes":{"eager":1,"passnet":3145728}"#;
        let passnet = format!("{passnet}, compiled in 2.5 s, 3 MiB of memory");
        check(&format!("{{{times},{measured}}}"), &format!("{passnet}\n{eager}, 1 MiB of memory\n{end}"));
    }

    #[test]
    fn each_graph_has_its_own_answer() {
        let reply: ProveReply =
            serde_json::from_str(r#"{"results": [{"bytes": 12}, {"error": "ProofError: it returns NaN"}]}"#).unwrap();
        assert_eq!(reply.results[0], ServiceReply::Reply(ProvenGraph { bytes: 12 }));
        assert_eq!(reply.results[1], ServiceReply::Error("ProofError: it returns NaN".to_owned()));
        assert!(serde_json::from_str::<ServiceReply<ProvenGraph>>(r#"{"size": 12}"#).is_err());
    }
}
