//! Graphs whose recorded inputs are constant, such as a bias of zeros.

use passnet_eval::Candidate;
use passnet_record::{GraphId, ORDER_FILE, PassDirectory, Status, TensorMeta};
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

/// The sum changes `x` only for contents in which the bias is not zero. Such contents come in disguised rounds, whose calls must not see
/// the sum of the call before.
#[test]
fn a_change_of_an_input_that_only_some_contents_show_is_undone_before_each_call() {
    // With these seeds, such contents are among the disguised rounds.
    for seed in 0..3 {
        let Some(referee) = referee(|settings| {
            (settings.seed, settings.trials) = (Some(seed), 2);
            settings.paths.truncate(1);
        }) else {
            return;
        };
        let sample = graph(ADD_TRANSPOSE, &[("bias", &[64, 1]), ("x", &[64, 16])]);
        let zeros = |meta: &TensorMeta| TensorMeta { mean: Some(0.0), std: Some(0.0), ..meta.clone() };
        let id = GraphId { task: "task".to_owned(), graph: "000".to_owned() };
        let sample = GraphSample::new(id, sample.graph().clone(), sample.metas().iter().map(zeros).collect());
        let passes = PassDirectory::new([("fuse.py", TRANSPOSE), (ORDER_FILE, r#"["fuse"]"#)]).unwrap();
        let verdict = referee.evaluate(&sample, &Candidate::Passes(passes)).unwrap().verdict;
        assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{seed}: {:?}", verdict.reason);
    }
}
