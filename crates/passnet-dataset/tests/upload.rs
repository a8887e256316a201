//! Uploads to a stand-in for a hub, with failures.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod hub_server;

use std::{cell::RefCell, path::Path, time::Duration};

use hub_server::{Fault, HubServer, TOKEN};
use passnet_dataset::{
    Dataset, Table,
    hub::{Hub, HubAddress, HubError, UploadProgress, UploadSettings, Uploaded, upload},
    store::{SampleRow, TaskRow},
};

const SETTINGS: UploadSettings = UploadSettings {
    message: String::new(),
    private: false,
    delete: false,
    dry_run: false,
    pause: Duration::from_millis(1),
};

/// A dataset with two tables and a card, and files that are not for others.
fn dataset(root: &Path) -> Dataset {
    let dataset = Dataset::at(root.join("data"));
    let mut writer = dataset.append(Table::Tasks).unwrap();
    writer.push(TaskRow { id: "task".to_owned(), graphs: vec!["a".to_owned()], ..TaskRow::default() }).unwrap();
    writer.finish().unwrap();
    add_graph(&dataset, "a");
    std::fs::write(dataset.root().join("README.md"), "---\nlicense: other\n---\n").unwrap();
    std::fs::write(dataset.root().join("secret.txt"), "mine").unwrap();
    std::fs::write(dataset.root().join("tasks/.incomplete-1"), "half").unwrap();
    dataset
}

fn add_graph(dataset: &Dataset, path: &str) {
    let mut writer = dataset.append(Table::Subgraphs).unwrap();
    writer.push(SampleRow { path: path.to_owned(), ..SampleRow::default() }).unwrap();
    writer.finish().unwrap();
}

fn send(server: &HubServer, dataset: &Dataset, to: &str, settings: &UploadSettings) -> Result<Uploaded, HubError> {
    let hub = Hub::new(&server.endpoint, TOKEN).unwrap();
    upload(dataset, &HubAddress::parse(to).unwrap(), &hub, settings, &|_| ())
}

const TO: &str = "hf://datasets/me/graphs";
const FILES: [&str; 5] = [
    "README.md",
    "subgraphs/_SHA256SUMS",
    "subgraphs/part-00000.parquet",
    "tasks/_SHA256SUMS",
    "tasks/part-00000.parquet",
];

/// Checks that the files of the repository are those of the dataset, below a folder.
fn assert_same(server: &HubServer, dataset: &Dataset, folder: &str) {
    let state = server.state();
    let files = state.files.as_ref().unwrap();
    let below = files.iter().filter(|(path, _)| path.starts_with(folder));
    for (path, stored) in below {
        let local = dataset.root().join(path.strip_prefix(folder).unwrap());
        assert_eq!(stored.content, std::fs::read(local).unwrap(), "{path}");
        assert_eq!(stored.is_large, path.ends_with(".parquet"), "{path}");
    }
}

#[test]
fn a_dataset_is_sent_once_and_then_only_what_changed() {
    let scratch = tempfile::tempdir().unwrap();
    let (server, dataset) = (HubServer::start(), dataset(scratch.path()));
    let settings = UploadSettings { message: "First".to_owned(), private: true, ..SETTINGS };
    let dry = send(&server, &dataset, TO, &UploadSettings { dry_run: true, ..settings.clone() }).unwrap();
    assert_eq!(dry.files.keys().collect::<Vec<_>>(), FILES);
    assert!(server.state().files.is_none() && dry.commit.is_none());

    let seen = RefCell::new(Vec::new());
    let hub = Hub::new(&server.endpoint, TOKEN).unwrap();
    let progress = |step: UploadProgress<'_>| seen.borrow_mut().push(format!("{step:?}"));
    let first = upload(&dataset, &HubAddress::parse(TO).unwrap(), &hub, &settings, &progress).unwrap();
    assert_eq!(first.files, dry.files);
    assert!(first.present == 0 && first.commit.unwrap().ends_with("/datasets/me/graphs/commit/1"));
    assert_eq!(server.state().files.as_ref().unwrap().keys().collect::<Vec<_>>(), FILES);
    assert!(server.state().is_private);
    assert_same(&server, &dataset, "");
    assert!(seen.borrow().iter().any(|step| step.contains("Sending(\"tasks/part-00000.parquet\"")), "{seen:?}");

    let again = send(&server, &dataset, TO, &settings).unwrap();
    assert_eq!((again.files.len(), again.present, again.commit, again.sent_bytes), (0, 5, None, 0));
    assert_eq!((server.count("PUT"), server.state().commits.len()), (2, 1));

    add_graph(&dataset, "b");
    let dry = send(&server, &dataset, TO, &UploadSettings { dry_run: true, ..settings.clone() }).unwrap();
    let more = send(&server, &dataset, TO, &settings).unwrap();
    assert_eq!(more.files.keys().collect::<Vec<_>>(), ["subgraphs/_SHA256SUMS", "subgraphs/part-00001.parquet"]);
    assert_eq!((&dry.files, dry.sent_bytes), (&more.files, more.sent_bytes));
    assert_eq!(server.count("PUT"), 3);
    assert_same(&server, &dataset, "");
}

