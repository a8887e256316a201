//! Runs over a suite of real graphs.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::{
    collections::BTreeSet,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::common::referee;
use passnet_eval::{Candidate, Progress, Submission, run_suite};
use passnet_record::{AuthorSpec, Status};
use passnet_run::{RunLog, Selection, Suite};

/// The bundled suite.
fn demo() -> Suite {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/demo");
    Suite::load(&path, &Selection { tasks: Some(4), graphs: Some(2), ..Selection::default() }).unwrap()
}

#[test]
fn a_run_can_be_interrupted_and_continued() {
    let Some(referee) = referee(|_| ()) else { return };
    let suite = demo();
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("noop");
    let stop = AtomicBool::new(false);
    let after_two = |progress: Progress<'_>| {
        if let Progress::Done { done: 2, .. } = progress {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let noop = Submission::uniform(AuthorSpec::new("noop", None), &Candidate::Noop, &suite);
    let eager = Submission::uniform(AuthorSpec::new("eager", None), &Candidate::Eager, &suite);
    let first = run_suite(&referee, &suite, &noop, &run, &stop, &after_two).unwrap();
    assert_eq!((first.verdicts.len(), first.complete, first.reused), (2, false, 0));

    let second = run_suite(&referee, &suite, &noop, &run, &AtomicBool::new(false), &|_| ()).unwrap();
    assert_eq!((second.complete, second.reused), (true, 2));
    let log = RunLog::read(&run).unwrap();
    assert!(log.finished);
    let ids: BTreeSet<_> = log.verdicts().iter().map(|verdict| verdict.id.clone()).collect();
    assert_eq!(ids, suite.graphs().collect());
    for verdict in log.verdicts() {
        println!(
            "{} {:?} {:?} {:?} {:?}",
            verdict.id.task, verdict.status, verdict.reason, verdict.evidence.notes, verdict.cost
        );
        assert!(matches!(verdict.status, Status::Correct | Status::Unstable), "{:?}", verdict.reason);
        assert_eq!(verdict.timings.len(), 4, "two paths, two baselines each: {:?}", verdict.evidence.notes);
        for timing in &verdict.timings {
            let raw = passnet_run::blob_path(&run, timing.raw.as_ref().unwrap());
            assert!(raw.is_file());
        }
    }

    let third = run_suite(&referee, &suite, &noop, &run, &AtomicBool::new(false), &|_| ()).unwrap();
    assert_eq!(third.reused, suite.graphs().count());
    let error = run_suite(&referee, &suite, &eager, &run, &AtomicBool::new(false), &|_| ()).unwrap_err();
    assert!(error.to_string().contains("author.kind"), "{error}");
}
