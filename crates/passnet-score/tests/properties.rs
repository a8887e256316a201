//! Laws that hold for the scores of any outcomes.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{failed, graph, measured, outcomes};
use passnet_record::Status;
use passnet_score::{EsSettings, GraphOutcome, Interpretation, ScoreReport, ScoreSettings};
use proptest::prelude::*;

const FAILURES: [Status; 11] = [
    Status::Accuracy,
    Status::TypeMismatch,
    Status::ShapeMismatch,
    Status::NonFinite,
    Status::RuntimeError,
    Status::CompileError,
    Status::NoMatch,
    Status::Integrity,
    Status::Timeout,
    Status::OutOfMemory,
    Status::EagerFail,
];

fn any_graph() -> impl Strategy<Value = GraphOutcome> {
    let task = prop::sample::select(vec!["a", "b", "c"]);
    let compared = (task.clone(), -10..=5, 0.02..50.0_f64, prop::option::of(0.02..50.0_f64), any::<bool>()).prop_map(
        |(task, tolerance, eager, control, unstable)| GraphOutcome {
            control: control.map(measured),
            unstable,
            ..graph(task, tolerance, eager)
        },
    );
    let failure = (task, prop::sample::select(FAILURES.to_vec())).prop_map(|(task, failure)| failed(task, failure));
    prop_oneof![3 => compared, 1 => failure]
}

fn any_settings() -> impl Strategy<Value = ScoreSettings> {
    let interpretation = prop::sample::select(Interpretation::ALL.to_vec());
    let weights = prop::sample::select(vec!["as-2026", "as-2025"]);
    (0.0..2.0_f64, 0.01..1.0_f64, interpretation, weights).prop_map(|(p, b, interpretation, weights)| ScoreSettings {
        es: EsSettings { slowdown_penalty: p, error_base: b, interpretation },
        weights: weights.to_owned(),
        ..ScoreSettings::default()
    })
}

fn report(graphs: &[GraphOutcome], settings: &ScoreSettings) -> ScoreReport {
    ScoreReport::new(&outcomes(graphs.to_vec()), settings).expect("both forms agree")
}

/// S_t and ES_t for all t, AS, and the sound score.
fn all_scores(report: &ScoreReport) -> Vec<f64> {
    let mut scores: Vec<f64> = report.by_tolerance.iter().flat_map(|score| [score.s, score.es]).collect();
    scores.extend([report.aggregated, report.sound.as_ref().unwrap().score]);
    scores
}

