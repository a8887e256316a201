//! The figures of public logs show the values that the public implementation computes.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeMap, path::PathBuf};

use passnet_score::{EsSettings, Interpretation, read_log};
use passnet_web::{FigureSeries, figures};
use serde_json::Value;

fn shared_data() -> PathBuf {
    std::env::var_os("PASSNET_SHARED_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
}

/// The values of one curve, as the file says them.
fn drawn(svg: &str, attribute: &str) -> BTreeMap<String, f64> {
    let rest = svg.split_once(attribute).unwrap().1;
    let values = rest.split_once("data-values=\"").unwrap().1.split('"').next().unwrap();
    let pairs = values.split(' ').map(|pair| pair.split_once(':').unwrap());
    pairs.map(|(t, value)| (t.to_owned(), value.parse().unwrap())).collect()
}

#[test]
fn curves_of_public_logs_are_those_of_the_public_plots() {
    let data = shared_data();
    let Ok(goldens) = std::fs::read_to_string(data.join("goldens/es_scores.json")) else {
        eprintln!("skipped: no goldens/es_scores.json in {} (set PASSNET_SHARED_DATA)", data.display());
        return;
    };
    let goldens: BTreeMap<String, Value> = serde_json::from_str(&goldens).unwrap();
    for (key, golden) in goldens {
        let parts: Vec<&str> = key.split('|').collect();
        let number = |part: &str| part[2..].parse().unwrap();
        let settings = EsSettings {
            interpretation: Interpretation::by_name(parts[1]).unwrap(),
            slowdown_penalty: number(parts[2]),
            error_base: number(parts[3]),
        };
        let text = std::fs::read_to_string(data.join("logs").join(parts[0])).unwrap();
        let outcomes = read_log(&text).unwrap().outcomes(0);
        let series = FigureSeries::new("log".to_owned(), &outcomes.graphs, &settings, |_| "all".to_owned()).unwrap();
        let drawings: BTreeMap<_, _> = figures(&[series], &settings).into_iter().collect();
        for (file, attribute, curve, last) in [
            ("St.svg", "data-series=\"log\"", "St", 0),
            ("ESt.svg", "data-series=\"log\"", "ESt", i32::MAX),
            ("ESt.svg", "data-aggregate=\"log\"", "ESt", i32::MAX),
        ] {
            let expected = golden[curve].as_object().unwrap().iter();
            let expected: BTreeMap<&String, f64> = expected
                .filter(|(t, _)| t.parse::<i32>().unwrap() <= last)
                .map(|(t, value)| (t, value.as_f64().unwrap()))
                .collect();
            let found = drawn(&drawings[file], attribute);
            assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().copied().collect::<Vec<_>>(), "{key} {file}");
            for (t, value) in expected {
                assert!((found[t] - value).abs() <= 1e-9 * value, "{key} {file} t={t}: {} is not {value}", found[t]);
            }
        }
        let violins = drawings["violin.svg"].matches("data-violin").count();
        let timed = outcomes.graphs.iter().any(|graph| graph.failure.is_none() && graph.eager.is_some());
        assert_eq!(violins, usize::from(timed), "{key}");
    }
}

#[test]
fn there_is_no_figure_of_nothing_and_names_are_escaped() {
    assert!(figures(&[], &EsSettings::default()).is_empty());
    let series = FigureSeries {
        name: "<b>".to_owned(),
        scores: Vec::new(),
        speedups: BTreeMap::from([("x".to_owned(), vec![])]),
    };
    for (_, text) in figures(&[series], &EsSettings::default()) {
        assert!(text.contains("&lt;b&gt;") && !text.contains("<b>"), "{text}");
    }
}
