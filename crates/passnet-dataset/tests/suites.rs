//! Stages that run graphs, with a runner that knows the answers.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod models;

use std::path::Path;

use models::write_model;
use passnet_dataset::{
    Dataset, Table,
    annotate::{AnnotationLimits, Runner, annotate},
    fold::{CanonicalSettings, OpRange},
    import::import_graphs,
    kernels::{CountSettings, count_kernels},
    mine::{Method, mine},
    pipeline::Runners,
    store::{AnnotationRow, GraphKind, Hashes, Input, KernelsRow, SampleRow, SubgraphOrigin, TaskRow},
    suite::{
        Leak, Phase, Revised, Shares, Split, SuiteLimits, SuitePlan, TRAIN, build, leak_report, leaks, revise, withhold,
    },
};
use passnet_record::{DType, services::OVER_MEMORY};
use serde_json::{Value, json};

/// Answers for graphs whose values all have the shape of their first input: each op is a kernel, and every graph runs.
struct Known;

impl Runner for Known {
    fn ask(&self, request: &Value) -> Result<Value, String> {
        if let Some(graphs) = request["graphs"].as_array() {
            return Ok(json!({"results": vec![json!({"bytes": 1}); graphs.len()]}));
        }
        if !request["prefixes"].is_null() {
            return Ok(json!({"kernels": request["prefixes"], "compilations": 1}));
        }
        let (inputs, nodes) = (request["inputs"].as_array().unwrap(), request["graph"]["nodes"].as_array().unwrap());
        if !request["shapes"].is_null() {
            let types = vec![json!("float16"); inputs.len() + nodes.len()];
            let cast = json!({"dtype": "float16", "types": types, "literals": []});
            return Ok(json!({"assignments": [], "dtypes": [cast]}));
        }
        let value = json!({"shape": inputs[0]["shape"], "dtype": inputs[0]["dtype"]});
        Ok(json!({"values": vec![value; inputs.len() + nodes.len()], "executed": true}))
    }
}

/// One runner for all stages.
fn all(runner: &dyn Runner) -> Runners<'_> {
    Runners { annotate: runner, kernels: runner, prove: runner }
}

/// No bound on the classes of tasks.
const ANY: Shares = Shares { trivial: 1.0, language: 0.0, structures: 0.0 };

/// Answers like [`Known`], but no graph with an addition runs.
struct NoAdditions;

impl Runner for NoAdditions {
    fn ask(&self, request: &Value) -> Result<Value, String> {
        let Some(graphs) = request["graphs"].as_array() else { return Known.ask(request) };
        let adds = |graph: &Value| graph["graph"].to_string().contains("operator.add");
        let result = |graph| if adds(graph) { json!({"error": "no additions"}) } else { json!({"bytes": 1}) };
        Ok(json!({"results": graphs.iter().map(result).collect::<Vec<_>>()}))
    }
}

/// Answers like [`Known`], but graphs with an addition need more memory than a worker may take.
struct SmallWorkers;

impl Runner for SmallWorkers {
    fn ask(&self, request: &Value) -> Result<Value, String> {
        let Some(graphs) = request["graphs"].as_array() else { return Known.ask(request) };
        let adds = |graph: &Value| graph["graph"].to_string().contains("operator.add");
        let over = format!("{OVER_MEMORY}more than 1 GiB");
        let result = |graph| if adds(graph) { json!({"error": over}) } else { json!({"bytes": 1}) };
        Ok(json!({"results": graphs.iter().map(result).collect::<Vec<_>>()}))
    }

    fn width(&self) -> usize {
        3
    }
}

/// Annotated graphs of two widths and depths, and their classical subgraphs.
fn annotated(root: &Path) -> Dataset {
    let samples = root.join("samples");
    write_model(&samples, "own/a", "v", 6, 8);
    write_model(&samples, "other/b", "v", 1, 16);
    let dataset = Dataset::at(root.join("dataset"));
    import_graphs(&dataset, &samples).unwrap();
    let done = annotate(&dataset, &Known, &AnnotationLimits::default(), &|_, _| ()).unwrap();
    assert_eq!((done.graphs, done.failures.len()), (2, 0));
    mine(&dataset, Method::Canonical(CanonicalSettings::default()), &dataset).unwrap();
    dataset
}

fn rows<R: passnet_dataset::store::Row + 'static>(dataset: &Dataset, table: Table) -> Vec<R> {
    dataset.read(table).unwrap().map(Result::unwrap).collect()
}

