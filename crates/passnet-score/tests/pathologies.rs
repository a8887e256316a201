//! Passes that AS rewards, and their sound scores.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{failed, graph, measured, outcomes};
use passnet_record::Status;
use passnet_score::{GraphOutcome, ScoreReport, ScoreSettings, sound_credit};

fn scores(graph: &GraphOutcome) -> (f64, f64) {
    let report = ScoreReport::new(&outcomes(vec![graph.clone()]), &ScoreSettings::default()).unwrap();
    (report.aggregated, report.sound.unwrap().score)
}

#[test]
fn the_published_pathologies_of_as_and_their_sound_scores() {
    let rows: [(&str, GraphOutcome, &str, &str); 13] = [
        ("correct, 1.65x", graph("t", -5, 1.65), "1.646", "1.650"),
        ("correct, 1.0x", graph("t", -5, 1.0), "0.998", "1.000"),
        ("floor pass, correct, 0.8x", graph("t", -5, 0.8), "0.799", "0.800"),
        ("correct from t = -4, 1.2x", graph("t", -4, 1.2), "0.789", "0.100"),
        ("correct from t = -3, 1.2x", graph("t", -3, 1.2), "0.520", "0.100"),
        ("correct from t = -2, 1.2x", graph("t", -2, 1.2), "0.343", "0.100"),
        ("zeros, 3x", graph("t", 0, 3.0), "0.237", "0.100"),
        ("zeros, 10x", graph("t", 0, 10.0), "0.322", "0.100"),
        ("zeros, 100x", graph("t", 0, 100.0), "0.578", "0.100"),
        ("never correct", failed("t", Status::Accuracy), "0.147", "0.100"),
        ("crash", failed("t", Status::RuntimeError), "0.111", "0.100"),
        ("integrity", failed("t", Status::Integrity), "0.100", "0.100"),
        ("no match", failed("t", Status::NoMatch), "0.100", "1.000"),
    ];
    for (name, graph, aggregated, sound) in rows {
        let (got_aggregated, got_sound) = scores(&graph);
        assert_eq!(format!("{got_aggregated:.3}"), aggregated, "AS of {name}");
        assert_eq!(format!("{got_sound:.3}"), sound, "sound score of {name}");
    }
}

#[test]
fn speed_is_believed_only_as_far_as_it_is_shown() {
    let base = graph("t", -6, 2.0);
    let credit = |change: &dyn Fn(&mut GraphOutcome)| {
        let mut changed = base.clone();
        change(&mut changed);
        sound_credit(&changed, 0.1)
    };
    assert_eq!(credit(&|_| ()), 2.0);
    assert_eq!(credit(&|g| g.control = Some(measured(1.5))), 1.5, "the control is the stricter baseline");
    assert_eq!(credit(&|g| g.control = Some(measured(3.0))), 2.0, "eager is the stricter baseline");
    assert_eq!(credit(&|g| g.control = Some(measured(1.005))), 1.0, "not distinguished from the control");
    assert_eq!(credit(&|g| g.eager = Some(measured(0.995))), 1.0, "not distinguished from eager");
    assert_eq!(credit(&|g| g.unstable = true), 1.0);
    assert_eq!(credit(&|g| g.eager = None), 1.0, "never timed");
    assert_eq!(credit(&|g| g.eager.as_mut().unwrap().bound = Some(1.25)), 1.25, "beyond the roofline");
    assert_eq!(credit(&|g| g.eager.as_mut().unwrap().bound = Some(0.5)), 1.0, "an impossible baseline");
    assert_eq!(credit(&|g| g.eager = Some(measured(0.01))), 0.1, "slow but correct is not worse than wrong");
}

#[test]
fn one_task_has_one_vote() {
    let mut graphs = vec![graph("small", -5, 4.0)];
    graphs.extend((0..99).map(|_| graph("large", -5, 1.0)));
    let report = ScoreReport::new(&outcomes(graphs), &ScoreSettings::default()).unwrap();
    let sound = report.sound.unwrap();
    assert!((sound.score - 2.0).abs() < 1e-12, "{}", sound.score);
    let interval = sound.interval.unwrap();
    assert!(interval.low == 1.0 && (interval.high - 4.0).abs() < 1e-12, "{interval:?}");
    assert_eq!((sound.inconclusive, sound.without_control), (99, 100));
    assert_eq!(report.tasks.iter().map(|row| row.task.as_str()).collect::<Vec<_>>(), ["small", "large"]);
}
