use passnet_record::{
    AuthorSpec, CacheMode, ContentId, Cost, Device, Evidence, ExecutionPath, Fingerprint, GraphId, Mode, RunEvent,
    RunHeader, RunMetadata, RunSettings, SCHEMA_VERSION, Status, Verdict, WritingCost,
};

use fs_err as fs;

use super::{
    reader::{LOG, PACKED_LOG},
    *,
};
use crate::{blob_path, now_rfc3339};

fn header() -> RunHeader {
    RunHeader {
        schema_version: SCHEMA_VERSION,
        run: "r".to_owned(),
        suite: "demo".to_owned(),
        suite_version: "1".to_owned(),
        graphs: 3,
        author: AuthorSpec::new("noop", None),
        settings: RunSettings {
            mode: Mode::Sound,
            device: Device::Cpu,
            seed: Some(1),
            warmup: 25,
            trials: 100,
            rounds: 10,
            pairs: 2,
            check_rounds: 3,
            adversarial: vec!["zeros".to_owned()],
            correct_at: -5,
            paths: vec![ExecutionPath::Direct],
            weights: passnet_record::Weights::Inputs,
            cache: CacheMode::Warm,
            max_fluctuation: 0.2,
            max_remeasure: 3,
            threads: 1,
            timeout_s: 60.0,
            memory_bytes: 0,
        },
        fingerprint: Fingerprint::default(),
        started: now_rfc3339(),
        metadata: RunMetadata::default(),
    }
}

fn verdict(graph: &str) -> Verdict {
    Verdict {
        schema_version: SCHEMA_VERSION,
        id: GraphId { task: "t".to_owned(), graph: graph.to_owned() },
        key: ContentId::of(graph.as_bytes()),
        status: Status::Correct,
        reason: None,
        tolerance: Some(-10),
        outputs: Vec::new(),
        timings: Vec::new(),
        evidence: Evidence::default(),
        cost: Cost::default(),
    }
}

#[test]
fn a_run_continues_after_any_torn_line() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = RunStore::open(directory.path(), &header()).unwrap();
    store.append(&RunEvent::Verdict(Box::new(verdict("a")))).unwrap();
    let whole = fs::read(directory.path().join(LOG)).unwrap();
    store.append(&RunEvent::Verdict(Box::new(verdict("b")))).unwrap();
    drop(store);
    let longer = fs::read(directory.path().join(LOG)).unwrap();
    for cut in whole.len()..longer.len() {
        fs::write(directory.path().join(LOG), &longer[..cut]).unwrap();
        assert_eq!(RunLog::read(directory.path()).unwrap().verdicts().len(), 1);
        let store = RunStore::open(directory.path(), &header()).unwrap();
        assert!(store.verdict(&verdict("a").key, &verdict("a").id).is_some());
        assert!(store.verdict(&verdict("b").key, &verdict("b").id).is_none(), "cut at {cut}");
        drop(store);
        let log = RunLog::read(directory.path()).unwrap();
        assert_eq!((log.events.len(), log.finished), (3, false));
    }
}

#[test]
fn finished_runs_are_compressed_and_can_be_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = RunStore::open(directory.path(), &header()).unwrap();
    store.append(&RunEvent::Verdict(Box::new(verdict("a")))).unwrap();
    store.finish(5).unwrap();
    assert!(!directory.path().join(LOG).exists());
    let log = RunLog::read(directory.path()).unwrap();
    assert!(log.finished && log.header.suite == "demo");
    let store = RunStore::open(directory.path(), &header()).unwrap();
    assert!(store.verdict(&verdict("a").key, &verdict("a").id).is_some());
    store.finish(6).unwrap();
    assert_eq!(RunLog::read(directory.path()).unwrap().verdicts().len(), 1);
}

#[test]
fn another_header_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    drop(RunStore::open(directory.path(), &header()).unwrap());
    let mut other = header();
    other.settings.trials = 7;
    let error = RunStore::open(directory.path(), &other).unwrap_err().to_string();
    assert!(error.contains("settings.trials 100, now it is 7"), "{error}");
}

