//! Uploading a dataset to a hub: the HTTP API of Hugging Face.
//!
//! The hub decides for each file whether it is *regular* (part of a commit) or *large* (sent to a storage by its SHA-256), and
//! reports the content that it has. Large files are sent first. Then one commit names all of them, so that a reader never sees
//! half of an upload. A file that the hub or its storage already has is not sent again, so the same call continues an interrupted
//! one.

mod address;
mod error;
mod files;
mod http;
mod report;
mod storage;

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};

pub use address::{Hub, HubAddress};
pub use error::HubError;
pub use report::{UploadProgress, Uploaded};

use crate::Dataset;
use files::{LocalFile, is_part, local_files};
use http::{HubClient, parse};

/// Branch to which commits are made.
const BRANCH: &str = "main";
const JSON: &str = "application/json";
/// Number of files in one question to the hub.
const TOGETHER: usize = 256;
/// Largest number of attempts to commit.
const COMMITS: usize = 4;

/// Settings of [`upload`].
#[derive(Clone, Debug)]
pub struct UploadSettings {
    /// First line of the commit message.
    pub message: String,
    /// If true, a new repository is private.
    pub private: bool,
    /// If true, removes files of tables that the dataset does not have.
    pub delete: bool,
    /// If true, finds out which files would be sent, and sends nothing.
    pub dry_run: bool,
    /// Pause after a failed request. Each further failure doubles it.
    pub pause: Duration,
}

/// State of a file on the hub.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteFile {
    path: String,
    upload_mode: String,
    #[serde(default)]
    should_ignore: bool,
    /// Id of the content on the hub: the id of git, or the SHA-256 of a large file.
    #[serde(default)]
    oid: Option<String>,
}

#[derive(Deserialize)]
struct Preupload {
    files: Vec<RemoteFile>,
}

#[derive(Deserialize)]
struct TreeEntry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
}

/// Changes of a commit.
#[derive(Default)]
struct CommitChanges<'a> {
    /// Files that go into the commit.
    regular: Vec<&'a LocalFile>,
    large: Vec<&'a LocalFile>,
    present: usize,
}

