//! Metrics of a fleet as Prometheus text.

use std::{
    cell::Cell,
    fmt::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use fs_err as fs;
use passnet_run::FLEET_METRICS;

use crate::{event::Counts, view::StationView};

/// Least time between two writes of the file.
const EVERY: Duration = Duration::from_secs(5);

/// Files with the metrics of a fleet: for the textfile collector of a node exporter, and for the live page of each run.
pub struct MetricsFiles {
    paths: Vec<PathBuf>,
    written: Cell<Option<Instant>>,
}

impl MetricsFiles {
    /// Creates the writer of some files; without any it writes nothing.
    pub const fn new(paths: Vec<PathBuf>) -> Self {
        Self { paths, written: Cell::new(None) }
    }

    /// Writes the files, at most once in five seconds. The replacement of each is atomic.
    pub fn show(&self, counts: &Counts, graphs: usize, stations: &[StationView]) {
        if self.written.get().is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        self.written.set(Some(Instant::now()));
        let text = prometheus(counts, Some(graphs), stations);
        // The directory of a run exists once the first station has reported its machine.
        let begun = |path: &&PathBuf| !path.ends_with(FLEET_METRICS) || path.parent().is_some_and(Path::exists);
        for path in self.paths.iter().filter(begun) {
            // Others read the file at any time, so it is renamed when it is complete.
            let part = path.with_extension("part");
            if let Err(error) = fs::write(&part, &text).and_then(|()| fs::rename(&part, path)) {
                tracing::warn!("the metrics are not written: {error}");
            }
        }
    }
}

/// Returns the text exposition (version 0.0.4) of a fleet. `graphs` counts the graphs of a run that already have verdicts.
pub fn prometheus(counts: &Counts, graphs: Option<usize>, stations: &[StationView]) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, rows: &[(&str, usize)]| {
        let rows: Vec<(String, f64)> = rows.iter().map(|&(labels, value)| (labels.to_owned(), value as f64)).collect();
        sample_lines(&mut text, name, kind, help, &rows);
    };
    let states = [
        ("{state=\"starting\"}", counts.starting),
        ("{state=\"admitted\"}", counts.admitted),
        ("{state=\"aside\"}", counts.aside),
    ];
    metric("stations", "gauge", "Stations by state.", &states);
    metric("places", "gauge", "Tasks that all admitted stations can work on.", &[("", counts.places)]);
    metric("leases", "gauge", "Tasks that stations work on.", &[("", counts.leases)]);
    let waiting =
        [("{priority=\"training\"}", counts.waiting_training), ("{priority=\"batch\"}", counts.waiting_batch)];
    metric("waiting", "gauge", "Tasks that wait for a station.", &waiting);
    metric("tasks_finished_total", "counter", "Tasks done.", &[("", counts.finished as usize)]);
    metric("leases_wasted_total", "counter", "Leases that ended without a result.", &[("", counts.wasted as usize)]);
    if let Some(graphs) = graphs {
        metric("graphs_total", "counter", "Graphs with verdicts.", &[("", graphs)]);
    }
    station_lines(&mut text, stations);
    text
}

/// Writes the metrics of single stations.
fn station_lines(text: &mut String, stations: &[StationView]) {
    let labels = |view: &StationView| {
        format!("station=\"{}\",node=\"{}\",device=\"{}\"", view.slot.0, label(&view.node), label(&view.device))
    };
    let mut metric = |name: &str, kind: &str, help: &str, row: &dyn Fn(&StationView) -> (String, f64)| {
        sample_lines(text, name, kind, help, &stations.iter().map(row).collect::<Vec<_>>());
    };
    let state = |view: &StationView| {
        let (state, reason) = (view.state, label(&view.reason));
        (format!("{{{},state=\"{state}\",reason=\"{reason}\"}}", labels(view)), 1.0)
    };
    metric("station_state", "gauge", "State of each station, and the reason why it takes no tasks.", &state);
    let plain =
        |value: fn(&StationView) -> f64| move |view: &StationView| (format!("{{{}}}", labels(view)), value(view));
    metric("station_places", "gauge", "Tasks that a station can work on.", &plain(|view| view.places as f64));
    metric("station_leases", "gauge", "Tasks that a station works on.", &plain(|view| view.leases as f64));
    metric("station_tasks_total", "counter", "Tasks that a station has done.", &plain(|view| view.finished as f64));
    let busy = plain(|view| view.busy.as_secs_f64());
    metric("station_busy_seconds_total", "counter", "Time of the tasks that a station has done.", &busy);
}

/// Writes a metric: its help, its type, and a line for each set of labels.
pub(crate) fn sample_lines(text: &mut String, name: &str, kind: &str, help: &str, rows: &[(String, f64)]) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "# HELP passnet_fleet_{name} {help}\n# TYPE passnet_fleet_{name} {kind}");
    for (labels, value) in rows {
        let _ = writeln!(text, "passnet_fleet_{name}{labels} {value}");
    }
}

/// Returns a text as the value of a label.
pub(crate) fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::SlotId;

    #[test]
    fn every_line_is_a_comment_or_a_sample() {
        let station = StationView {
            slot: SlotId(4),
            node: "a".to_owned(),
            device: "GPU-1".to_owned(),
            state: "aside",
            reason: "other \"processes\" use 2048 MiB of the device".to_owned(),
            places: 4,
            leases: 1,
            finished: 9,
            busy: Duration::from_millis(1500),
        };
        let text = prometheus(&Counts { admitted: 3, leases: 2, ..Counts::default() }, Some(7), &[station]);
        for line in text.lines() {
            let value = line.rsplit_once(' ').map(|(_, value)| value.parse::<f64>());
            assert!(line.starts_with("# ") || matches!(value, Some(Ok(_))), "{line}");
        }
        assert!(text.contains("passnet_fleet_stations{state=\"admitted\"} 3\n"), "{text}");
        assert!(text.contains("passnet_fleet_graphs_total 7\n"), "{text}");
        let labels = "station=\"4\",node=\"a\",device=\"GPU-1\"";
        for line in [
            format!("passnet_fleet_station_busy_seconds_total{{{labels}}} 1.5\n"),
            format!(
                "passnet_fleet_station_state{{{labels},state=\"aside\",reason=\"other \\\"processes\\\" use 2048 MiB of the device\"}} 1\n"
            ),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
    }
}
