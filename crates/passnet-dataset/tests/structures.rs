//! The share of tasks with several structures, and variants of the graphs that a suite chooses.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod models;

use std::{path::Path, sync::Mutex};

use models::write_model;
use passnet_dataset::{
    Dataset, Table,
    annotate::{AnnotationLimits, Runner, annotate},
    import::import_graphs,
    mine::{Method, mine},
    pipeline::Runners,
    store::{GraphKind, SampleRow, TaskRow},
    suite::{Built, Phase, Shares, SuiteLimits, SuitePlan, build},
};
use passnet_record::DType;
use serde_json::{Value, json};

/// Answers for graphs whose values all have the shape of their first input, and records the questions for variants.
#[derive(Default)]
struct Known {
    varied: Mutex<Vec<Value>>,
    /// If set, views to other sizes do not run.
    only_view: Option<u32>,
}

impl Runner for Known {
    fn ask(&self, request: &Value) -> Result<Value, String> {
        if let Some(graphs) = request["graphs"].as_array() {
            let runs = |graph: &Value| {
                let text = graph["graph"].to_string();
                !text.contains("\"view\"") || self.only_view.is_none_or(|size| text.contains(&size.to_string()))
            };
            let result = |graph| if runs(graph) { json!({"bytes": 1}) } else { json!({"error": "no view"}) };
            return Ok(json!({"results": graphs.iter().map(result).collect::<Vec<_>>()}));
        }
        let (inputs, nodes) = (request["inputs"].as_array().unwrap(), request["graph"]["nodes"].as_array().unwrap());
        let count = inputs.len() + nodes.len();
        if !request["shapes"].is_null() {
            self.varied.lock().unwrap().push(request["assignments"].clone());
            let cast = |dtype: &str| json!({"dtype": dtype, "types": vec![json!(dtype); count], "literals": []});
            return Ok(json!({"assignments": [], "dtypes": [cast("float32"), cast("bfloat16")]}));
        }
        assert_eq!(request["variants"], json!(false));
        let value = json!({"shape": inputs[0]["shape"], "dtype": inputs[0]["dtype"]});
        Ok(json!({"values": vec![value; count], "executed": true}))
    }
}

/// Six models of different widths. Their views have a number for the width, so each view is a structure; their other ops have the
/// same structure in all models.
fn models(root: &Path, known: &Known) -> Dataset {
    let samples = root.join("samples");
    for width in 8..14 {
        write_model(&samples, &format!("own/model{width}"), "v", 2, width);
    }
    let dataset = Dataset::at(root.join("dataset"));
    import_graphs(&dataset, &samples).unwrap();
    annotate(&dataset, known, &AnnotationLimits::default(), &|_, _| ()).unwrap();
    mine(&dataset, Method::SingleOps, &dataset).unwrap();
    dataset
}

fn suite(known: &Known, root: &Path, dataset: &Dataset, structures: f64) -> (Built, Dataset) {
    let plan = SuitePlan {
        name: "evaluation".to_owned(),
        kind: GraphKind::SingleOp,
        phase: Phase::Inference,
        tasks: 2,
        graphs: 6,
    };
    let shares = Shares { trivial: 1.0, language: 0.0, structures };
    let bounds = SuiteLimits { shares, ..SuiteLimits::default() };
    let out = Dataset::at(root.join(format!("suites-{structures}")));
    let runners = Runners { annotate: known, kernels: known, prove: known };
    let built = build(dataset, &[], runners, &[plan], &bounds, &out, &|_| ()).unwrap();
    (built, out.below("evaluation"))
}

fn tasks(suite: &Dataset) -> Vec<String> {
    suite.read::<TaskRow>(Table::Tasks).unwrap().map(|task| task.unwrap().ops.join(" ")).collect()
}

#[test]
fn sequences_with_several_structures_take_their_share_of_tasks() {
    let scratch = tempfile::tempdir().unwrap();
    let known = Known::default();
    let dataset = models(scratch.path(), &known);
    let (built, suite_with) = suite(&known, scratch.path(), &dataset, 0.5);
    assert!(built.notes.is_empty(), "{built:?}");
    assert_eq!(tasks(&suite_with).iter().filter(|ops| *ops == "Tensor.view").count(), 1);
    let (built, _) = suite(&known, scratch.path(), &dataset, 1.0);
    assert_eq!(
        built.notes,
        [
            "evaluation: tasks with 5 structures or more: 1 of 2, wanted: 2; the models of evaluation have as many for 1 of \
             4 op sequences, before proofs"
        ]
    );
}

#[test]
fn structures_that_do_not_run_do_not_count() {
    let scratch = tempfile::tempdir().unwrap();
    let known = Known { only_view: Some(11), ..Known::default() };
    let dataset = models(scratch.path(), &known);
    let (built, suite) = suite(&known, scratch.path(), &dataset, 0.5);
    assert_eq!(tasks(&suite).len(), 2);
    assert!(built.notes[0].starts_with("evaluation: tasks with 5 structures or more: 0 of 2, wanted: 1"), "{built:?}");
}

#[test]
fn a_task_gets_unchanged_graphs_of_five_structures_then_variants() {
    let scratch = tempfile::tempdir().unwrap();
    let known = Known::default();
    let dataset = models(scratch.path(), &known);
    assert!(known.varied.lock().unwrap().is_empty(), "annotation makes no variants");
    let (_, suite) = suite(&known, scratch.path(), &dataset, 0.5);
    let rows: Vec<SampleRow> = suite.read::<SampleRow>(Table::Subgraphs).unwrap().map(Result::unwrap).collect();
    let views: Vec<&SampleRow> = rows.iter().filter(|row| row.ops == ["Tensor.view"]).collect();
    let dtypes: Vec<DType> = views.iter().map(|row| row.inputs[0].dtype).collect();
    assert_eq!(dtypes[..5], [DType::Float16; 5]);
    assert!(dtypes.len() == 6 && dtypes[5] != DType::Float16, "{dtypes:?}");
    // Two casts per graph are enough for six graphs of five models, so no assignments of extents are asked for.
    let varied = known.varied.lock().unwrap();
    assert!(!varied.is_empty() && varied.iter().all(|assignments| *assignments == json!(0)), "{varied:?}");
}