#[test]
fn graphs_for_training_are_in_no_suite_for_evaluation() {
    let scratch = tempfile::tempdir().unwrap();
    let dataset = annotated(scratch.path());
    assert_eq!(rows::<AnnotationRow>(&dataset, Table::Annotations).len(), 2);
    mine(&dataset, Method::SingleOps, &dataset).unwrap();
    let out = Dataset::at(scratch.path().join("suites"));
    let plan = SuitePlan {
        name: "evaluation".to_owned(),
        kind: GraphKind::SingleOp,
        phase: Phase::Inference,
        tasks: 2,
        graphs: 4,
    };
    let bounds = SuiteLimits { training: vec!["other/".to_owned()], shares: ANY, ..SuiteLimits::default() };
    let built = build(&dataset, &[], all(&Known), &[plan], &bounds, &out, &|_| ()).unwrap();
    assert!(built.failures.is_empty() && built.refused.is_empty(), "{built:?}");
    let (eval, train) = (out.below("evaluation"), out.below(TRAIN));
    let origins = |dataset: &Dataset| -> Vec<String> {
        rows::<SampleRow>(dataset, Table::Subgraphs).iter().map(|row| row.origins[0].path.clone()).collect()
    };
    assert_eq!(origins(&eval).iter().filter(|path| path.starts_with("other/")).count(), 0);
    assert_eq!(built.suites[0].1, 2);
    assert!(origins(&train).iter().any(|path| path.starts_with("other/")));
    assert_eq!(leaks(std::slice::from_ref(&eval), &train).unwrap(), Leak::default());
    let report = leak_report(&[eval], &train, 1).unwrap();
    let suite = &report.suites[0];
    assert_eq!((suite.tasks, suite.inside.tasks, suite.around.tasks, suite.is_hard()), (2, 2, 0, false));
    assert!(suite.pairs.iter().all(|pair| pair.relation == "inside" && pair.ops == 1), "{report:?}");
}

/// A task with one graph that was cut from a range of ops of a model.
fn write_task(dataset: &Dataset, ops: &[&str], model: &str, start: u32) {
    let ops: Vec<String> = ops.iter().map(|&op| op.to_owned()).collect();
    let (id, path) = (ops.join("_"), format!("{}/0", ops.join("_")));
    let hashes = Hashes { structure: Some(format!("{model}/{start}/{id}")), ..Hashes::default() };
    let range = OpRange::new(start, start + u32::try_from(ops.len()).unwrap());
    let origins = vec![SubgraphOrigin { path: model.to_owned(), range }];
    let row = SampleRow { path: path.clone(), ops: ops.clone(), hashes, origins, ..SampleRow::default() };
    let mut writer = dataset.append(Table::Subgraphs).unwrap();
    writer.push(row).unwrap();
    writer.finish().unwrap();
    let mut writer = dataset.append(Table::Tasks).unwrap();
    writer.push(TaskRow { id, ops, graphs: vec![path], ..TaskRow::default() }).unwrap();
    writer.finish().unwrap();
}

#[test]
fn soft_leaks_are_sequences_in_longer_ones_families_and_places() {
    let scratch = tempfile::tempdir().unwrap();
    let [eval, train] = ["eval", "train"].map(|name| Dataset::at(scratch.path().join(name)));
    write_task(&eval, &["a", "b"], "timm/resnet18", 4);
    write_task(&eval, &["x", "a", "y", "z"], "timm/vit_tiny", 0);
    write_task(&eval, &["p", "q"], "timm/levit_128", 0);
    write_task(&train, &["a", "b", "c"], "timm/resnet18", 5);
    write_task(&train, &["a"], "torchvision/resnet50", 0);
    write_task(&train, &["q", "p"], "timm/vit_small", 0);
    let report = leak_report(std::slice::from_ref(&eval), &train, 2).unwrap();
    let json = serde_json::to_value(&report.suites[0]).unwrap();
    assert_eq!(json["inside"], json!({"tasks": 1, "half": 1, "by_ops": {"2": 1}}));
    // `a` is half of `a b` and a quarter of the other.
    assert_eq!(json["around"], json!({"tasks": 2, "half": 1, "by_ops": {"1": 2}}));
    let (share, pairs) = (2.0 / 3.0, json["pairs"].as_array().unwrap());
    assert_eq!(*pairs, [json!({"task": "a_b", "train": "a_b_c", "relation": "inside", "ops": 2, "share": share})]);
    assert_eq!(leak_report(std::slice::from_ref(&eval), &train, 1).unwrap().suites[0].pairs.len(), 3);
    let family = |eval, train| json!({"eval": eval, "train": train});
    assert_eq!(json["families"], json!({"resnet": family(1, 2), "vit": family(1, 1), "levit": family(1, 0)}));
    assert_eq!((&json["family_tasks"], &json["family_graphs"]), (&json!(2), &json!(2)));
    // Ops 4..6 and 5..8 of the same model.
    assert_eq!((&json["model_graphs"], &json["overlapping_graphs"]), (&json!(1), &json!(1)));
    assert!(!report.suites[0].is_hard());
    write_task(&train, &["p", "q"], "other/m", 0);
    let hard = leak_report(&[eval], &train, 2).unwrap();
    assert!(hard.suites[0].is_hard() && hard.suites[0].sequences.contains("p q"), "{hard:?}");
}