#[test]
fn there_is_one_writer() {
    let directory = tempfile::tempdir().unwrap();
    let first = RunStore::open(directory.path(), &header()).unwrap();
    assert!(matches!(RunStore::open(directory.path(), &header()), Err(StoreError::Locked { .. })));
    drop(first);
    RunStore::open(directory.path(), &header()).unwrap();
}

#[test]
fn a_spoilt_line_is_named() {
    let directory = tempfile::tempdir().unwrap();
    drop(RunStore::open(directory.path(), &header()).unwrap());
    let path = directory.path().join(LOG);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"event\": \"verdict\", rubbish\n");
    fs::write(&path, text).unwrap();
    let error = RunLog::read(directory.path()).unwrap_err().to_string();
    assert!(error.contains("run.jsonl:2:"), "{error}");
}

#[test]
fn blobs_are_named_by_content() {
    let directory = tempfile::tempdir().unwrap();
    let store = RunStore::open(directory.path(), &header()).unwrap();
    let id = store.put_blob(b"bytes").unwrap();
    assert_eq!(id, store.put_blob(b"bytes").unwrap());
    assert_eq!(fs::read(blob_path(directory.path(), &id)).unwrap(), b"bytes");
}

#[test]
fn a_log_that_is_cut_short_is_named_and_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = RunStore::open(directory.path(), &header()).unwrap();
    store.append(&RunEvent::Verdict(Box::new(verdict("a")))).unwrap();
    store.finish(5).unwrap();
    let path = directory.path().join(PACKED_LOG);
    let packed = fs::read(&path).unwrap();
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    for error in [
        RunLog::read(directory.path()).unwrap_err(),
        RunStore::open(directory.path(), &header()).map(drop).unwrap_err(),
    ] {
        let message = error.to_string();
        assert!(matches!(error, StoreError::Damaged { .. }), "{message}");
        assert!(message.contains("run.jsonl.zst") && message.contains("--fresh"), "{message}");
    }
    assert_eq!(fs::read(&path).unwrap().len(), packed.len() / 2);
}

#[test]
fn a_description_is_kept_until_another_replaces_it() {
    let directory = tempfile::tempdir().unwrap();
    let named = |name: &str| {
        let metadata = RunMetadata { name: name.to_owned(), ..RunMetadata::default() };
        RunHeader { metadata, ..header() }
    };
    for (given, kept) in [("", ""), ("first", "first"), ("", "first"), ("second", "second")] {
        drop(RunStore::open(directory.path(), &named(given)).unwrap());
        assert_eq!(RunLog::read(directory.path()).unwrap().header.metadata.name, kept);
    }
}

#[test]
fn the_tokens_of_a_model_and_the_description_are_kept_separately() {
    let directory = tempfile::tempdir().unwrap();
    let writing = |input_tokens| Some(WritingCost { input_tokens, ..WritingCost::default() });
    let stated = |name: &str, price, writing| {
        let metadata =
            RunMetadata { name: name.to_owned(), device_usd_per_hour: price, writing, ..RunMetadata::default() };
        RunHeader { metadata, ..header() }
    };
    for given in [stated("first", Some(2.0), writing(5)), stated("", None, writing(9))] {
        drop(RunStore::open(directory.path(), &given).unwrap());
    }
    assert_eq!(
        RunLog::read(directory.path()).unwrap().header.metadata,
        stated("first", Some(2.0), writing(9)).metadata
    );
}

#[test]
fn logs_without_a_description_load() {
    let text = serde_json::to_value(RunEvent::Started(Box::new(header()))).unwrap();
    assert!(text.get("metadata").is_none());
    let log = RunLog::parse("run.jsonl".as_ref(), format!("{text}\n").as_bytes()).unwrap();
    assert!(log.header.metadata.is_empty());
}
