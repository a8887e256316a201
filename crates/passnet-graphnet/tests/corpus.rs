//! Every kind of text in the public samples: about 150 of them by default, all with `PASSNET_FULL=1`.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use passnet_graph::SliceOrder;
use passnet_graphnet::{
    Sample, graph_module, metas, rename,
    sample::{SampleTexts, read_sample_dir, write_sample_dir},
    unparse,
};
use support::{for_each_sample, golden, index};

const SAMPLES: &str = "graphnet-public.tar.zst";
const STRIDE: usize = 11;

/// Of 100 tasks with 1,021 graphs.
const TASKS: &str = "passbench-public.tar.zst";

fn check_round_trip(name: &str, text: &str) {
    let graph = graph_module::parse_by_tree(name, text).unwrap_or_else(|error| panic!("{error}"));
    assert!(graph_module::parse_quickly(text).as_ref() == Some(&graph), "{name} is read otherwise by the quick reader");
    let printed = graph_module::print(&graph);
    let again = graph_module::parse_by_tree("printed", &printed).unwrap_or_else(|error| panic!("{name}\n{error}"));
    assert!(graph == again, "{name} changes when it is printed and read again");
    assert!(graph_module::parse_quickly(&printed) == Some(again), "{name} is read otherwise once it is printed");
    assert_eq!(unparse::unparse("printed", &printed).unwrap(), printed, "{name} is not printed in normal form");
}

#[test]
fn models_survive_printing() {
    for_each_sample(SAMPLES, STRIDE, |name, files| check_round_trip(name, &files["model.py"]));
    for_each_sample(TASKS, 5, |name, files| {
        if let Some(text) = files.get("model.py") {
            check_round_trip(name, text);
        }
    });
}

#[test]
fn op_names_are_those_of_the_reference() {
    let Some(golden) = golden("op_names_static.json.gz") else { return };
    for_each_sample(SAMPLES, STRIDE, |name, files| {
        let graph = graph_module::parse(name, &files["model.py"]).unwrap();
        assert_eq!(serde_json::json!(graph.op_names()), golden[name], "{name}");
    });
}

#[test]
fn samples_survive_writing() {
    for_each_sample(SAMPLES, STRIDE, |name, files| {
        let text = |file: &str| files.get(file).map(String::as_str);
        // Five public samples came without their metas.
        let Some(weight_meta) = text("weight_meta.py") else { return };
        let texts = SampleTexts {
            path: name,
            model: &files["model.py"],
            weight_meta,
            input_meta: text("input_meta.py"),
            graph_net: text("graph_net.json"),
            constraints: text("input_tensor_constraints.py"),
            graph_hash: text("graph_hash.txt"),
        };
        let sample = Sample::parse(&texts).unwrap_or_else(|error| panic!("{error}"));
        let dir = tempfile::tempdir().unwrap();
        write_sample_dir(dir.path(), &sample).unwrap();
        let again = read_sample_dir(dir.path()).unwrap_or_else(|error| panic!("{name}\n{error}"));
        // NaN is not equal to itself, but prints alike.
        assert_eq!(format!("{:?}", again.tensors), format!("{:?}", sample.tensors), "{name}");
        assert_eq!((again.meta, again.constraints), (sample.meta, sample.constraints), "{name}");
        assert_eq!((again.graph_hash, again.graph), (sample.graph_hash, sample.graph), "{name}");
    });
}

#[test]
fn normal_and_renamed_texts_are_those_of_python() {
    let Some(golden) = golden("rename_hash.json.gz") else { return };
    let golden = &golden["samples"];
    for_each_sample(SAMPLES, STRIDE, |name, files| {
        let text = &files["model.py"];
        let expected = &golden[name];
        let normal = rename::sha256_hex(&unparse::unparse(name, text).unwrap());
        assert_eq!(normal, expected["unparse_sha256"], "normal form of {name}");
        let renamed = rename::sha256_hex(&rename::alpha_renamed(name, text).unwrap());
        assert_eq!(renamed, expected["renamed_sha256"], "renamed form of {name}");
    });
}

/// The public tasks were cut out of the public samples; `index.json` says where. Some come from another capture of the
/// same model, in which values have other numbers in their names; those are left out.
#[test]
fn slices_are_those_of_the_public_tasks() {
    let Some(index) = index(TASKS) else { return };
    let mut models: BTreeMap<String, Vec<(String, Range<usize>)>> = BTreeMap::new();
    for entry in index.as_object().unwrap().values().flat_map(|task| task["entries"].as_array().unwrap()) {
        let text = |key: &str| entry[key].as_str().unwrap();
        let bound = |side: usize| entry["range"][side].as_u64().unwrap() as usize;
        let parent = format!("{}/{}", text("source"), text("model"));
        models.entry(parent).or_default().push((text("dir").to_owned(), bound(0)..bound(1)));
    }
    let mut slices = BTreeMap::new();
    for_each_sample(SAMPLES, 3, |name, files| {
        let Some(ranges) = models.get(name) else { return };
        let parent = graph_module::parse(name, &files["model.py"]).unwrap();
        for (dir, range) in ranges {
            slices.insert(dir.clone(), parent.slice(range.clone(), SliceOrder::ByName).unwrap());
        }
    });
    let (mut compared, mut found) = (0, 0);
    for_each_sample(TASKS, 1, |name, files| {
        let Some(slice) = slices.get(name) else { return };
        let task = graph_module::parse(name, &files["model.py"]).unwrap();
        let tensors = metas::parse(name, &files["weight_meta.py"]).unwrap();
        let originals: Vec<_> = tensors.iter().map(|tensor| tensor.original_name.as_deref().unwrap()).collect();
        let names: Vec<_> = slice.graph.input_names().collect();
        found += 1;
        if BTreeSet::from_iter(&names) == BTreeSet::from_iter(&originals) {
            compared += 1;
            assert_eq!(names, originals, "{name}");
            assert_eq!(slice.graph.op_names(), task.op_names(), "{name}");
            assert_eq!(format!("{:?}", slice.graph.outputs()), format!("{:?}", task.outputs()), "{name}");
        }
    });
    assert!(compared * 10 >= found * 8, "{compared} of {found} tasks have the names of the samples");
}
