//! The stages of a dataset that run PyTorch, through the command. Skipped, with a word why, without a Python or the data.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    collections::BTreeMap,
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
};

use passnet_dataset::{
    Dataset, Table,
    store::{Annotation, AnnotationRow, GraphKind, SampleRow, TaskRow},
    suite::{Leak, leak_report, leaks},
};
use passnet_record::TensorValue;
use serde_json::Value;

use crate::repository;

/// Small graphs of three fields, with embeddings among them.
const GRAPHS: [&str; 4] = [
    "transformers-auto-model/google/bert_uncased_L-2_H-128_A-2",
    "torchgeometric/GIN",
    "timm/resnet10t.c3_in1k",
    "timm/test_convnext2.r160_in1k",
];

fn shared(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("PASSNET_SHARED_DATA").map(PathBuf::from);
    let path = folder.unwrap_or_else(|| repository().join("../shared/data")).join(name);
    let content = std::fs::read(&path).ok();
    if content.is_none() {
        println!("skipped: {} is absent; set PASSNET_SHARED_DATA", path.display());
    }
    content
}

/// Unpacks some samples of the public corpus.
fn unpack(names: &[&str], out: &Path) -> Option<()> {
    if std::env::var_os("PASSNET_PYTHON").is_none() {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return None;
    }
    let bytes = shared("graphnet-public.tar.zst")?;
    std::fs::create_dir_all(out).unwrap();
    let mut decoder = zstd::Decoder::new(bytes.as_slice()).unwrap();
    decoder.window_log_max(27).unwrap();
    for entry in tar::Archive::new(decoder).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        if names.iter().any(|name| path.parent().is_some_and(|folder| folder.ends_with(name))) {
            entry.unpack_in(out).unwrap();
        }
    }
    Some(())
}

fn passnet(arguments: &[&str], code: i32) -> (String, String) {
    let output = crate::passnet(arguments);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
    (out, err)
}

fn annotations(dataset: &Dataset) -> BTreeMap<String, Result<Annotation, String>> {
    let rows = dataset.read::<AnnotationRow>(Table::Annotations).unwrap().map(Result::unwrap);
    rows.map(|row| (row.path, row.annotation)).collect()
}

/// Label, name, shape and dtype of a node; the last two are lists of them for what returns several tensors.
type GoldenNode = (String, String, Value, Value);

#[test]
fn annotations_agree_with_the_published_shapes_and_complete_subgraphs() {
    let scratch = tempfile::tempdir().unwrap();
    let (samples, data) = (scratch.path().join("in"), scratch.path().join("data"));
    if unpack(&GRAPHS, &samples).is_none() {
        return;
    }
    let mut golden = String::new();
    let bytes = shared("goldens/shape_prop_cpu.json.gz").unwrap();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut golden).unwrap();
    let golden: BTreeMap<String, Vec<GoldenNode>> = serde_json::from_str(&golden).unwrap();
    // A sample that lies about a shape costs itself.
    let liar = samples.join("samples/liar");
    copy(&samples.join("samples").join(GRAPHS[2]), &liar);
    let meta = std::fs::read_to_string(liar.join("weight_meta.py")).unwrap();
    std::fs::write(liar.join("weight_meta.py"), meta.replacen("shape = [24, 3, 3, 3]", "shape = [24, 5, 3, 3]", 1))
        .unwrap();

    let (samples, data) = (samples.to_str().unwrap(), data.to_str().unwrap());
    passnet(&["dataset", "import", samples, "--out", data], 0);
    let (_, err) = passnet(&["dataset", "annotate", data], 1);
    assert!(err.contains("samples/liar") && err.contains("op `"), "{err}");
    let (out, _) = passnet(&["dataset", "annotate", data], 1);
    assert!(out.starts_with("0 graphs annotated"), "{out}");

    let dataset = Dataset::at(data);
    let annotations = annotations(&dataset);
    for graph in GRAPHS {
        let annotation = annotations[&format!("samples/{graph}")].as_ref().unwrap();
        assert!(annotation.executed, "{graph}");
        let nodes = golden[graph].iter().filter(|(label, ..)| label != "output" && label != "placeholder");
        let inputs = annotation.values.len() - nodes.clone().count();
        for ((_, name, shape, dtype), value) in nodes.zip(&annotation.values[inputs..]) {
            let shape = serde_json::from_value::<Vec<u64>>(shape.clone());
            let (Ok(shape), Some(dtype)) = (shape, dtype.as_str()) else { continue };
            let value = value.as_ref().unwrap_or_else(|| panic!("{graph}: {name} has no type"));
            assert_eq!((&value.shape, format!("torch.{}", value.dtype)), (&shape, dtype.to_owned()), "{graph}: {name}");
        }
    }

    passnet(&["dataset", "fold", data], 0);
    let rows: Vec<SampleRow> = dataset.read(Table::Subgraphs).unwrap().map(Result::unwrap).collect();
    assert!(rows.iter().filter(|row| row.origins[0].path != "samples/liar").all(|row| !row.inputs.is_empty()));
    let embeddings = rows.iter().filter(|row| row.ops.iter().any(|op| op == "embedding") && !row.inputs.is_empty());
    assert!(embeddings.map(check_indices).sum::<usize>() > 0);
}

