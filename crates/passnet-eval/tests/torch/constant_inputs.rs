//! Graphs whose recorded inputs are constant, such as a bias of zeros.

use passnet_eval::Candidate;
use passnet_record::{DType, GraphId, ORDER_FILE, PassDirectory, Status, TensorMeta, TensorValue};
use passnet_run::GraphSample;

use crate::common::{graph, referee};

const ADD_TRANSPOSE: &str = r#"{"version": 1, "inputs": ["bias", "x"], "nodes": [
    {"name": "add", "op": "call_function", "target": "operator.iadd", "args": [{"ref": 1}, {"ref": 0}], "kwargs": []},
    {"name": "t", "op": "call_method", "target": "transpose", "args": [{"ref": 2}, 0, 1], "kwargs": []}],
    "outputs": [{"ref": 3}]}"#;

const TRANSPOSE: &str = "
def pattern(x):
    return x.transpose(0, 1)

def replacement_args(x):
    return (x,)

def transposed(x):
    return x.transpose(0, 1)

def replacement_func():
    return transposed
";

const SELECT: &str = r#"{"version": 1, "inputs": ["x", "index"], "nodes": [
    {"name": "row", "op": "call_function", "target": "torch.index_select", "args": [{"ref": 0}, 0, {"ref": 1}], "kwargs": []}],
    "outputs": [{"ref": 2}]}"#;

const ROW: &str = r#"
import torch
from passnet import kernels

def pattern(x, index):
    return torch.index_select(x, 0, index)

def replacement_args(x, index):
    return (x, index)

row = kernels.cpp(
    "void row(const float* x, const int64_t* index, float* out) { for (int i = 0; i < 64; ++i) out[i] = x[index[0] * 64 + i]; }",
    "void row(const float* x, const int64_t* index, float* out)",
)

def fused(x, index):
    out = torch.empty(1, 64)
    row(x, index, out)
    return out

def replacement_func():
    return fused
"#;

/// Asserts that a pass directory of one file is right for a graph with these inputs, for a few seeds.
#[expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]
fn assert_right(sample: &GraphSample, metas: &[TensorMeta], text: &str) {
    for seed in 0..3 {
        let Some(referee) = referee(|settings| {
            (settings.seed, settings.trials) = (Some(seed), 2);
            settings.paths.truncate(1);
        }) else {
            return;
        };
        let id = GraphId { task: "task".to_owned(), graph: "000".to_owned() };
        let sample = GraphSample::new(id, sample.graph().clone(), metas.to_vec());
        let passes = PassDirectory::new([("fuse.py", text), (ORDER_FILE, r#"["fuse"]"#)]).unwrap();
        let verdict = referee.evaluate(&sample, &Candidate::Passes(passes)).unwrap().verdict;
        assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{seed}: {:?}", verdict.reason);
    }
}

/// The only row of the table has index 0. Some contents have index 1, for which the graph raises an exception, and the kernel reads past
/// the end of the table. Half of the evaluations accused such passes for the reads that later calls reported again.
#[test]
fn reads_for_an_index_that_the_graph_refuses_are_no_violation() {
    let sample = graph(SELECT, &[("x", &[1, 64]), ("index", &[1])]);
    let mut metas = sample.metas().to_vec();
    let index = TensorMeta { dtype: DType::Int64, mean: None, std: None, ..metas[1].clone() };
    metas[1] = TensorMeta { data: Some(vec![TensorValue::Int(0)]), ..index };
    assert_right(&sample, &metas, ROW);
}

/// The sum changes `x` only for contents in which the bias is not zero. Such contents come in disguised rounds, whose calls must not see
/// the sum of the call before.
#[test]
fn a_change_of_an_input_that_only_some_contents_show_is_undone_before_each_call() {
    let sample = graph(ADD_TRANSPOSE, &[("bias", &[64, 1]), ("x", &[64, 16])]);
    let zeros = |meta: &TensorMeta| TensorMeta { mean: Some(0.0), std: Some(0.0), ..meta.clone() };
    assert_right(&sample, &sample.metas().iter().map(zeros).collect::<Vec<_>>(), TRANSPOSE);
}
