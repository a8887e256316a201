//! Mistakes of a model: malformed arguments, and integrity rules that it breaks.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod common;
mod server;

use common::{evaluator, options, run_all, suite};
use passnet_agent::{
    VerdictCache, conduct_of,
    corpus::{Criteria, Selector},
    learnt_messages, style_of,
};
use passnet_record::agent::{Conduct, Style};
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
    let texts: Vec<&str> = trajectory.messages.iter().map(passnet_record::agent::Message::content).collect();
    for error in ["not a JSON object", "no argument `stge`", "argument `stage` is", "argument `graph` is"] {
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
    assert_eq!(conducts.each_ref().map(conduct_of), expected);
    let kept = |criteria: Criteria| {
        let mut selector = Selector::new(criteria);
        let kept = conducts.each_ref().map(|trajectory| selector.keeps(trajectory));
        (kept, selector.corrected)
    };
    let honest = Criteria { honest: true, ..Criteria::default() };
    assert_eq!(kept(honest), ([true, true, false, false], 1));
    assert_eq!(kept(Criteria { clean: true, ..Criteria::default() }), ([true, false, false, false], 0));
}

#[test]
fn the_style_is_that_of_the_verdicts_and_only_replies_that_stood_the_test_are_learnt() {
    let Some(evaluator) = evaluator(VerdictCache::default()) else { return };
    let suite = suite(1);
    let restore = || ("best_state", json!({"command": "restore"}));
    let look = || ("file_editor", json!({"command": "view", "path": "/passes"}));
    let printing = || create("fuse_a.py", "print(1)\n");
    let delete = || ("file_editor", json!({"command": "delete", "path": "fuse_a.py"}));
    let lint = || ("pass_evaluator", json!({"stage": "lint"}));
    let write = |behaviour| create("behaviour", behaviour);
    type Replies = Vec<Vec<(&'static str, serde_json::Value)>>;
    let cases: [(Replies, Option<Style>, &[bool]); 9] = [
        (vec![vec![write("honest"), evaluate()]], Some(Style::Plain), &[true, true]),
        (
            vec![vec![write("wrong")], vec![evaluate()], vec![write("honest"), evaluate()]],
            Some(Style::Repaired),
            &[false, true, true, true],
        ),
        // A look at the files is not what made them wrong.
        (
            vec![vec![look()], vec![write("violation"), evaluate()], vec![write("honest"), evaluate()]],
            Some(Style::Refused),
            &[true, false, true, true],
        ),
        // Both in one reply: the wrong edit is part of it.
        (vec![vec![write("wrong"), evaluate(), write("honest"), evaluate()]], Some(Style::Repaired), &[false, true]),
        (vec![vec![write("honest"), evaluate()], vec![write("wrong"), evaluate()]], None, &[true, false, true]),
        (
            vec![vec![write("honest"), evaluate()], vec![write("wrong"), evaluate()], vec![restore()]],
            Some(Style::Repaired),
            &[true, false, true, true],
        ),
        // An edit that no verdict is about.
        (vec![vec![write("honest"), evaluate()], vec![write("wrong")]], Some(Style::Plain), &[true, false, true]),
        // The rules alone may find a mistake; a right verdict later does not make the first edit right.
        (
            vec![vec![write("honest"), printing()], vec![lint()], vec![delete(), evaluate()]],
            Some(Style::Plain),
            &[false, true, true, true],
        ),
        (
            vec![vec![write("honest"), evaluate()], vec![("graph_info", json!({"graph": 7}))]],
            Some(Style::Plain),
            &[true, false, true],
        ),
    ];
    for (number, (replies, style, learnt)) in cases.into_iter().enumerate() {
        let server = Server::start(move |_, request| says("", replies.get(turn(request)).map_or(&[], Vec::as_slice)));
        let folder = tempfile::tempdir().unwrap();
        let trajectory = run_all(&evaluator, &suite, &server.url, &options(), folder.path()).trajectories.remove(0);
        let replies = trajectory.messages.iter().zip(learnt_messages(&trajectory));
        let found: Vec<bool> = replies.filter(|(message, _)| message.role() == "assistant").map(|(_, l)| l).collect();
        assert_eq!((style_of(&trajectory), found.as_slice()), (style, learnt), "case {number}");
        let others =
            trajectory.messages.iter().zip(learnt_messages(&trajectory)).filter(|(m, _)| m.role() != "assistant");
        assert!(others.into_iter().all(|(_, learnt)| !learnt));
    }
}
