//! Submissions over HTTP: `POST /submit`, `GET /submission/ID.json` and `GET /key.pub`.

use std::{sync::Arc, time::Duration};

use axum::{
    body::to_bytes,
    extract::Request,
    http::{Method, StatusCode, header},
    response::Response,
};
use passnet_board::{Board, BoardError, MAX_BUNDLE, Refusal};
use passnet_record::ContentId;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::response::respond;

/// Type of a bundle. A page elsewhere cannot send it without asking this server first, which does not agree.
const BUNDLE: &str = "application/vnd.passnet.bundle";
/// Uploads at a time: each is held in memory.
const UPLOADS: usize = 2;

/// Longest time of an upload.
const UPLOAD_TIME: Duration = Duration::from_secs(120);

/// The board behind a server of pages.
pub(super) struct Submissions {
    board: Arc<Board>,
    uploads: Semaphore,
}

impl Submissions {
    pub(super) fn new(board: Arc<Board>) -> Self {
        Self { board, uploads: Semaphore::new(UPLOADS) }
    }

    /// Returns whether a request is a submission.
    pub(super) fn takes(request: &Request) -> bool {
        *request.method() == Method::POST && request.uri().path() == "/submit"
    }

    /// Accepts a bundle, or says why not.
    pub(super) async fn accept(&self, request: Request) -> Response {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind != Some(BUNDLE) {
            return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &format!("send the bundle as {BUNDLE}"));
        }
        let Ok(_permit) = self.uploads.try_acquire() else {
            return error(StatusCode::SERVICE_UNAVAILABLE, "others are sending bundles; try again in a moment");
        };
        let too_large = || error(StatusCode::PAYLOAD_TOO_LARGE, &Refusal::TooLarge { most: MAX_BUNDLE }.to_string());
        let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > MAX_BUNDLE as u64) {
            return too_large();
        }
        // A client that sends nothing must not keep others out.
        let bytes = match tokio::time::timeout(UPLOAD_TIME, to_bytes(request.into_body(), MAX_BUNDLE)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(_)) => return too_large(),
            Err(_) => return error(StatusCode::REQUEST_TIMEOUT, "the bundle did not arrive in time"),
        };
        let board = Arc::clone(&self.board);
        match tokio::task::spawn_blocking(move || board.accept(&bytes)).await {
            Ok(Ok(id)) => answer(StatusCode::ACCEPTED, &json!({ "id": id })),
            Ok(Err(BoardError::Refused(refusal))) => {
                let code = match refusal {
                    Refusal::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                    Refusal::Full(_) => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::UNPROCESSABLE_ENTITY,
                };
                error(code, &refusal.to_string())
            }
            failed => {
                tracing::error!("a submission could not be stored: {failed:?}");
                error(StatusCode::INTERNAL_SERVER_ERROR, "the submission could not be stored; the board's log says why")
            }
        }
    }

    /// Returns a document of the board; `None` where the path is not one.
    pub(super) fn document(&self, path: &str) -> Option<Response> {
        if path == "key.pub" {
            return Some(respond(StatusCode::OK, "text/plain; charset=utf-8", self.board.public_key() + "\n"));
        }
        let id: ContentId = path.strip_prefix("submission/")?.strip_suffix(".json")?.parse().ok()?;
        match self.board.state(&id) {
            Ok(Some(state)) => Some(answer(StatusCode::OK, &serde_json::to_value(state).ok()?)),
            Ok(None) => Some(error(StatusCode::NOT_FOUND, "there is no such submission")),
            Err(failed) => {
                tracing::error!("a submission could not be read: {failed}");
                Some(error(StatusCode::INTERNAL_SERVER_ERROR, "the submission could not be read"))
            }
        }
    }
}

fn answer(code: StatusCode, value: &Value) -> Response {
    respond(code, "application/json", format!("{value}\n"))
}

fn error(code: StatusCode, message: &str) -> Response {
    answer(code, &json!({ "error": message }))
}
