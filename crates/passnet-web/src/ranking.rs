//! The leaderboard as lines of cells and as Markdown.

use std::collections::BTreeMap;

use passnet_record::TextTable;
use passnet_score::scored_path;

use crate::RunView;

/// Columns of the leaderboard; the first three are of text.
pub const TITLES: [&str; 10] =
    ["author", "device", "path", "AS", "sound", "95% interval", "G-mean", "correct", "fast_1", "graphs"];

/// Returns the runs by sound score, best first; by AS where there is none.
pub fn ranked(runs: &[RunView]) -> Vec<&RunView> {
    let mut order: Vec<&RunView> = runs.iter().collect();
    let rank = |run: &RunView| run.score.sound.as_ref().map_or(run.score.aggregated, |sound| sound.score);
    order.sort_by(|left, right| rank(right).total_cmp(&rank(left)));
    order
}

/// Returns a run's line of the leaderboard.
pub fn line(run: &RunView) -> [String; 10] {
    let score = &run.score;
    let sound = score.sound.as_ref();
    let dash = || "-".to_owned();
    let interval = sound.and_then(|sound| sound.interval);
    [
        run.author_name(),
        run.header.settings.device.to_string(),
        scored_path(&run.verdicts, &run.header.settings),
        format!("{:.3}", score.aggregated),
        sound.map_or_else(dash, |sound| format!("{:.3}", sound.score)),
        interval.map_or_else(dash, |interval| format!("{:.3}-{:.3}", interval.low, interval.high)),
        score.tally.geomean_speedup.map_or_else(dash, |mean| format!("{mean:.3}")),
        format!("{:.1}%", score.tally.correct_percent()),
        format!("{:.1}%", score.tally.fast_1_percent()),
        progress_of(run),
    ]
}

/// Returns the graphs done, and of how many where the run is not complete.
fn progress_of(run: &RunView) -> String {
    match run.verdicts.len() {
        // A run in progress must not look like a complete run over fewer graphs.
        done if done < run.header.graphs => format!("{done}/{}", run.header.graphs),
        done => done.to_string(),
    }
}

/// Returns the leaderboard, best run first.
pub fn leaderboard(runs: &[RunView]) -> TextTable {
    let mut table = TextTable::new(&TITLES, 3);
    for run in ranked(runs) {
        table.push(line(run));
    }
    table
}

/// Returns leaderboard and failures as Markdown.
pub fn markdown(runs: &[RunView]) -> String {
    let mut text = String::new();
    let mut row = |cells: &[String]| text.push_str(&format!("| {} |\n", cells.join(" | ")));
    row(&TITLES.map(str::to_owned));
    row(&TITLES.map(|title| if matches!(title, "author" | "device" | "path") { "---" } else { "---:" }.to_owned()));
    let ranked = ranked(runs);
    for run in &ranked {
        row(&line(run).map(|cell| escaped(&cell)));
    }
    for run in ranked {
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for verdict in &run.verdicts {
            if let Some(reason) = &verdict.reason {
                *counts.entry((verdict.status.name(), &reason.code)).or_default() += 1;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        // The sort is stable: equal counts stay in the order of status and code.
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        if !counts.is_empty() {
            // The author of a run chose its name: unescaped, it could add rows, links or HTML to the page.
            text.push_str(&format!("\n{}:\n", escaped(&run.author_name())));
        }
        for ((status, code), count) in counts {
            text.push_str(&format!("- {count} {status} ({})\n", escaped(code)));
        }
    }
    text
}

/// Text that Markdown takes as text.
fn escaped(text: &str) -> String {
    let special = |c: char| "\\`*_[]<>|#&".contains(c);
    text.chars()
        .flat_map(|c| special(c).then_some('\\').into_iter().chain([if c.is_control() { ' ' } else { c }]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_cells() {
        assert_eq!(escaped("a|b\n<i>`"), "a\\|b \\<i\\>\\`");
    }
}
