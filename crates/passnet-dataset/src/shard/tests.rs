use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use passnet_record::stages::{ShardManifest, ShardStage};
use serde_json::Value;

use super::work::method_of;
use super::{
    work::{OUTPUT, REPORT, STAGE, write_json},
    *,
};
use crate::{
    Dataset,
    annotate::{AnnotationLimits, annotate},
    folders::{find_samples, read_sample, write_sample},
    import::import_graphs,
    mine::mine,
};

const FOLD: ShardStage = ShardStage::Fold { min_ops: 2, end_ops: 8, reach: 2 };

/// Refuses every graph with a message that depends on the graph.
fn refuse(request: &Value) -> Result<Value, String> {
    Err(format!("refused: {} inputs", request["inputs"].as_array().map_or(0, Vec::len)))
}

/// Returns the files of a folder by path.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Splits a stage, runs all shards in reverse order, and returns their results.
fn run(stage: &ShardStage, dataset: &Dataset, samples: &Path, scratch: &Path, graphs: usize) -> Vec<ShardResult> {
    let shards = split(stage, dataset, samples, scratch, graphs).unwrap();
    // Equal data gives the same shards.
    assert_eq!(split(stage, dataset, samples, scratch, graphs).unwrap(), shards);
    for shard in shards.iter().rev() {
        let work = tempfile::tempdir().unwrap();
        for (path, bytes) in files(shard) {
            let place = work.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, bytes).unwrap();
        }
        run_shard(work.path(), &refuse).unwrap();
        fs::rename(work.path().join(OUTPUT), shard.join("result")).unwrap();
    }
    shards.into_iter().map(|shard| ShardResult { result: shard.join("result"), shard }).collect()
}

/// Writes samples: all graphs of a task, then two of them again.
fn write_samples(folder: &Path) {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/demo");
    let mut found = find_samples(&suite).unwrap();
    found.truncate(9);
    for (index, path) in found.iter().chain(&found[..2]).enumerate() {
        write_sample(folder, &format!("{index:02}"), &read_sample(&suite.join(path)).unwrap()).unwrap();
    }
}

#[test]
fn shards_of_any_size_give_the_files_of_one_machine() {
    let samples = tempfile::tempdir().unwrap();
    write_samples(samples.path());
    fs::write(samples.path().join("03/model.py"), "this is no module").unwrap();
    for graphs in [1, 3, 100] {
        let folder = tempfile::tempdir().unwrap();
        let (alone, spread) = (Dataset::at(folder.path().join("alone")), Dataset::at(folder.path().join("spread")));
        let scratch = |name: &str| folder.path().join(name);
        let same = || assert_eq!(files(alone.root()), files(spread.root()), "{graphs} graphs in a shard");

        let one = import_graphs(&alone, samples.path()).unwrap();
        let results = run(&ShardStage::Import, &spread, samples.path(), &scratch("import"), graphs);
        let merged = merge_import(&spread, samples.path(), &results).unwrap();
        assert_eq!((one.samples, &one.failures), (merged.samples, &merged.failures));
        assert_eq!(one.failures.len(), 1);
        same();

        let one = annotate(&alone, &refuse, &AnnotationLimits::default(), &|_, _| ()).unwrap();
        let stage = ShardStage::Annotate { max_bytes: 1 << 30, seconds: 300.0, memory_bytes: None, variants: false };
        let results = run(&stage, &spread, Path::new(""), &scratch("annotate"), graphs);
        let merged = merge_annotations(&spread, &results).unwrap();
        assert_eq!((one.failures.len(), one.failures), (10, merged.failures));
        same();
        // Nothing is left to annotate.
        assert!(split(&stage, &spread, Path::new(""), &scratch("again"), graphs).unwrap().is_empty());

        for stage in [FOLD, ShardStage::SingleOps] {
            let one = mine(&alone, method_of(&stage).unwrap().unwrap(), &alone).unwrap();
            let results = run(&stage, &spread, Path::new(""), &scratch("fold"), graphs);
            let merged = merge_mined(&stage, &results, &spread).unwrap();
            assert!(one.subgraphs > 0);
            assert_eq!(one.to_string(), merged.to_string());
            same();
        }
    }
}

#[test]
fn damaged_and_missing_results_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let (samples, dataset) = (folder.path().join("samples"), Dataset::at(folder.path().join("data")));
    write_samples(&samples);
    let results = run(&ShardStage::Import, &dataset, &samples, &folder.path().join("shards"), 4);
    let part = results[1].result.join("graphs/part-00000.parquet");
    let bytes = fs::read(&part).unwrap();
    let refused = || {
        assert!(!results[1].is_whole().unwrap());
        let error = merge_import(&dataset, &samples, &results).unwrap_err();
        assert!(matches!(error, ShardError::NoResult(path) if path == results[1].result));
        assert!(!dataset.root().exists());
    };
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    fs::write(&part, changed).unwrap();
    refused();
    fs::remove_file(&part).unwrap();
    refused();
    fs::write(&part, bytes).unwrap();
    fs::remove_file(results[1].result.join(REPORT)).unwrap();
    refused();
}

#[test]
fn another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let order = ShardManifest { version: "0.0.1".to_owned(), stage: FOLD };
    write_json(&folder.path().join(STAGE), &order).unwrap();
    let error = run_shard(folder.path(), &refuse).unwrap_err().to_string();
    assert!(error.starts_with("the driver has passnet 0.0.1"), "{error}");
}
