//! The metrics that a fleet keeps in the directory of its run.

use passnet_web::LiveFleet;

/// Reads the Prometheus text of a fleet. A metric that is missing counts 0.
pub(crate) fn fleet_metrics(text: &str) -> LiveFleet {
    let mut fleet = LiveFleet::default();
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
            _ => {}
        }
    }
    fleet
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
}
