//! The live page over a log that grows.

use std::time::{Duration, Instant};

use passnet_record::RunEvent;
use passnet_run::{FLEET_METRICS, RunLog, RunStore};
use serde_json::Value;

use crate::{browser::Inspector, devtools::Browser, runs, server::Server};

/// Longest time until a page shows the contents of the log.
const PATIENCE: Duration = Duration::from_secs(60);

/// Metrics of a fleet of four stations.
const METRICS: &str = "passnet_fleet_stations{state=\"admitted\"} 3\npassnet_fleet_stations{state=\"starting\"} 1\n\
                       passnet_fleet_places 3\npassnet_fleet_leases 2\npassnet_fleet_waiting{priority=\"batch\"} 7\n";

/// The JSON behind a page.
fn data(server: &Server) -> Value {
    let (code, answer) = server.get("/live.json");
    assert_eq!(code, 200, "{answer}");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Waits until the page shows a text.
fn wait_for(browser: &mut Browser, text: &str) {
    let begun = Instant::now();
    loop {
        let shown = browser.evaluate("document.querySelector('main').textContent").to_string();
        if shown.contains(text) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{text}: {shown}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn numbers_of_a_growing_log_are_served() {
    let (finished, folder) = (runs(), tempfile::tempdir().unwrap());
    let log = RunLog::read(&finished.path().join("demo-passes")).unwrap();
    let verdicts: Vec<&RunEvent> = log.events.iter().filter(|event| matches!(event, RunEvent::Verdict(_))).collect();
    let mut store = RunStore::open(&folder.path().join("demo-passes"), &log.header).unwrap();
    let server = Server::start(folder.path());
    let answer = data(&server);
    assert_eq!((&answer["runs"][0]["state"], &answer["runs"][0]["done"]), (&"running".into(), &0.into()));
    let page = server.get("/live.html").1;
    assert!(
        page.contains("connect-src 'self'") && page.contains(&format!("0 of {} graphs", log.header.graphs)),
        "{page}"
    );
    assert!(!server.get("/").1.contains("connect-src"), "no other page asks the server");
    for event in &verdicts[..3] {
        store.append(event).unwrap();
    }
    drop(store);
    let begun = Instant::now();
    while data(&server)["runs"][0]["state"] != "interrupted" {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(data(&server)["runs"][0]["done"], 3);
    // A folder of finished runs has none.
    assert_eq!(data(&Server::start(finished.path()))["runs"], serde_json::json!([]));
}

#[test]
fn an_open_page_follows_a_run() {
    let Some(mut inspector) = Inspector::start() else { return };
    let (finished, folder) = (runs(), tempfile::tempdir().unwrap());
    let log = RunLog::read(&finished.path().join("inductor")).unwrap();
    let verdicts: Vec<&RunEvent> = log.events.iter().filter(|event| matches!(event, RunEvent::Verdict(_))).collect();
    let directory = folder.path().join("inductor");
    let mut store = RunStore::open(&directory, &log.header).unwrap();
    std::fs::write(directory.join(FLEET_METRICS), METRICS).unwrap();
    let server = Server::start(folder.path());
    let page = format!("http://{}/live.html", server.address);
    let count = log.header.graphs;
    inspector.browser.look(1280, false);
    assert!(inspector.browser.open(&page).is_empty());
    wait_for(&mut inspector.browser, &format!("0 of {count} graphs"));
    inspector.browser.evaluate("window.unchanged = true");
    for event in &verdicts[..60] {
        store.append(event).unwrap();
    }
    wait_for(&mut inspector.browser, &format!("60 of {count} graphs"));
    assert_eq!(inspector.browser.evaluate("window.unchanged"), true, "the page was not loaded again");
    inspector.look_at(&page, "live-running");
    drop(store);
    wait_for(&mut inspector.browser, "Interrupted: no process writes this run");
    inspector.look_at(&page, "live-interrupted");
    let mut store = RunStore::open(&directory, &log.header).unwrap();
    for event in &verdicts[60..] {
        store.append(event).unwrap();
    }
    store.finish(1).unwrap();
    wait_for(&mut inspector.browser, "finished");
    // The message that a reader sees when the server is stopped.
    drop(server);
    wait_for(&mut inspector.browser, "The server does not answer");
    inspector.finish();
}