/// Indices of a subgraph with embeddings lie inside its largest table.
fn check_indices(row: &SampleRow) -> usize {
    let text = row.files.text("weight_meta.py").unwrap();
    let tensors = passnet_graphnet::metas::parse("weight_meta.py", text).unwrap();
    let table = tensors.iter().filter(|t| t.shape.len() == 2 && t.name.starts_with("w_")).map(|t| t.shape[0]).max();
    let indices = tensors.iter().filter(|tensor| tensor.dtype.name() == "int64");
    let largest = indices.filter_map(|tensor| {
        let literal =
            |value: &TensorValue| if let TensorValue::Int(value) = value { Some(*value as f64) } else { None };
        let literals = tensor.data.iter().flatten().filter_map(literal).reduce(f64::max);
        tensor.max_val.or(literals)
    });
    largest.map(|largest| assert!(table.is_none_or(|rows| largest < rows as f64), "{}: {largest}", row.path)).count()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn the_published_suites_share_nothing_with_training() {
    let suites = repository().join("suites");
    let eval: Vec<Dataset> =
        ["f", "c", "s", "b"].map(|kind| Dataset::at(suites.join(format!("passbench-{kind}")))).into();
    assert!(
        eval.iter().all(|suite| !suite.parts(Table::Tasks).unwrap().is_empty()),
        "run `passnet dataset build-suites`"
    );
    let train = Dataset::at(suites.join("passbench-train"));
    assert_eq!(leaks(&eval, &train).unwrap(), Leak::default());
    assert!(train.rows::<TaskRow>(Table::Tasks).unwrap() >= 1_600);
    let report = leak_report(&eval, &train, 2).unwrap();
    assert!(report.suites.iter().all(|suite| suite.overlapping_graphs == 0), "{:#?}", report.suites[0].pairs.first());
    for (suite, kind) in eval.iter().zip([GraphKind::Fusible, GraphKind::Classical, GraphKind::SingleOp]) {
        for row in suite.read::<SampleRow>(Table::Subgraphs).unwrap() {
            let row = row.unwrap();
            assert_eq!(row.kind, kind, "{}", row.path);
            assert!(!row.inputs.is_empty() && row.hashes.structure.is_some(), "{}", row.path);
        }
    }
}

/// A sample whose `weight_meta.py` does not compress.
fn write_sample(folder: &Path, seed: u64) {
    std::fs::create_dir_all(folder).unwrap();
    let model = "import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        \
                 y = torch.relu(x)\n        return (y,)\n";
    let mut state = seed + 1;
    let mut literal = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:.12}", (state >> 11) as f64 / (1_u64 << 53) as f64)
    };
    let data: Vec<String> = (0..8_000).map(|_| literal()).collect();
    let meta = format!(
        "class Program_weight_tensor_meta_x:\n    name = \"x\"\n    shape = [8000]\n    dtype = \"torch.float32\"\n    \
         device = \"cpu\"\n    mean = 0.5\n    std = 0.3\n    data = [{}]\n",
        data.join(", ")
    );
    for (name, text) in [("model.py", model), ("weight_meta.py", &meta), ("graph_net.json", "{}")] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn a_full_disk_is_named_and_costs_nothing_that_was_written() {
    let scratch = tempfile::tempdir().unwrap();
    let (samples, data) = (scratch.path().join("samples"), scratch.path().join("data"));
    write_sample(&samples.join("a"), 0);
    let (samples_text, data_text) = (samples.to_str().unwrap(), data.to_str().unwrap());
    passnet(&["dataset", "import", samples_text, "--out", data_text], 0);
    (1..20).for_each(|index| write_sample(&samples.join(format!("b{index}")), index));
    // A limit on the size of files simulates a full disk. The signal that comes with the limit is ignored, because a full disk
    // sends none.
    let script = format!(
        "trap '' XFSZ; ulimit -f 200; exec {} dataset import {samples_text} --out {data_text}",
        env!("CARGO_BIN_EXE_passnet")
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("part-00001.parquet") && err.contains("was not written"), "{err}");
    let dataset = Dataset::at(&data);
    let paths = || dataset.read::<SampleRow>(Table::Graphs).unwrap().filter(Result::is_ok).count();
    assert_eq!(paths(), 1);
    let (out, _) = passnet(&["dataset", "import", samples_text, "--out", data_text], 0);
    assert!(out.starts_with("19 samples"), "{out}");
    assert_eq!(paths(), 20);
}

