//! Agreement with scores that the public implementation computed from two public logs.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeMap, path::PathBuf};

use passnet_score::{EsSettings, Interpretation, read_log, tolerance_scores};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Golden {
    st: BTreeMap<String, f64>,
    #[serde(rename = "ESt")]
    est: BTreeMap<String, f64>,
    #[serde(rename = "params")]
    parameters: BTreeMap<String, GoldenParameters>,
}

#[derive(Deserialize)]
struct GoldenParameters {
    alpha: f64,
    beta: f64,
    lambda: f64,
    eta: f64,
    gamma: f64,
    expected_s: f64,
    expected_es: f64,
    pi: BTreeMap<String, f64>,
    correct_count: f64,
    total_samples: f64,
    correct_speedups_count: f64,
    slowdown_count: f64,
}

fn shared_data() -> PathBuf {
    std::env::var_os("PASSNET_SHARED_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
}

fn settings(key: &str) -> (String, EsSettings) {
    let mut parts = key.split('|');
    let mut next = || parts.next().unwrap();
    let log = next().to_owned();
    let interpretation = Interpretation::by_name(next()).unwrap();
    let slowdown_penalty = next().strip_prefix("p=").unwrap().parse().unwrap();
    let error_base = next().strip_prefix("b=").unwrap().parse().unwrap();
    (log, EsSettings { slowdown_penalty, error_base, interpretation })
}

#[test]
fn public_logs_score_as_the_public_implementation_scores_them() {
    let data = shared_data();
    let Ok(goldens) = std::fs::read_to_string(data.join("goldens/es_scores.json")) else {
        eprintln!("skipped: no goldens/es_scores.json in {} (set PASSNET_SHARED_DATA)", data.display());
        return;
    };
    let goldens: BTreeMap<String, Golden> = serde_json::from_str(&goldens).unwrap();
    assert_eq!(goldens.len(), 8);
    for (key, golden) in goldens {
        let (log, settings) = settings(&key);
        let text = std::fs::read_to_string(data.join("logs").join(log)).unwrap();
        let outcomes = read_log(&text).unwrap().outcomes(-5);
        let scores = tolerance_scores(&outcomes.graphs, &settings).unwrap();
        assert_eq!(scores.len(), golden.st.len(), "{key}");
        for score in scores {
            let t = score.t.to_string();
            let near = |what: &str, got: f64, expected: f64| {
                assert!((got - expected).abs() <= 1e-9 * expected.abs(), "{key} t={t} {what}: {got}, not {expected}");
            };
            let (got, expected) = (&score.parameters, &golden.parameters[&t]);
            near("S", score.s, golden.st[&t]);
            near("S", score.s, expected.expected_s);
            near("ES", score.es, golden.est[&t]);
            near("ES", score.es, expected.expected_es);
            near("alpha", got.alpha, expected.alpha);
            near("beta", got.beta, expected.beta);
            near("lambda", got.lambda, expected.lambda);
            near("eta", got.eta, expected.eta);
            near("gamma", got.gamma, expected.gamma);
            near("correct", got.correct as f64, expected.correct_count);
            near("timed", got.correct as f64, expected.correct_speedups_count);
            near("slower", got.slower as f64, expected.slowdown_count);
            near("total", got.total as f64, expected.total_samples);
            assert_eq!(got.pi, expected.pi, "{key} t={t}");
        }
    }
}
