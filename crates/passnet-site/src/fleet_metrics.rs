//! The metrics that a fleet writes to the directory of its run.

use std::collections::BTreeMap;

use passnet_record::live::{LiveFleet, LiveStation};

/// Reads the Prometheus text of a fleet. A metric that is missing counts 0.
pub(crate) fn fleet_metrics(text: &str) -> LiveFleet {
    let mut fleet = LiveFleet::default();
    let mut stations: BTreeMap<u64, LiveStation> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let Some(value) = value.parse::<f64>().ok().filter(|value| *value >= 0.0) else { continue };
        let count = value as usize;
        match name {
            "passnet_fleet_stations{state=\"admitted\"}" => fleet.admitted = count,
            "passnet_fleet_stations{state=\"starting\"}" => fleet.starting = count,
            "passnet_fleet_stations{state=\"aside\"}" => fleet.aside = count,
            "passnet_fleet_places" => fleet.places = count,
            "passnet_fleet_leases" => fleet.leases = count,
            _ if name.starts_with("passnet_fleet_waiting{") => fleet.waiting += count,
            _ => {
                let Some((metric, mut labels)) = station_metric(name) else { continue };
                let Some(number) = labels.get("station").and_then(|number| number.parse().ok()) else { continue };
                let station: &mut LiveStation = stations.entry(number).or_default();
                let mut text = |label: &str| labels.remove(label).unwrap_or_default();
                match metric {
                    "state" => {
                        (station.node, station.device) = (text("node"), text("device"));
                        (station.state, station.reason) = (text("state"), text("reason"));
                    }
                    "places" => station.places = count,
                    "leases" => station.leases = count,
                    "tasks_total" => station.finished = count,
                    _ => {}
                }
            }
        }
    }
    fleet.stations = stations.into_values().collect();
    fleet
}

/// Returns the name and the labels of a metric of one station.
fn station_metric(sample: &str) -> Option<(&str, BTreeMap<&str, String>)> {
    let (name, rest) = sample.strip_prefix("passnet_fleet_station_")?.split_once('{')?;
    let mut rest = rest.strip_suffix('}')?;
    let mut labels = BTreeMap::new();
    while let Some((label, value)) = rest.split_once("=\"") {
        let (value, end) = quoted(value)?;
        labels.insert(label, value);
        rest = end.strip_prefix(',').unwrap_or(end);
    }
    Some((name, labels))
}

/// Returns the value of a label up to its closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_and_other_text_is_not() {
        let text = "# HELP passnet_fleet_places 9\npassnet_fleet_stations{state=\"admitted\"} 3\npassnet_fleet_places 6\n\
                    passnet_fleet_leases 4\npassnet_fleet_waiting{priority=\"batch\"} 5\npassnet_fleet_waiting{priority=\"training\"} 1\n\
                    passnet_fleet_stations{state=\"starting\"} -1\nrubbish\n";
        let expected = LiveFleet { admitted: 3, places: 6, leases: 4, waiting: 6, ..LiveFleet::default() };
        assert_eq!(fleet_metrics(text), expected);
    }

    #[test]
    fn stations_are_read_with_reasons_of_any_text() {
        let labels = "station=\"12\",node=\"a\",device=\"GPU-1\"";
        let text = format!(
            "passnet_fleet_station_state{{{labels},state=\"aside\",reason=\"a \\\"b\\\", c=\\\"d\\\" {{}}\\n\"}} 1\n\
             passnet_fleet_station_leases{{{labels}}} 2\npassnet_fleet_station_tasks_total{{{labels}}} 7\n\
             passnet_fleet_station_places{{station=\"2\"}} 4\npassnet_fleet_station_state{{station=\"x}} 1\n"
        );
        let expected = LiveStation {
            node: "a".to_owned(),
            device: "GPU-1".to_owned(),
            state: "aside".to_owned(),
            reason: "a \"b\", c=\"d\" {}\n".to_owned(),
            leases: 2,
            finished: 7,
            ..LiveStation::default()
        };
        assert_eq!(fleet_metrics(&text).stations, [LiveStation { places: 4, ..LiveStation::default() }, expected]);
    }
}