#[test]
fn a_damaged_file_is_named_once_and_does_not_hide_the_others() {
    let scratch = tempfile::tempdir().unwrap();
    let (samples, data) = (scratch.path().join("samples"), scratch.path().join("data"));
    let (samples_text, data_text) = (samples.to_str().unwrap(), data.to_str().unwrap());
    for (seed, name) in ["first", "second"].into_iter().enumerate() {
        write_sample(&samples.join(name), seed as u64);
        passnet(&["dataset", "import", samples_text, "--out", data_text], 0);
    }
    let part = data.join("graphs/part-00000.parquet");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[1_000..2_000].fill(0x55);
    std::fs::write(&part, bytes).unwrap();
    let (out, _) = passnet(&["dataset", "show", data_text, "second"], 0);
    assert!(out.starts_with("second\n"), "{out}");
    let (_, err) = passnet(&["dataset", "show", data_text, "first"], 1);
    assert!(err.contains("part-00000.parquet: row group 0 (rows 0..1) is damaged"), "{err}");
    let (out, err) = passnet(&["dataset", "stats", data_text], 1);
    assert!(out.starts_with("1 sample,"), "{out}");
    assert_eq!(err.matches("part-00000.parquet").count(), 1, "{err}");
}

/// The tutorial's script, from a model to a verdict, on the smallest model of timm.
#[test]
fn the_tutorial_goes_from_a_model_to_a_verdict() {
    if super::is_left_out() {
        return;
    }
    let Some(python) = std::env::var_os("PASSNET_PYTHON") else {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
        return;
    };
    if !Command::new(&python).args(["-c", "import timm"]).output().unwrap().status.success() {
        println!("skipped: timm is not installed");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let tutorial = || {
        let mut script = Command::new("bash");
        script.arg("docs/guides/dataset.sh").arg(scratch.path()).arg("timm:test_resnet");
        script.current_dir(repository()).env("PASSNET", env!("CARGO_BIN_EXE_passnet"));
        let output = script.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    let first = tutorial();
    assert!(first.contains("shared by evaluation and training: 0 structures, 0 op sequences"), "{first}");
    let page = std::fs::read_to_string(scratch.path().join("suites/passbench-f/README.md")).unwrap();
    assert!(page.starts_with("---\nlicense:") && page.contains("data_files: subgraphs/*.parquet"), "{page}");
    assert!(scratch.path().join("run/run.jsonl.zst").is_file());
    // Existing files are not made again.
    assert!(tutorial().contains("0 graphs imported, 1 already existed"));
}
