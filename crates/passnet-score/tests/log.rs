//! The log reader: each status and quirk has a log that was written for it, and no text causes a panic.

use passnet_score::{ScoreReport, ScoreSettings, read_log};
use proptest::prelude::*;

const LOG: &str = include_str!("data/synthetic.log");

#[test]
fn every_status_and_quirk_is_reported() {
    let log = read_log(LOG).unwrap();
    let records: Vec<String> = log
        .records
        .iter()
        .map(|record| {
            let status = record.failure.map_or("correct", |failure| failure.name());
            let tolerance = record.tolerance.map_or("none".to_owned(), |t| t.to_string());
            format!("{}: {} {status}, tolerance {tolerance}, {:?}", record.line, record.path, record.speedups)
        })
        .collect();
    let quirks: Vec<String> = log.quirks.iter().map(|quirk| format!("{}: {}", quirk.line, quirk.kind)).collect();
    insta::assert_snapshot!("records", records.join("\n"));
    insta::assert_snapshot!("quirks", quirks.join("\n"));
}

#[test]
fn a_log_scores_without_a_sound_score() {
    let outcomes = read_log(LOG).unwrap().outcomes(-5);
    let report = ScoreReport::new(&outcomes, &ScoreSettings::default()).unwrap();
    assert!(report.sound.is_none(), "a log has no intervals");
    let es: Vec<String> = report.by_tolerance.iter().map(|at| format!("{:3} {:.6} {:.6}", at.t, at.s, at.es)).collect();
    let summary = format!("t, S_t, ES_t\n{}\nAS {:.6}\n{:#?}", es.join("\n"), report.aggregated, report.tally);
    insta::assert_snapshot!("report", summary);
}

#[test]
fn errors_name_the_line() {
    let record = |tail: &str| format!("[Processing] x/y\n[Datatype][eager]: float32\n[DataType] match:True\n{tail}");
    for (text, message) in [
        (
            String::new(),
            "line 1: no `[Processing]` line in the whole text: this is not an evaluation log, or it was cut at the front",
        ),
        (
            "\n[Processing]  ".to_owned(),
            "line 2: `[Processing]` without a path after it; each record must name its sample",
        ),
        (
            record("[Speedup][e2e]: fast"),
            "line 4: `fast` in `[Speedup][e2e]` is not a number; was the log truncated or interleaved here?",
        ),
        (
            record("[Correctness][all_close_atol_1.00E+00_rtol_1.00E+00]: 1"),
            "line 1: the record that starts here has comparison results but no `[Correctness][equal]` line to read them by",
        ),
        (
            record("[Correctness][equal]: 1 1\nall_close"),
            "line 2: `[Datatype][eager]` has 1 values where the graph has 2 outputs",
        ),
    ] {
        assert_eq!(read_log(&text).unwrap_err().to_string(), message);
    }
}

proptest! {
    #[test]
    fn damage_never_panics(start in 0..LOG.len(), len in 0..400_usize, junk in "[ -~\n]{0,80}") {
        let end = (start + len).min(LOG.len());
        let damaged = format!("{}{junk}{}", &LOG[..start], &LOG[end..]);
        if let Ok(log) = read_log(&damaged) {
            let _ = ScoreReport::new(&log.outcomes(-5), &ScoreSettings::default());
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "(\\PC|\n|\\[(Processing|Config|Datatype|Speedup|Correctness|e2e|eager|equal)\\]|: ){0,200}") {
        let _ = read_log(&text);
    }
}
