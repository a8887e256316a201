//! State of a fleet that serves clients, as Prometheus text and as a page.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use passnet_record::TextTable;
use passnet_web::{PlainPage, PlainPart, plain_page};

use crate::{
    event::Counts,
    metrics::{label, prometheus, sample_lines},
    queue::ClientUse,
    stations::StationLocation,
    view::StationView,
};

/// Time over which rates on the page are computed.
const WINDOW: Duration = Duration::from_secs(60);

/// Work of one device.
#[derive(Clone, Debug, Default)]
struct DeviceUse {
    evaluations: u64,
    busy: Duration,
    recent: VecDeque<Instant>,
}

/// State of a fleet.
#[derive(Clone, Debug, Default)]
pub(crate) struct FleetStatus {
    pub(crate) counts: Counts,
    pub(crate) clients: Vec<ClientUse>,
    pub(crate) last_reason: String,
    /// Answers of devices that then gave biased measurements.
    pub(crate) doubted: u64,
    /// State of each station.
    pub(crate) stations: Vec<StationView>,
    /// Mean time of a job on a device.
    pub(crate) mean: Duration,
    devices: BTreeMap<StationLocation, DeviceUse>,
}

impl FleetStatus {
    /// Counts a job that a device has done.
    pub(crate) fn count(&mut self, place: &StationLocation, time: Duration) {
        let device = self.devices.entry(place.clone()).or_default();
        device.evaluations += 1;
        device.busy += time;
        device.recent.push_back(Instant::now());
        // An exponential mean, so that the hint for clients follows recent jobs.
        self.mean = if self.mean.is_zero() { time } else { self.mean.mul_f64(0.9) + time.mul_f64(0.1) };
    }

    /// Drops the moments that no rate needs any more.
    pub(crate) fn forget_old(&mut self) {
        for device in self.devices.values_mut() {
            while device.recent.front().is_some_and(|then| then.elapsed() > WINDOW) {
                device.recent.pop_front();
            }
        }
    }

    fn utilisation(&self) -> f64 {
        self.counts.leases as f64 / self.counts.places.max(1) as f64
    }
}

/// Returns the text exposition (version 0.0.4).
pub(crate) fn status_text(status: &FleetStatus, actions: usize, refused: (u64, u64)) -> String {
    let mut text = prometheus(&status.counts, None, &status.stations);
    let one = |value: f64| vec![(String::new(), value)];
    let mut metric = |name: &str, kind: &str, help: &str, rows: Vec<(String, f64)>| {
        sample_lines(&mut text, name, kind, help, &rows);
    };
    metric("utilisation", "gauge", "Leases divided by places.", one(status.utilisation()));
    metric("actions", "gauge", "Actions of clients in work, waiting ones included.", one(actions as f64));
    let refusals =
        vec![("{reason=\"quota\"}".to_owned(), refused.0 as f64), ("{reason=\"queue\"}".to_owned(), refused.1 as f64)];
    metric("refused_total", "counter", "Actions that were asked to come back later.", refusals);
    let doubted = one(status.doubted as f64);
    metric("doubted_total", "counter", "Answers of devices that then gave biased measurements.", doubted);
    let of_device = |value: &dyn Fn(&DeviceUse) -> f64| -> Vec<(String, f64)> {
        let row = |(place, device): (&StationLocation, &DeviceUse)| {
            (format!("{{node=\"{}\",device=\"{}\"}}", label(&place.node), label(&place.device)), value(device))
        };
        status.devices.iter().map(row).collect()
    };
    let (done, busy) = (of_device(&|device| device.evaluations as f64), of_device(&|device| device.busy.as_secs_f64()));
    metric("evaluations_total", "counter", "Evaluations by device.", done);
    metric("busy_seconds_total", "counter", "Time of evaluations by device.", busy);
    let of_client = |value: &dyn Fn(&ClientUse) -> f64| -> Vec<(String, f64)> {
        let row = |client: &ClientUse| {
            let labels = format!("{{client=\"{}\",priority=\"{}\"}}", label(&client.name), client.priority.name());
            (labels, value(client))
        };
        status.clients.iter().map(row).collect()
    };
    let (running, waiting) = (of_client(&|client| client.running as f64), of_client(&|client| client.waiting as f64));
    metric("client_running", "gauge", "Jobs of a client on devices.", running);
    metric("client_waiting", "gauge", "Jobs of a client that wait.", waiting);
    let used = of_client(&|client| client.used.as_secs_f64());
    metric("client_seconds", "gauge", "Device time that counts against a client.", used);
    text
}

