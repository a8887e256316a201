//! Seeds of evaluations: secret until the verdict, and equal only if one is given.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod common;

use common::{fake_referee, graph};
use passnet_eval::Candidate;
use passnet_record::{PassDirectory, RunSettings};

const COPY: &str = r#"{"version": 1, "inputs": ["x"], "nodes": [{"name": "clone", "op": "call_function",
    "target": "torch.clone", "args": [{"ref": 0}], "kwargs": []}], "outputs": [{"ref": 1}]}"#;

#[test]
fn a_verdict_names_the_seed_that_it_drew_and_its_key_does_not_depend_on_it() {
    let sample = graph(COPY, &[("x", &[4, 4])]);
    let candidate = Candidate::Passes(PassDirectory::new([("behaviour", "honest")]).unwrap());
    let evaluate = |seed: Option<u64>| {
        let referee = fake_referee(|settings: &mut RunSettings| settings.seed = seed)?;
        assert_eq!(referee.settings().is_seeded(), seed.is_some());
        let verdicts = [(); 2].map(|()| referee.evaluate(&sample, &candidate).unwrap().verdict);
        assert_eq!(verdicts[0].key, verdicts[1].key);
        Some(verdicts.map(|verdict| (verdict.evidence.seed.unwrap(), verdict.key)))
    };
    let Some([(first, key), (second, _)]) = evaluate(None) else { return };
    assert_ne!(first, second);
    // A run that is continued in another process reuses its verdicts.
    assert_eq!(evaluate(None).unwrap()[0].1, key);
    let [(named, other_key), (again, _)] = evaluate(Some(7)).unwrap();
    assert_eq!((named, again), (7, 7));
    assert_ne!(other_key, key);
}