#[test]
fn graphs_that_do_not_run_are_in_no_suite_and_not_in_training() {
    let scratch = tempfile::tempdir().unwrap();
    let dataset = annotated(scratch.path());
    mine(&dataset, Method::SingleOps, &dataset).unwrap();
    let out = Dataset::at(scratch.path().join("suites"));
    let plan = SuitePlan {
        name: "evaluation".to_owned(),
        kind: GraphKind::SingleOp,
        phase: Phase::Inference,
        tasks: 1,
        graphs: 4,
    };
    let built = build(
        &dataset,
        &[],
        all(&NoAdditions),
        &[plan],
        &SuiteLimits { shares: ANY, ..SuiteLimits::default() },
        &out,
        &|_| (),
    )
    .unwrap();
    assert!(built.refused["no additions"] > 1, "{built:?}");
    let train = rows::<SampleRow>(&out.below(TRAIN), Table::Subgraphs);
    assert!(!train.is_empty() && train.iter().all(|row| !row.ops.contains(&"add".to_owned())), "{train:?}");
    assert_eq!(rows::<TaskRow>(&out.below(TRAIN), Table::Tasks).len(), built.suites[1].1);
}

#[test]
fn graphs_over_the_memory_limit_are_proven_again_by_the_next_call() {
    let scratch = tempfile::tempdir().unwrap();
    let dataset = annotated(scratch.path());
    mine(&dataset, Method::SingleOps, &dataset).unwrap();
    let bounds = SuiteLimits { shares: ANY, ..SuiteLimits::default() };
    let build = |runner: &dyn Runner, name: &str| {
        let out = Dataset::at(scratch.path().join(name));
        let built = build(&dataset, &[], all(runner), &[], &bounds, &out, &|_| ()).unwrap();
        let ops: Vec<Vec<String>> =
            rows::<TaskRow>(&out.below(TRAIN), Table::Tasks).into_iter().map(|t| t.ops).collect();
        (built, ops)
    };
    let (built, few) = build(&SmallWorkers, "few");
    assert!(built.refused.keys().any(|reason| reason.starts_with(OVER_MEMORY)), "{built:?}");
    let (built, all) = build(&Known, "all");
    assert!(built.refused.is_empty(), "{built:?}");
    assert!(few.len() < all.len() && all.iter().any(|ops| ops.contains(&"add".to_owned())), "{few:?} {all:?}");
}

#[test]
fn counting_continues_where_it_stopped() {
    let scratch = tempfile::tempdir().unwrap();
    let settings = |most| CountSettings { device: "cpu".to_owned(), exhaustive: true, most, longest: usize::MAX };
    let [whole, parts] = ["whole", "parts"].map(|name| annotated(&scratch.path().join(name)));
    let all = count_kernels(&whole, &Known, &settings(usize::MAX), &|_, _| ()).unwrap();
    assert!(all.subgraphs > 1 && all.compilations == all.ops, "{all:?}");
    let first = count_kernels(&parts, &Known, &settings(1), &|_, _| ()).unwrap();
    let rest = count_kernels(&parts, &Known, &settings(usize::MAX), &|_, _| ()).unwrap();
    assert_eq!((first.subgraphs, rest.present, rest.subgraphs), (1, 1, all.subgraphs - 1));
    let sorted = |dataset: &Dataset| {
        let mut rows = rows::<KernelsRow>(dataset, Table::Kernels);
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        rows
    };
    assert_eq!(sorted(&whole), sorted(&parts));
    let counts = |row: &KernelsRow| (1..=row.measured.compilations).collect::<Vec<_>>();
    assert!(sorted(&whole).iter().all(|row| row.measured.kernels == counts(row)));
}

