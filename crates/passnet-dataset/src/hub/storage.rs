//! Large files: the batch protocol of Git LFS with basic and multipart transfers, as the hub implements it.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek as _, SeekFrom},
};

use fs_err as fs;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    error::HubError,
    files::LocalFile,
    http::{HubClient, RequestBody, json, parse},
};

const LFS_JSON: &str = "application/vnd.git-lfs+json";
/// Largest number of attempts for one file, each with a new address, because addresses of the storage expire.
const ADDRESSES: usize = 3;
/// Number of bytes between two reports of progress.
const REPORT_EVERY: u64 = 64 << 20;

#[derive(Deserialize)]
struct LfsBatch {
    objects: Vec<LfsObject>,
}

/// Actions for an object. Without actions, the storage already has the object.
#[derive(Deserialize)]
struct LfsObject {
    oid: String,
    #[serde(default)]
    actions: Option<LfsActions>,
    #[serde(default)]
    error: Option<LfsError>,
}

#[derive(Deserialize)]
struct LfsError {
    message: String,
}

#[derive(Deserialize)]
struct LfsActions {
    upload: Option<LfsAction>,
    verify: Option<LfsAction>,
}

#[derive(Deserialize)]
struct LfsAction {
    href: String,
    #[serde(default)]
    header: BTreeMap<String, Value>,
}

/// Sends a file to the storage unless the storage has it. Returns whether it was sent. `progress` is called with the number of
/// bytes sent so far.
pub(super) fn store(
    client: &HubClient,
    repository: &str,
    file: &LocalFile,
    progress: &dyn Fn(u64),
) -> Result<bool, HubError> {
    let url = client.hub.url(&format!("datasets/{repository}.git/info/lfs/objects/batch"));
    for left in (0..ADDRESSES).rev() {
        let Some(actions) = ask(client, &url, file)? else { return Ok(false) };
        // The storage already has the content, possibly under another name.
        let Some(upload) = &actions.upload else { return Ok(false) };
        match send(client, upload, file, progress) {
            Ok(()) => {
                if let Some(verify) = &actions.verify {
                    let question = json!({"oid": file.sha256, "size": file.nbytes});
                    client.send("POST", &verify.href, LFS_JSON, &json(&verify.href, &question)?)?;
                }
                return Ok(true);
            }
            // The address has expired, or the storage has dropped an upload in parts.
            Err(HubError::Refused { code: 400 | 403 | 404, .. }) if left > 0 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn ask(client: &HubClient, url: &str, file: &LocalFile) -> Result<Option<LfsActions>, HubError> {
    let question = json!({
        "operation": "upload",
        "transfers": ["basic", "multipart"],
        "objects": [{"oid": file.sha256, "size": file.nbytes}],
        "hash_algo": "sha256",
    });
    let answer = client.send("POST", url, LFS_JSON, &json(url, &question)?)?;
    let batch: LfsBatch = parse(url, &answer.body)?;
    let problem = |message: String| HubError::Answer { url: url.to_owned(), message };
    match batch.objects.into_iter().find(|object| object.oid == file.sha256) {
        Some(LfsObject { error: Some(error), .. }) => Err(problem(format!("{}: {}", file.path, error.message))),
        Some(object) => Ok(object.actions),
        None => Err(problem(format!("no answer about {}", file.path))),
    }
}

fn send(client: &HubClient, upload: &LfsAction, file: &LocalFile, progress: &dyn Fn(u64)) -> Result<(), HubError> {
    let kind = "application/octet-stream";
    let Some(size) = upload.header.get("chunk_size") else {
        let open = || slice(file, 0, file.nbytes, progress);
        return client
            .request(
                "PUT",
                &upload.href,
                Some(&RequestBody { kind, nbytes: file.nbytes, is_signed: true, open: &open }),
            )
            .map(|_| ());
    };
    let problem = |message: &str| HubError::Answer { url: file.path.clone(), message: message.to_owned() };
    let size = size.as_u64().or_else(|| size.as_str()?.parse().ok()).filter(|size| *size > 0);
    let size = size.ok_or_else(|| problem("the size of parts is no number"))?;
    let parts = part_addresses(upload);
    // The storage would join the parts without a check, and the file would be damaged.
    if parts.len() as u64 != file.nbytes.div_ceil(size) {
        return Err(problem("the number of parts does not fit the size of the file"));
    }
    let mut done = Vec::new();
    for ((number, address), begin) in
        parts.into_iter().zip((0_u64..).step_by(usize::try_from(size).unwrap_or(usize::MAX)))
    {
        let nbytes = size.min(file.nbytes - begin);
        let open = || slice(file, begin, nbytes, progress);
        let answer =
            client.request("PUT", address, Some(&RequestBody { kind, nbytes, is_signed: true, open: &open }))?;
        let etag = answer.headers.get("etag").and_then(|etag| etag.to_str().ok());
        let etag = etag.filter(|etag| !etag.is_empty()).ok_or_else(|| problem("a part has no etag"))?;
        done.push(json!({"partNumber": number, "etag": etag}));
    }
    let completion = json!({"oid": file.sha256, "parts": done});
    let body = json(&upload.href, &completion)?;
    let open = || -> Result<Box<dyn Read + '_>, HubError> { Ok(Box::new(body.as_slice())) };
    let content = RequestBody { kind: LFS_JSON, nbytes: body.len() as u64, is_signed: true, open: &open };
    client.request("POST", &upload.href, Some(&content)).map(|_| ())
}

/// Returns the addresses of parts by number.
fn part_addresses(upload: &LfsAction) -> Vec<(u64, &str)> {
    let numbered = upload.header.iter().filter_map(|(name, address)| Some((name.parse().ok()?, address.as_str()?)));
    let mut parts: Vec<(u64, &str)> = numbered.collect();
    parts.sort_unstable();
    parts
}

fn slice<'a>(
    file: &LocalFile,
    begin: u64,
    nbytes: u64,
    progress: &'a dyn Fn(u64),
) -> Result<Box<dyn Read + 'a>, HubError> {
    let failed = |source| HubError::Io { path: file.full.clone(), source };
    let mut opened = fs::File::open(&file.full).map_err(failed)?;
    if opened.metadata().map_err(failed)?.len() != file.nbytes {
        return Err(HubError::Changed(file.full.clone()));
    }
    opened.seek(SeekFrom::Start(begin)).map_err(failed)?;
    Ok(Box::new(ProgressReader { inner: opened.take(nbytes), done: begin, reported: begin, progress }))
}

/// A reader that reports how many bytes were read.
struct ProgressReader<'a, R> {
    inner: R,
    done: u64,
    reported: u64,
    progress: &'a dyn Fn(u64),
}

impl<R: Read> Read for ProgressReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done += count as u64;
        if self.done - self.reported >= REPORT_EVERY {
            self.reported = self.done;
            (self.progress)(self.done);
        }
        Ok(count)
    }
}
