//! Submissions over HTTP: `POST /submit`, `GET /submission/ID.json` and `GET /key.pub`.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    body::to_bytes,
    extract::{ConnectInfo, Request},
    http::{HeaderValue, Method, StatusCode, header},
    response::Response,
};
use passnet_board::{Board, BoardError, SubmissionRefusal};
use passnet_record::{BoardReply, ContentId};
use serde::Serialize;
use tokio::sync::Semaphore;

use super::response::respond;

/// Content type of a bundle. A page of another site cannot send it without a CORS preflight, which this server refuses.
const BUNDLE: &str = "application/vnd.passnet.bundle";
/// Largest number of uploads at the same time, because each is kept in memory.
const UPLOADS: usize = 2;

/// Longest time of an upload.
const UPLOAD_TIME: Duration = Duration::from_secs(120);

/// Seconds after which a client may try again if the board is busy. An evaluation takes longer.
const BUSY_S: u64 = 60;

/// Address by which a server counts the uploads of a submitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubmitterAddress {
    /// Address of the connection.
    #[default]
    Connection,
    /// Last address in the header `X-Forwarded-For`, which the proxy in front of the server sets. Only for servers that
    /// no client reaches except through that proxy: a client can write the header itself.
    Forwarded,
}

impl SubmitterAddress {
    /// Returns the address for a server behind a proxy, or without one.
    pub const fn behind_proxy(is_proxied: bool) -> Self {
        if is_proxied { Self::Forwarded } else { Self::Connection }
    }
}

/// The board behind a server of pages.
pub(super) struct Submissions {
    board: Arc<Board>,
    address: SubmitterAddress,
    uploads: Semaphore,
}

impl Submissions {
    pub(super) fn new(board: Arc<Board>, address: SubmitterAddress) -> Self {
        Self { board, address, uploads: Semaphore::new(UPLOADS) }
    }

    /// Returns the name under which the uploads of a client are counted.
    fn submitter(&self, request: &Request) -> String {
        let connection = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        let forwarded = request.headers().get_all("x-forwarded-for").iter().next_back();
        let forwarded = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
        let address = match self.address {
            SubmitterAddress::Connection => connection,
            SubmitterAddress::Forwarded => forwarded.or(connection),
        };
        address.map_or_else(|| "unknown".to_owned(), network)
    }

    /// Returns whether a request is a submission.
    pub(super) fn takes(request: &Request) -> bool {
        *request.method() == Method::POST && request.uri().path() == "/submit"
    }

    /// Accepts a bundle, or returns the reason of a refusal.
    pub(super) async fn accept(&self, request: Request) -> Response {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind != Some(BUNDLE) {
            return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &format!("send the bundle as {BUNDLE}"));
        }
        let most = self.board.limits().bundle_bytes;
        // Refused and not queued: a queue of uploads would hold their connections open.
        let Ok(_permit) = self.uploads.try_acquire() else {
            let busy =
                error(StatusCode::SERVICE_UNAVAILABLE, "other clients are sending bundles; try again in a moment");
            return retry_after(busy, 1);
        };
        let too_large = || refused(&SubmissionRefusal::TooLarge { most });
        // A check of the announced length avoids an upload that would be refused. The length may be missing or
        // wrong, so the limit applies below as well.
        let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > most as u64) {
            return too_large();
        }
        match self.board.count_upload(&self.submitter(&request)) {
            Ok(()) => {}
            Err(BoardError::Refused(refusal)) => return refused(&refusal),
            Err(failed) => return broken(&failed),
        }
        // A client that sends nothing must not block other clients.
        let bytes = match tokio::time::timeout(UPLOAD_TIME, to_bytes(request.into_body(), most)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(_)) => return too_large(),
            Err(_) => return error(StatusCode::REQUEST_TIMEOUT, "the bundle did not arrive in time"),
        };
        let board = Arc::clone(&self.board);
        match tokio::task::spawn_blocking(move || board.accept(&bytes)).await {
            Ok(Ok(id)) => answer(StatusCode::ACCEPTED, &BoardReply { id: Some(id), error: None }),
            Ok(Err(BoardError::Refused(refusal))) => refused(&refusal),
            Ok(Err(failed)) => broken(&failed),
            Err(failed) => broken(&failed),
        }
    }

    /// Returns a document of the board; `None` where the path is not one.
    pub(super) fn document(&self, path: &str) -> Option<Response> {
        if path == "key.pub" {
            return Some(respond(StatusCode::OK, "text/plain; charset=utf-8", self.board.public_key() + "\n"));
        }
        if let Some(run) = path.strip_prefix("result/").and_then(|name| name.strip_suffix(".json")) {
            return Some(match self.board.result_of(run) {
                Ok(Some(result)) => answer(StatusCode::OK, &result),
                Ok(None) => error(StatusCode::NOT_FOUND, "there is no such run"),
                Err(failed) => unreadable(&failed),
            });
        }
        let id: ContentId = path.strip_prefix("submission/")?.strip_suffix(".json")?.parse().ok()?;
        match self.board.state(&id) {
            Ok(Some(state)) => Some(answer(StatusCode::OK, &state)),
            Ok(None) => Some(error(StatusCode::NOT_FOUND, "there is no such submission")),
            Err(failed) => Some(unreadable(&failed)),
        }
    }
}