/// A task of one graph with these ops in a suite.
fn task(suite: &str, ops: &[&str], extent: u64, domain: &str) -> (TaskRow, SampleRow) {
    let ops: Vec<String> = ops.iter().map(|&op| op.to_owned()).collect();
    let id = format!("{suite}-{}", ops.join("-"));
    let input = Input { name: "x".to_owned(), dtype: DType::Float32, shape: vec![extent] };
    let hashes =
        Hashes { ops: Some(format!("{:0>16}", ops.join(""))), structure: Some(ops.join(" ")), ..Hashes::default() };
    let graphs = vec![format!("{id}/000")];
    let row = SampleRow {
        path: graphs[0].clone(),
        domain: Some(domain.to_owned()),
        ops: ops.clone(),
        inputs: vec![input],
        hashes,
        ..SampleRow::default()
    };
    (TaskRow { id, ops, graphs, ..TaskRow::default() }, row)
}

fn suite(root: &Path, name: &str, tasks: &[(&[&str], u64, &str)]) -> Dataset {
    let suite = Dataset::at(root.join(name));
    let (mut table, mut graphs) = (suite.replace(Table::Tasks).unwrap(), suite.replace(Table::Subgraphs).unwrap());
    for (ops, extent, domain) in tasks {
        let (task, row) = task(name, ops, *extent, domain);
        table.push(task).unwrap();
        graphs.push(row).unwrap();
    }
    table.finish().unwrap();
    graphs.finish().unwrap();
    suite
}

fn sequences(suite: &Dataset) -> Vec<String> {
    rows::<TaskRow>(suite, Table::Tasks).iter().map(|task| task.ops.join(" ")).collect()
}

#[test]
fn a_revised_suite_keeps_its_shares_and_training_loses_what_it_evaluates() {
    let scratch = tempfile::tempdir().unwrap();
    let vision = "computer_vision";
    let old: [(&[&str], u64, &str); 5] = [
        (&["add", "relu"], 4_096, vision),
        (&["Tensor.view", "Tensor.transpose"], 4_096, vision),
        (&["exp"], 16, "nlp"),
        (&["exp", "add"], 4_096, vision),
        (&["mul", "add"], 4_096, vision),
    ];
    let old = suite(scratch.path(), "old", &old);
    let pool: [(&[&str], u64, &str); 5] = [
        (&["sigmoid"], 4_096, vision),
        (&["Tensor.view"], 4_096, "nlp"),
        (&["add", "relu"], 4_096, "nlp"),
        (&["softmax"], 4_096, "nlp"),
        (&["layer_norm"], 4_096, "nlp"),
    ];
    let pool = suite(scratch.path(), "pool", &pool);
    let other = suite(scratch.path(), "other", &[(&["layer_norm"], 4_096, "nlp")]);
    let out = Dataset::at(scratch.path().join("out"));
    let shares = Shares { trivial: 0.0, language: 0.25, structures: 0.0 };
    // Fewer tasks of language models than the share: those that there are.
    let most = Shares { trivial: 0.0, language: 0.9, structures: 0.0 };
    let revised = revise(&old, std::slice::from_ref(&pool), std::slice::from_ref(&other), 3, most, &out).unwrap();
    assert_eq!(revised, Revised { kept: 2, trivial: 2, crowded: 1, added: 1 });
    assert_eq!(sequences(&out), ["add relu", "exp add", "softmax"]);

    let revised = revise(&old, &[pool], &[other], 4, shares, &out).unwrap();
    assert_eq!(revised, Revised { kept: 3, trivial: 2, crowded: 0, added: 1 });
    assert_eq!(sequences(&out), ["add relu", "exp add", "mul add", "softmax"]);

    let train = suite(scratch.path(), "train", &[(&["softmax"], 8, "nlp"), (&["tanh"], 8, "nlp")]);
    assert_eq!(withhold(&train, &[out], Split::Place, &train).unwrap(), (1, 1));
    assert_eq!(sequences(&train), ["tanh"]);
}