/// Uploads a dataset to a repository of a hub, which is created if it does not exist.
///
/// # Errors
/// If a file cannot be read, or the hub refuses a request or cannot be reached.
pub fn upload(
    dataset: &Dataset,
    to: &HubAddress,
    hub: &Hub,
    settings: &UploadSettings,
    progress: &dyn Fn(UploadProgress<'_>),
) -> Result<Uploaded, HubError> {
    let files = local_files(dataset)?;
    progress(UploadProgress::Found(files.len(), files.iter().map(|file| file.nbytes).sum()));
    let client = HubClient::new(hub.clone(), settings.pause);
    let exists = exists(&client, to)?;
    let mut uploaded = Uploaded { is_dry: settings.dry_run, ..Uploaded::default() };
    if !exists && settings.dry_run {
        uploaded.files = files.iter().map(|file| (to.place(&file.path), file.nbytes)).collect();
        uploaded.sent_bytes = files.iter().map(|file| file.nbytes).sum();
        return Ok(uploaded);
    }
    if exists {
        uploaded.deleted = stale(&client, to, &files)?;
    } else {
        create(&client, to, settings.private)?;
    }
    // Checked before anything is sent, so that an upload of hours does not end with an error.
    if let (Some(first), false) = (uploaded.deleted.first(), settings.delete) {
        return Err(HubError::Stale { count: uploaded.deleted.len(), first: first.clone() });
    }
    let changes = changes(&client, to, &files)?;
    let changed = changes.regular.iter().chain(&changes.large);
    uploaded.files = changed.map(|file| (to.place(&file.path), file.nbytes)).collect();
    uploaded.present = changes.present;
    if settings.dry_run {
        uploaded.sent_bytes = changes.large.iter().map(|file| file.nbytes).sum();
        return Ok(uploaded);
    }
    for file in &changes.large {
        let sending = |sent| progress(UploadProgress::Sending(&file.path, sent, file.nbytes));
        sending(0);
        if storage::store(&client, &to.repository, file, &sending)? {
            uploaded.sent_bytes += file.nbytes;
            sending(file.nbytes);
        } else {
            progress(UploadProgress::Stored(&file.path));
        }
    }
    if !uploaded.files.is_empty() || !uploaded.deleted.is_empty() {
        let body = commit_body(to, &changes, &uploaded.deleted, &settings.message)?;
        uploaded.commit = Some(commit(&client, to, &files, &uploaded.deleted, &body)?);
    }
    Ok(uploaded)
}

fn api(client: &HubClient, to: &HubAddress, rest: &str) -> String {
    client.hub.url(&format!("api/datasets/{}/{rest}", to.repository))
}

fn exists(client: &HubClient, to: &HubAddress) -> Result<bool, HubError> {
    match client.request("GET", &api(client, to, &format!("revision/{BRANCH}")), None) {
        Ok(_) => Ok(true),
        Err(HubError::Refused { code: 404, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn create(client: &HubClient, to: &HubAddress, private: bool) -> Result<(), HubError> {
    let (owner, name) = to.repository.split_once('/').unwrap_or_default();
    let visibility = if private { "private" } else { "public" };
    let question = json!({"type": "dataset", "organization": owner, "name": name, "visibility": visibility});
    match client.post::<Value>(&client.hub.url("api/repos/create"), JSON, &question) {
        // The repository was created between the two questions, or by an attempt whose answer was lost.
        Ok(_) | Err(HubError::Refused { code: 409, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns files of tables on the hub that the dataset does not have. Readers would read their rows as part of the dataset.
fn stale(client: &HubClient, to: &HubAddress, files: &[LocalFile]) -> Result<Vec<String>, HubError> {
    let folder = if to.folder.is_empty() { String::new() } else { format!("/{}", to.folder) };
    let mut next = Some(api(client, to, &format!("tree/{BRANCH}{folder}?recursive=true")));
    let mut found = Vec::new();
    while let Some(url) = next {
        let answer = match client.request("GET", &url, None) {
            // The folder does not exist on the hub yet.
            Err(HubError::Refused { code: 404, .. }) => break,
            answer => answer?,
        };
        for entry in parse::<Vec<TreeEntry>>(&url, &answer.body)? {
            let path = if to.folder.is_empty() {
                Some(entry.path.as_str())
            } else {
                entry.path.strip_prefix(&to.folder).and_then(|rest| rest.strip_prefix('/'))
            };
            let is_stale = path.is_some_and(|path| is_part(path) && !files.iter().any(|file| file.path == path));
            if entry.kind == "file" && is_stale {
                found.push(entry.path);
            }
        }
        let link = answer.headers.get("link").and_then(|link| link.to_str().ok()).and_then(next_page);
        // The next page must be on the same hub, because the request contains the token.
        next = link.filter(|link| client.hub.authorization(link).is_some());
    }
    Ok(found)
}

/// Returns the address of the next page from a `Link` header (RFC 8288).
fn next_page(link: &str) -> Option<String> {
    let part = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    Some(part.split_once('<')?.1.split_once('>')?.0.to_owned())
}

/// Asks the hub which files it does not have, and how to send each of them.
fn changes<'a>(client: &HubClient, to: &HubAddress, files: &'a [LocalFile]) -> Result<CommitChanges<'a>, HubError> {
    let url = api(client, to, &format!("preupload/{BRANCH}"));
    let mut changes = CommitChanges::default();
    for files in files.chunks(TOGETHER) {
        let describe = |file: &LocalFile| json!({"path": to.place(&file.path), "sample": BASE64_STANDARD.encode(&file.sample), "size": file.nbytes});
        let question = json!({"files": files.iter().map(describe).collect::<Vec<_>>()});
        let answer: Preupload = client.post(&url, JSON, &question)?;
        for file in files {
            let place = to.place(&file.path);
            let Some(remote) = answer.files.iter().find(|remote| remote.path == place) else {
                return Err(HubError::Answer { url, message: format!("no answer about {place}") });
            };
            let (is_large, oid) = (remote.upload_mode == "lfs", remote.oid.as_deref());
            // The hub identifies large files by SHA-256 and regular files by git's id, so either may be equal.
            if remote.should_ignore || oid == Some(&file.sha256) || (!is_large && oid == Some(&file.git)) {
                changes.present += 1;
            } else if is_large {
                changes.large.push(file);
            } else {
                changes.regular.push(file);
            }
        }
    }
    Ok(changes)
}

/// Returns the lines of a commit, each a JSON object.
fn commit_body(
    to: &HubAddress,
    changes: &CommitChanges<'_>,
    deleted: &[String],
    message: &str,
) -> Result<Vec<u8>, HubError> {
    let mut lines = vec![json!({"key": "header", "value": {"summary": message, "description": ""}})];
    for file in &changes.large {
        let value = json!({"path": to.place(&file.path), "algo": "sha256", "oid": file.sha256, "size": file.nbytes});
        lines.push(json!({"key": "lfsFile", "value": value}));
    }
    for file in &changes.regular {
        let content = BASE64_STANDARD.encode(file.content()?);
        lines.push(
            json!({"key": "file", "value": {"path": to.place(&file.path), "content": content, "encoding": "base64"}}),
        );
    }
    lines.extend(deleted.iter().map(|path| json!({"key": "deletedFile", "value": {"path": path}})));
    Ok(lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect())
}

/// Makes one attempt to commit. If the answer is lost, asks the hub whether it has the files.
fn commit(
    client: &HubClient,
    to: &HubAddress,
    files: &[LocalFile],
    deleted: &[String],
    body: &[u8],
) -> Result<String, HubError> {
    let url = api(client, to, &format!("commit/{BRANCH}"));
    for left in (0..COMMITS).rev() {
        match client.send_once(&url, "application/x-ndjson", body) {
            Ok(answer) => {
                let answer: Value = parse(&url, &answer.body)?;
                return Ok(answer["commitUrl"].as_str().unwrap_or(BRANCH).to_owned());
            }
            Err((error, may_pass)) => {
                // The answer may have been lost after the hub had committed. A second commit would then be
                // empty or fail.
                let now = if may_pass { Some(changes(client, to, files)?) } else { None };
                let is_done = now.is_some_and(|now| now.regular.is_empty() && now.large.is_empty())
                    && (deleted.is_empty() || stale(client, to, files)?.is_empty());
                if is_done {
                    return Ok(api(client, to, &format!("revision/{BRANCH}")));
                }
                if !may_pass || left == 0 {
                    return Err(error);
                }
            }
        }
    }
    Err(HubError::Unreachable { url, message: "no attempt was made".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::next_page;

    #[test]
    fn the_next_page_is_named_by_its_relation() {
        let link = "<https://hub/a?cursor=1>; rel=\"prev\", <https://hub/a?cursor=2>; rel=\"next\"";
        assert_eq!(next_page(link).unwrap(), "https://hub/a?cursor=2");
        assert_eq!(next_page("<https://hub/a>; rel=\"prev\""), None);
    }
}