/// Returns the name of the network of an address. A client with IPv6 has all addresses of its /64.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// Answers with the reason of a refusal, and when to try again if time helps.
fn refused(refusal: &SubmissionRefusal) -> Response {
    let (code, wait) = match refusal {
        SubmissionRefusal::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, None),
        SubmissionRefusal::TooMany { retry_after_s, .. } => (StatusCode::TOO_MANY_REQUESTS, Some(*retry_after_s)),
        SubmissionRefusal::Full(_) => (StatusCode::SERVICE_UNAVAILABLE, Some(BUSY_S)),
        _ => (StatusCode::UNPROCESSABLE_ENTITY, None),
    };
    let response = error(code, &refusal.to_string());
    match wait {
        Some(seconds) => retry_after(response, seconds),
        None => response,
    }
}

fn retry_after(mut response: Response, seconds: u64) -> Response {
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn unreadable(failed: &dyn std::fmt::Display) -> Response {
    tracing::error!("a submission could not be read: {failed}");
    error(StatusCode::INTERNAL_SERVER_ERROR, "the submission could not be read")
}

fn broken(failed: &dyn std::fmt::Display) -> Response {
    tracing::error!("a submission could not be stored: {failed}");
    error(StatusCode::INTERNAL_SERVER_ERROR, "the submission could not be stored; the board's log says why")
}

fn answer(code: StatusCode, reply: &impl Serialize) -> Response {
    // Plain data: writing it as JSON does not fail.
    let text = serde_json::to_string(reply).unwrap_or_default();
    respond(code, "application/json", text + "\n")
}

fn error(code: StatusCode, message: &str) -> Response {
    answer(code, &BoardReply { id: None, error: Some(message.to_owned()) })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use passnet_board::Limits;

    use super::*;

    /// Sends rubbish from an address; the status, and the seconds to wait.
    fn send(submissions: &Submissions, from: &str, forwarded: &str) -> (u16, Option<String>) {
        let request = Request::builder().method("POST").uri("/submit").header("content-type", BUNDLE);
        let mut request = request.header("x-forwarded-for", forwarded).body(Body::from("rubbish")).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(from.parse().unwrap(), 1)));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let response = runtime.block_on(submissions.accept(request));
        let wait = response.headers().get("retry-after").map(|wait| wait.to_str().unwrap().to_owned());
        (response.status().as_u16(), wait)
    }

    fn submissions(folder: &tempfile::TempDir, address: SubmitterAddress, limits: Limits) -> Submissions {
        Submissions::new(Arc::new(Board::open(folder.path()).unwrap().with_limits(limits)), address)
    }

    #[test]
    fn a_submitter_that_sends_too_much_is_asked_to_come_back_later() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { uploads: 2, window: Duration::from_secs(1_000_000), ..Limits::default() };
        let board = submissions(&folder, SubmitterAddress::Connection, limits);
        assert_eq!(send(&board, "192.0.2.1", "").0, 422);
        assert_eq!(send(&board, "192.0.2.1", "198.51.100.9").0, 422);
        // A header that the client made up does not help.
        let (code, wait) = send(&board, "192.0.2.1", "198.51.100.10");
        assert_eq!(code, 429);
        assert!(wait.unwrap().parse::<u64>().unwrap() > 900_000);
        assert_eq!(send(&board, "192.0.2.2", "").0, 422);
        // All addresses of one /64 are one submitter.
        let of = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"].map(|from| send(&board, from, "").0);
        assert_eq!(of, [422, 422, 429, 422]);
        assert_eq!(send(&board, "::ffff:192.0.2.1", "").0, 429);
    }

    #[test]
    fn a_proxy_tells_who_submits_and_large_bundles_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { uploads: 1, ..Limits::default() };
        let board = submissions(&folder, SubmitterAddress::Forwarded, limits);
        assert_eq!(send(&board, "127.0.0.1", "198.51.100.1").0, 422);
        // The proxy appends the address that it sees to those that the client claims.
        assert_eq!(send(&board, "127.0.0.1", "203.0.113.7, 198.51.100.1").0, 429);
        assert_eq!(send(&board, "127.0.0.1", "198.51.100.1, 198.51.100.2").0, 422);
        let folder = tempfile::tempdir().unwrap();
        let board = submissions(&folder, SubmitterAddress::Connection, Limits { bundle_bytes: 3, ..limits });
        assert_eq!(send(&board, "192.0.2.1", ""), (413, None));
    }

    #[test]
    fn refusals_that_time_helps_name_a_time() {
        let wait = |refusal: SubmissionRefusal| {
            let response = refused(&refusal);
            (response.status().as_u16(), response.headers().contains_key("retry-after"))
        };
        assert_eq!(wait(SubmissionRefusal::Full(100)), (503, true));
        assert_eq!(wait(SubmissionRefusal::Unfinished), (422, false));
    }
}