#[test]
fn training_has_no_op_of_a_model_that_evaluation_has() {
    let scratch = tempfile::tempdir().unwrap();
    let cut = |name: &str, ops: &[&str], ranges: &[(&str, OpRange)]| {
        let dataset = suite(scratch.path(), name, &[(ops, 8, "nlp")]);
        let rows: Vec<SampleRow> = dataset.read(Table::Subgraphs).unwrap().map(Result::unwrap).collect();
        let rows = rows.into_iter().map(|row| {
            let origin = |&(path, range): &(&str, OpRange)| SubgraphOrigin { path: path.to_owned(), range };
            SampleRow { origins: ranges.iter().map(origin).collect(), ..row }
        });
        let mut writer = dataset.replace(Table::Subgraphs).unwrap();
        rows.for_each(|row| writer.push(row).unwrap());
        writer.finish().unwrap();
        dataset
    };
    let range = |start, end| OpRange { start, end };
    let eval = cut("eval", &["add", "relu"], &[("model", range(3, 5))]);
    for (ranges, removed) in [
        (vec![("model", range(5, 7)), ("other", range(3, 5))], (0, 0)),
        (vec![("other", range(0, 9)), ("model", range(4, 6))], (1, 1)),
    ] {
        let train = cut("train", &["tanh"], &ranges);
        assert_eq!(withhold(&train, std::slice::from_ref(&eval), Split::Place, &train).unwrap(), removed);
        assert_eq!(leak_report(std::slice::from_ref(&eval), &train, 2).unwrap().suites[0].overlapping_graphs, 0);
    }
}

/// Models on both sides, with heads and pieces, from samples to suites: no model is on both sides.
#[test]
fn whole_models_are_on_one_side_of_the_split() {
    let scratch = tempfile::tempdir().unwrap();
    let samples = scratch.path().join("samples");
    for (name, number) in ["gpt2", "bert", "opt", "llama", "t5", "clip", "vit", "xlnet"].into_iter().zip(0_u32..) {
        // Widths and depths differ, so that graphs are distinct and none counts as a copy of another model's.
        let (depth, width) = (2 + number as usize, 8 + number);
        write_model(&samples, &format!("transformers/{name}"), "v", depth, width);
        write_model(&samples, &format!("transformers/{name}-XForMaskedLM"), "v", depth, width + 32);
        write_model(&samples, &format!("transformers/{name}-num_layers=1-1a2b3c4d-batch2"), "v", depth, width + 64);
    }
    let dataset = Dataset::at(scratch.path().join("dataset"));
    import_graphs(&dataset, &samples).unwrap();
    annotate(&dataset, &Known, &AnnotationLimits::default(), &|_, _| ()).unwrap();
    mine(&dataset, Method::Canonical(CanonicalSettings::default()), &dataset).unwrap();
    mine(&dataset, Method::SingleOps, &dataset).unwrap();
    let plan =
        |name: &str, kind| SuitePlan { name: name.to_owned(), kind, phase: Phase::Inference, tasks: 1, graphs: 4 };
    let built = |split, name: &str| {
        let out = Dataset::at(scratch.path().join(name));
        let bounds = SuiteLimits { split, evaluated: 0.5, shares: ANY, ..SuiteLimits::default() };
        let plans = [plan("single", GraphKind::SingleOp), plan("classical", GraphKind::Classical)];
        build(&dataset, &[], all(&Known), &plans, &bounds, &out, &|_| ()).unwrap();
        let suites = plans.map(|plan| out.below(&plan.name));
        let report = leak_report(&suites, &out.below(TRAIN), 2).unwrap();
        (suites, out.below(TRAIN), report)
    };
    // The same models are on both sides unless whole models are split, so the counts below can differ from 0.
    let (suites, train, report) = built(Split::Place, "by-place");
    assert!(report.train_graphs > 0 && report.suites.iter().any(|suite| suite.model_graphs > 0), "{report:?}");
    let (_, removed) = withhold(&train, &suites, Split::Model, &train).unwrap();
    let after = leak_report(&suites, &train, 2).unwrap();
    assert!(removed > 0 && after.suites.iter().all(|suite| suite.model_graphs == 0), "{removed} {after:?}");

    let (_, _, report) = built(Split::Model, "by-model");
    assert!(report.suites.iter().all(|suite| suite.graphs > 0 && suite.model_graphs == 0), "{report:?}");
    let (_, _, report) = built(Split::Family, "by-family");
    assert!(report.suites.iter().all(|suite| suite.graphs > 0 && suite.family_graphs == 0), "{report:?}");
}
