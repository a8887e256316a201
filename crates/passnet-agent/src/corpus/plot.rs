//! Statistics as one HTML page with plots.

use passnet_record::counted;
use passnet_web::{PlainCurve, PlainPage, PlainPart, plain_page};

use super::stats::TrajectoryStats;

/// Returns the page.
pub fn page(stats: &TrajectoryStats) -> String {
    let failures = stats.failures.iter().map(|(status, &count)| (status.name().to_owned(), count)).collect();
    let flow = stats.flow.iter().map(|flow| (format!("{} → {}", flow.first, flow.last), flow.attempts)).collect();
    let exits = stats.exits.iter().map(|(exit, &count)| (format!("{exit:?}").to_lowercase(), count)).collect();
    let counts = |title: &str, of: Vec<(String, usize)>| vec![PlainPart::Counts(title.to_owned(), of)];
    let lead = format!(
        "{} at {}. An empty pass directory has a score of 1.",
        counted(stats.attempts, "attempt"),
        counted(stats.tasks, "task")
    );
    plain_page(&PlainPage {
        title: "Trajectories".to_owned(),
        lead: vec![lead],
        sections: vec![
            ("totals", "Totals".to_owned(), vec![PlainPart::Facts(totals(stats))]),
            ("best", "Best score so far by step".to_owned(), vec![PlainPart::Curve(best_so_far(stats))]),
            ("flow", "From the first evaluation to the last".to_owned(), counts("Attempts by outcome", flow)),
            ("statuses", "Graphs by status".to_owned(), counts("Graphs of all evaluations", failures)),
            ("exits", "How attempts ended".to_owned(), counts("Attempts by end", exits)),
        ],
        refresh_s: None,
    })
}

fn totals(stats: &TrajectoryStats) -> Vec<(String, String)> {
    let facts = [
        ("Steps", stats.steps.to_string()),
        ("Evaluations", stats.evaluations.to_string()),
        ("Tokens", stats.usage.tokens().to_string()),
        ("Final score, geometric mean", format!("{:.3}", stats.score)),
        ("Mean reward", format!("{:.3}", stats.reward)),
        ("Every graph correct", counted(stats.all_correct, "attempt")),
        ("Broke a rule", counted(stats.cheated, "attempt")),
    ];
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn best_so_far(stats: &TrajectoryStats) -> PlainCurve {
    let points = stats.best_so_far.iter();
    PlainCurve {
        name: "median and quartiles over attempts".to_owned(),
        across: "step".to_owned(),
        points: points.map(|point| (point.step as f64, point.median, point.low, point.high)).collect(),
        reference: ("doing nothing".to_owned(), 1.0),
    }
}