fn assert_none_lower(before: &ScoreReport, after: &ScoreReport) -> Result<(), TestCaseError> {
    for (before, after) in all_scores(before).into_iter().zip(all_scores(after)) {
        prop_assert!(after >= before * (1.0 - 1e-12), "{before} -> {after}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn faster_never_scores_lower(
        graphs in prop::collection::vec(any_graph(), 1..12), settings in any_settings(), index: prop::sample::Index,
        factor in 1.0..10.0_f64,
    ) {
        let mut faster = graphs.clone();
        let changed = index.get(&graphs);
        let position = graphs.iter().position(|graph| std::ptr::eq(graph, changed)).unwrap();
        faster[position].eager = changed.eager.map(|eager| measured(eager.ratio * factor));
        faster[position].control = changed.control.map(|control| measured(control.ratio * factor));
        assert_none_lower(&report(&graphs, &settings), &report(&faster, &settings))?;
    }

    // This holds only for graphs that are not slower than eager: a slow correct graph can count less than b or the forgiven 1.
    #[test]
    fn a_wrong_graph_made_correct_never_scores_lower(
        graphs in prop::collection::vec(any_graph(), 0..12), failure in prop::sample::select(FAILURES.to_vec()),
        speedup in 1.02..50.0_f64, settings in any_settings(),
    ) {
        let mut wrong = graphs.clone();
        wrong.push(failed("a", failure));
        let mut correct = graphs;
        correct.push(graph("a", -10, speedup));
        assert_none_lower(&report(&wrong, &settings), &report(&correct, &settings))?;
    }

    #[test]
    fn a_wrong_graph_never_beats_one_that_no_pass_matched(
        graphs in prop::collection::vec(any_graph(), 0..12), failure in prop::sample::select(FAILURES.to_vec()),
        settings in any_settings(),
    ) {
        let sound = |failure| {
            let mut graphs = graphs.clone();
            graphs.push(failed("a", failure));
            report(&graphs, &settings).sound.unwrap().score
        };
        prop_assert!(sound(failure) <= sound(Status::NoMatch) * (1.0 + 1e-12));
    }

    // This holds only if no correct graph counts less than b: otherwise a graph that becomes correct lowers the score.
    #[test]
    fn es_grows_with_t(graphs in prop::collection::vec(any_graph(), 1..12), settings in any_settings()) {
        let floor = settings.es.error_base.powf(1.0 / (settings.es.slowdown_penalty + 1.0));
        let graphs: Vec<GraphOutcome> = graphs
            .into_iter()
            .map(|graph| GraphOutcome { eager: graph.eager.map(|eager| measured(eager.ratio.max(floor))), ..graph })
            .collect();
        for pair in report(&graphs, &settings).by_tolerance.windows(2) {
            prop_assert!(pair[1].es >= pair[0].es * (1.0 - 1e-9), "{pair:?}");
        }
    }

    #[test]
    fn as_lies_between_the_extremes_of_es(
        graphs in prop::collection::vec(any_graph(), 1..12), settings in any_settings(),
    ) {
        let report = report(&graphs, &settings);
        let es = || report.by_tolerance.iter().map(|score| score.es);
        let (low, high) = (es().fold(f64::INFINITY, f64::min), es().fold(0.0, f64::max));
        prop_assert!((low * (1.0 - 1e-12)..=high * (1.0 + 1e-12)).contains(&report.aggregated));
    }

    #[test]
    fn reports_are_reproducible_and_keep_their_numbers_in_json(
        graphs in prop::collection::vec(any_graph(), 1..12), settings in any_settings(),
    ) {
        let first = report(&graphs, &settings);
        prop_assert_eq!(&first, &report(&graphs, &settings));
        let json = serde_json::to_string(&first).unwrap();
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(read["aggregated"].as_f64(), Some(first.aggregated));
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let graphs = outcomes(vec![graph("a", -5, 1.0)]);
    let refused = |change: &dyn Fn(&mut ScoreSettings)| {
        let mut settings = ScoreSettings::default();
        change(&mut settings);
        ScoreReport::new(&graphs, &settings).unwrap_err().to_string()
    };
    let empty = ScoreReport::new(&outcomes(Vec::new()), &ScoreSettings::default()).unwrap_err().to_string();
    assert_eq!(refused(&|s| s.es.error_base = 0.0), "error base b = 0: must be more than 0 and at most 1");
    assert_eq!(
        refused(&|s| s.es.slowdown_penalty = f64::NAN),
        "slowdown penalty p = NaN: must be a finite number, 0 or more"
    );
    assert_eq!(
        refused(&|s| s.weights = "as-2020".to_owned()),
        "unknown weight table `as-2020`; known are as-2026 and as-2025"
    );
    assert_eq!(
        refused(&|s| s.bootstrap.confidence = 1.0),
        "bootstrap with 2000 resamples at confidence 1: needs at least 1 and 0 < confidence < 1"
    );
    assert_eq!(empty, "no graphs to score: the run has no verdicts yet, or every reference failed");
    for interpretation in Interpretation::ALL {
        assert_eq!(Interpretation::by_name(interpretation.name()), Ok(interpretation));
        assert_eq!(serde_json::to_value(interpretation).unwrap(), interpretation.name());
    }
    assert!(Interpretation::by_name("strict").is_err());
}