/// Returns the page.
pub(crate) fn status_page(status: &FleetStatus, actions: usize, refused: (u64, u64)) -> String {
    let counts = &status.counts;
    let facts = [
        ("Stations", format!("{} work, {} start, {} set aside", counts.admitted, counts.starting, counts.aside)),
        (
            "Utilisation",
            format!("{:.0} % ({} of {} places)", 100.0 * status.utilisation(), counts.leases, counts.places),
        ),
        ("Queue", format!("{} training, {} batch", counts.waiting_training, counts.waiting_batch)),
        ("Actions in work", format!("{actions} ({} refused by quota, {} by the queue)", refused.0, refused.1)),
        ("Jobs", format!("{} done, {} leases lost, {} in doubt", counts.finished, counts.wasted, status.doubted)),
    ];
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let metrics = PlainPart::Link("Prometheus text".to_owned(), "/metrics".to_owned());
    plain_page(&PlainPage {
        title: "PassNet fleet".to_owned(),
        lead: vec!["The page is loaded again every five seconds. Rates are of the last minute.".to_owned()],
        sections: vec![
            ("state", "State".to_owned(), vec![PlainPart::Facts(facts), metrics]),
            ("devices", "Devices".to_owned(), vec![PlainPart::Table(devices_table(status))]),
            ("stations", "Stations".to_owned(), vec![PlainPart::Table(stations_table(&status.stations))]),
            ("clients", "Clients".to_owned(), vec![PlainPart::Table(clients_table(&status.clients))]),
        ],
        refresh_s: Some(5),
    })
}

fn devices_table(status: &FleetStatus) -> TextTable {
    let mut table = TextTable::new(&["Node", "Device", "Evaluations", "Per second"], 2);
    for (place, device) in &status.devices {
        let rate = device.recent.len() as f64 / WINDOW.as_secs_f64();
        let (node, name) = (place.node.clone(), place.device.clone());
        table.push([node, name, device.evaluations.to_string(), format!("{rate:.2}")]);
    }
    table
}

fn stations_table(stations: &[StationView]) -> TextTable {
    let mut table = TextTable::new(&["Node", "Device", "State", "Reason", "In use", "Done"], 4);
    for view in stations {
        let in_use = format!("{} of {}", view.leases, view.places);
        let (node, device, reason) = (view.node.clone(), view.device.clone(), view.reason.clone());
        table.push([node, device, view.state.to_string(), reason, in_use, view.finished.to_string()]);
    }
    table
}

fn clients_table(clients: &[ClientUse]) -> TextTable {
    let mut table = TextTable::new(&["Client", "Priority", "Running", "Waiting", "Device seconds"], 2);
    for client in clients {
        let used = format!("{:.1}", client.used.as_secs_f64());
        let (name, priority) = (client.name.clone(), client.priority.name().to_owned());
        table.push([name, priority, client.running.to_string(), client.waiting.to_string(), used]);
    }
    table
}

#[cfg(test)]
mod tests {
    use passnet_record::fleet::Priority;

    use super::*;

    fn status() -> FleetStatus {
        let counts = Counts { admitted: 2, leases: 1, places: 2, ..Counts::default() };
        let mut status = FleetStatus { counts, ..FleetStatus::default() };
        let place = StationLocation { node: "a\"<b>".to_owned(), device: "cpu".to_owned() };
        status.count(&place, Duration::from_secs(4));
        status.clients.push(ClientUse {
            name: "trainer".to_owned(),
            priority: Priority::Training,
            running: 1,
            waiting: 3,
            used: Duration::from_secs(4),
        });
        status
    }

    #[test]
    fn the_text_is_an_exposition() {
        let text = status_text(&status(), 4, (1, 2));
        for line in text.lines() {
            let value = line.rsplit_once(' ').map(|(_, value)| value.parse::<f64>());
            assert!(line.starts_with("# ") || matches!(value, Some(Ok(_))), "{line}");
        }
        for line in [
            "passnet_fleet_utilisation 0.5",
            "passnet_fleet_evaluations_total{node=\"a\\\"<b>\",device=\"cpu\"} 1",
            "passnet_fleet_client_waiting{client=\"trainer\",priority=\"training\"} 3",
            "passnet_fleet_refused_total{reason=\"queue\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn the_page_shows_the_same_and_escapes_names() {
        let page = status_page(&status(), 4, (1, 2));
        assert!(page.contains("a&quot;&lt;b&gt;") && page.contains("50 % (1 of 2 places)"), "{page}");
    }
}
