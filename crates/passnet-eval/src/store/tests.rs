use passnet_record::{
    AuthorSpec, CacheMode, Cost, Evidence, ExecutionPath, Fingerprint, GraphId, RunSettings, SCHEMA_VERSION, Status,
};

use super::*;

fn header() -> RunHeader {
    RunHeader {
        schema_version: SCHEMA_VERSION,
        run: "r".to_owned(),
        suite: "demo".to_owned(),
        suite_version: "1".to_owned(),
        graphs: 3,
        author: AuthorSpec::Noop,
        settings: RunSettings {
            mode: "sound".to_owned(),
            device: "cpu".to_owned(),
            seed: 1,
            warmup: 25,
            trials: 100,
            rounds: 10,
            check_rounds: 3,
            adversarial: vec!["zeros".to_owned()],
            correct_at: -5,
            paths: vec![ExecutionPath::Direct],
            cache: CacheMode::Warm,
            max_iqr_ratio: 0.2,
            max_remeasure: 3,
            threads: 1,
            timeout_s: 60.0,
            memory_bytes: 0,
        },
        fingerprint: Fingerprint::default(),
        started: now_rfc3339(),
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
fn a_run_goes_on_after_any_torn_line() {
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
fn a_child_that_shares_the_lock_does_not_keep_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = RunStore::open(directory.path(), &header()).unwrap();
    let shared = store._lock.0.try_clone().unwrap();
    drop(store);
    RunStore::open(directory.path(), &header()).unwrap();
    drop(shared);
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
fn dates() {
    assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
    assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
    assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
    assert_eq!(rfc3339(1_798_761_599), "2026-12-31T23:59:59Z");
}
