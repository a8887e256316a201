//! Mistakes of a model: malformed arguments, and integrity rules that it breaks.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod common;
mod server;

use common::{evaluator, options, run_all, suite};
use passnet_agent::{
    Conduct, Trajectory, VerdictCache,
    corpus::{Criteria, Selector},
};
use serde_json::json;
use server::{Server, create, evaluate, says, turn};

#[test]
fn malformed_arguments_are_an_error_and_evaluate_nothing() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let server = Server::start(|_, request| match turn(request) {
        0 => says(
            "",
            &[
                create("behaviour", "honest"),
                ("pass_evaluator", json!("{\"stage\": chek")),
                ("pass_evaluator", json!({"stge": "check"})),
                ("pass_evaluator", json!({"stage": 3})),
                ("profile", json!("graph 000")),
                ("graph_info", json!({"graph": 7})),
            ],
        ),
        _ => says("done", &[]),
    });
    let (suite, folder) = (suite(1), tempfile::tempdir().unwrap());
    let trajectory = run_all(&evaluator, &suite, &server.url, &options(), folder.path()).trajectories.remove(0);
    let tools: Vec<_> = trajectory.steps.iter().flat_map(|step| &step.tools).collect();
    assert_eq!(tools.iter().map(|tool| tool.outcome.ok).collect::<Vec<_>>(), [true, false, false, false, false, false]);
    assert!(tools.iter().all(|tool| tool.outcome.evaluation.is_none() && tool.outcome.check.is_none()));
    let texts: Vec<&str> = trajectory.messages.iter().map(passnet_agent::Message::content).collect();
    for error in ["not a JSON object", "no argument `stge`", "`stage` is not text", "`graph` is not text"] {
        assert!(texts.iter().any(|text| text.starts_with("error: ") && text.contains(error)), "{error}: {texts:?}");
    }
}

#[test]
fn a_corrected_slip_is_labelled_and_kept_and_a_last_cheat_is_not() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let suite = suite(1);
    let attempt = |first: &'static str, last: &'static str| {
        let server = Server::start(move |_, request| match turn(request) {
            0 => says("", &[create("behaviour", first), evaluate()]),
            1 => says("", &[create("behaviour", last), evaluate()]),
            _ => says("done", &[]),
        });
        let folder = tempfile::tempdir().unwrap();
        run_all(&evaluator, &suite, &server.url, &options(), folder.path()).trajectories.remove(0)
    };
    let conducts = [("honest", "honest"), ("violation", "honest"), ("honest", "violation"), ("violation", "violation")]
        .map(|(first, last)| attempt(first, last));
    let expected = [Conduct::Clean, Conduct::Corrected, Conduct::Broken, Conduct::Broken];
    assert_eq!(conducts.each_ref().map(Trajectory::conduct), expected);
    let kept = |criteria: Criteria| {
        let mut selector = Selector::new(criteria);
        let kept = conducts.each_ref().map(|trajectory| selector.keeps(trajectory));
        (kept, selector.corrected)
    };
    let honest = Criteria { honest: true, ..Criteria::default() };
    assert_eq!(kept(honest), ([true, true, false, false], 1));
    assert_eq!(kept(Criteria { clean: true, ..Criteria::default() }), ([true, false, false, false], 0));
}