#[test]
fn large_files_go_in_parts_and_below_a_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let (server, dataset) = (HubServer::start(), dataset(scratch.path()));
    server.state().part_bytes = Some(1_000);
    // The last part of a file fails at first, and one file's addresses have expired.
    server.fail("/1?signature", Fault::Status(403), 1);
    server.fail("/2?signature", Fault::Drop, 1);
    send(&server, &dataset, &format!("{TO}/suites/f"), &SETTINGS).unwrap();
    assert!(server.count("POST /storage/complete") == 2 && server.count("PUT") > 4, "{:?}", server.state().log);
    assert_eq!(server.state().files.as_ref().unwrap().len(), 5);
    assert_same(&server, &dataset, "suites/f/");
    assert_eq!(send(&server, &dataset, &format!("{TO}/suites/f"), &SETTINGS).unwrap().present, 5);
}

#[test]
fn every_request_survives_failures_that_pass() {
    let scratch = tempfile::tempdir().unwrap();
    let dataset = dataset(scratch.path());
    for place in ["revision", "create", "preupload", "batch", "PUT /storage", "verify", "commit", "tree"] {
        for fault in [Fault::Drop, Fault::DropAfter, Fault::Status(429), Fault::Status(503)] {
            let server = HubServer::start();
            server.fail(place, fault, 2);
            if place == "tree" {
                server.state().files = Some(std::collections::BTreeMap::new());
            }
            let sent = send(&server, &dataset, TO, &SETTINGS);
            assert!(sent.is_ok(), "{place} {fault:?}: {sent:?}");
            assert_same(&server, &dataset, "");
            assert_eq!(server.state().commits.len(), 1, "{place} {fault:?}: committed once");
            assert_eq!(server.state().objects.len(), 2, "{place} {fault:?}");
        }
    }
}

#[test]
fn a_call_continues_one_that_failed() {
    let scratch = tempfile::tempdir().unwrap();
    let (server, dataset) = (HubServer::start(), dataset(scratch.path()));
    server.fail("commit", Fault::Status(500), 100);
    let error = send(&server, &dataset, TO, &SETTINGS).unwrap_err();
    assert!(matches!(error, HubError::Refused { code: 500, .. }), "{error}");
    assert_eq!((server.count("PUT"), server.state().commits.len()), (2, 0));
    server.state().faults.clear();
    let sent = send(&server, &dataset, TO, &SETTINGS).unwrap();
    assert_eq!((server.count("PUT"), sent.sent_bytes, sent.files.len()), (2, 0, 5), "the storage has the files");
    assert_same(&server, &dataset, "");

    let server = HubServer::start();
    server.fail("PUT", Fault::Drop, 100);
    let error = send(&server, &dataset, TO, &SETTINGS).unwrap_err();
    assert!(matches!(&error, HubError::Unreachable { url, .. } if !url.contains("signature")), "{error}");
    assert!(server.state().commits.is_empty());
}

#[test]
fn a_wrong_token_is_refused_at_once_and_never_shown() {
    let scratch = tempfile::tempdir().unwrap();
    let (server, dataset) = (HubServer::start(), dataset(scratch.path()));
    let hub = Hub::new(&server.endpoint, "hf_wrong_token").unwrap();
    let error = upload(&dataset, &HubAddress::parse(TO).unwrap(), &hub, &SETTINGS, &|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("(401)") && text.contains("HF_TOKEN") && text.contains("Bearer ***"), "{text}");
    assert_eq!(server.state().log.len(), 1);
}

#[test]
fn rows_that_the_dataset_lost_are_removed_only_on_request() {
    let scratch = tempfile::tempdir().unwrap();
    let (server, dataset) = (HubServer::start(), dataset(scratch.path()));
    add_graph(&dataset, "b");
    send(&server, &dataset, TO, &SETTINGS).unwrap();
    let lost = dataset.root().join("subgraphs/part-00001.parquet");
    std::fs::remove_file(&lost).unwrap();
    let error = send(&server, &dataset, TO, &SETTINGS).unwrap_err();
    assert!(error.to_string().contains("subgraphs/part-00001.parquet; pass --delete"), "{error}");
    let sent = send(&server, &dataset, TO, &UploadSettings { delete: true, ..SETTINGS }).unwrap();
    assert_eq!(sent.deleted, ["subgraphs/part-00001.parquet"]);
    assert!(!server.state().files.as_ref().unwrap().contains_key("subgraphs/part-00001.parquet"));
    assert_same(&server, &dataset, "");
}

#[test]
fn a_folder_without_tables_is_not_sent() {
    let scratch = tempfile::tempdir().unwrap();
    let server = HubServer::start();
    let error = send(&server, &Dataset::at(scratch.path()), TO, &SETTINGS).unwrap_err();
    assert!(matches!(error, HubError::Empty(_)) && server.state().log.is_empty(), "{error}");
}
