//! Requests to a hub and its storage, which are repeated after temporary failures.

use std::{io::Read, thread, time::Duration};

use passnet_record::retry_after_ns;
use serde::{Serialize, de::DeserializeOwned};
use ureq::{Agent, SendBody, http::HeaderMap};

use super::{address::Hub, error::HubError};

/// Largest number of bytes of an answer.
const MAX_ANSWER: u64 = 32 << 20;
/// Largest number of attempts of a request.
const ATTEMPTS: u32 = 6;
const CONNECT: Duration = Duration::from_secs(15);
/// Time limit of a request, without the time for its body.
const PATIENCE: Duration = Duration::from_secs(120);
/// Lowest speed in bytes per second. A slower connection is given up.
const SLOWEST: u64 = 100_000;
/// Largest number of characters of a hub's reason in a message.
const MAX_REASON: usize = 300;

pub(super) struct HubClient {
    pub(super) hub: Hub,
    agent: Agent,
    /// Pause after the first failure. Each further failure doubles it.
    pause: Duration,
}

/// Content of a request.
pub(super) struct RequestBody<'a> {
    pub(super) kind: &'a str,
    pub(super) nbytes: u64,
    /// True if the address itself contains a signature, as addresses of the storage do. The token is not sent to such an address,
    /// on any host.
    pub(super) is_signed: bool,
    /// Opens the content; each attempt reads it from the beginning.
    pub(super) open: &'a dyn Fn() -> Result<Box<dyn Read + 'a>, HubError>,
}

/// The answer of a request that succeeded.
pub(super) struct HubResponse {
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// An attempt that failed.
struct FailedTry {
    error: HubError,
    /// Pause that the server asks for, if any.
    wait: Option<Duration>,
    may_pass: bool,
}

impl HubClient {
    /// Creates a client that follows no redirection, so that the token goes to the named hub only.
    pub(super) fn new(hub: Hub, pause: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("passnet/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { hub, agent: config.into(), pause }
    }

    /// Posts JSON and reads JSON.
    pub(super) fn post<Reply: DeserializeOwned>(
        &self,
        url: &str,
        kind: &str,
        question: &impl Serialize,
    ) -> Result<Reply, HubError> {
        let answer = self.send("POST", url, kind, &json(url, question)?)?;
        parse(url, &answer.body)
    }

    /// Sends bytes.
    pub(super) fn send(&self, method: &str, url: &str, kind: &str, body: &[u8]) -> Result<HubResponse, HubError> {
        let open = || -> Result<Box<dyn Read + '_>, HubError> { Ok(Box::new(body)) };
        self.request(method, url, Some(&RequestBody { kind, nbytes: body.len() as u64, is_signed: false, open: &open }))
    }

    /// Sends a request until it succeeds, is refused, or has failed too often.
    pub(super) fn request(
        &self,
        method: &str,
        url: &str,
        content: Option<&RequestBody<'_>>,
    ) -> Result<HubResponse, HubError> {
        let mut pause = self.pause;
        for attempt in 1.. {
            match self.attempt(method, url, content) {
                Ok(answer) => return Ok(answer),
                Err(failed) if attempt < ATTEMPTS && failed.may_pass => {
                    thread::sleep(failed.wait.unwrap_or(pause));
                    pause *= 2;
                }
                Err(failed) => return Err(failed.error),
            }
        }
        Err(self.unreachable(url, "no attempt was made"))
    }

    /// Sends a request once. Used for requests that must not be carried out twice.
    pub(super) fn send_once(&self, url: &str, kind: &str, body: &[u8]) -> Result<HubResponse, (HubError, bool)> {
        let open = || -> Result<Box<dyn Read + '_>, HubError> { Ok(Box::new(body)) };
        let content = RequestBody { kind, nbytes: body.len() as u64, is_signed: false, open: &open };
        self.attempt("POST", url, Some(&content)).map_err(|failed| {
            if failed.may_pass {
                thread::sleep(failed.wait.unwrap_or(self.pause));
            }
            (failed.error, failed.may_pass)
        })
    }

    fn attempt(&self, method: &str, url: &str, content: Option<&RequestBody<'_>>) -> Result<HubResponse, FailedTry> {
        let lasting = |error| FailedTry { error, wait: None, may_pass: false };
        let passing = |error: ureq::Error| {
            let error = self.unreachable(url, &error.to_string());
            FailedTry { error, wait: None, may_pass: true }
        };
        let mut request = ureq::http::Request::builder().method(method).uri(url).header("accept", "application/json");
        let is_signed = content.is_some_and(|content| content.is_signed);
        // The token must not be sent to the storage, which is another service than the hub.
        if let Some(value) = self.hub.authorization(url).filter(|_| !is_signed) {
            request = request.header("authorization", value);
        }
        let nbytes = content.map_or(0, |content| content.nbytes);
        // The limit depends on the size. A fixed limit would abort large files on slow connections, and wait long for small files
        // on dead ones.
        let time = PATIENCE + Duration::from_secs(nbytes / SLOWEST);
        let invalid = |error: ureq::http::Error| lasting(self.answer_error(url, &error.to_string()));
        let sent = match content {
            None => {
                let request = request.body(()).map_err(invalid)?;
                self.agent.run(self.agent.configure_request(request).timeout_global(Some(time)).build())
            }
            Some(content) => {
                let mut reader = (content.open)().map_err(lasting)?;
                let request = request.header("content-type", content.kind).header("content-length", nbytes);
                let request = request.body(SendBody::from_reader(&mut reader)).map_err(invalid)?;
                self.agent.run(self.agent.configure_request(request).timeout_global(Some(time)).build())
            }
        };
        let mut answer = sent.map_err(passing)?;
        let code = answer.status().as_u16();
        let wait = retry_after_ns(|name| answer.headers().get(name)?.to_str().ok()).map(Duration::from_nanos);
        let body = answer.body_mut().with_config().limit(MAX_ANSWER).read_to_vec().map_err(passing)?;
        if (200..300).contains(&code) {
            return Ok(HubResponse { headers: answer.headers().clone(), body });
        }
        let message = self.reason(code, &body);
        // Messages end up in logs, and a signed address gives write access to any person who reads it.
        let error = HubError::Refused { url: url_without_signature(url), code, message };
        Err(FailedTry { error, wait, may_pass: matches!(code, 408 | 429 | 500..) })
    }

    fn reason(&self, code: u16, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let error = serde_json::from_slice::<serde_json::Value>(body).ok();
        let said = error.as_ref().and_then(|error| error["error"].as_str()).unwrap_or(text.trim());
        let said: String = self.hub.redacted(said).chars().filter(|c| !c.is_control()).take(MAX_REASON).collect();
        match code {
            401 => format!("the token is not valid ({said}); set HF_TOKEN to one with write access"),
            403 => format!("{said}; the token needs write access to the repository"),
            _ => said,
        }
    }

    fn unreachable(&self, url: &str, message: &str) -> HubError {
        HubError::Unreachable { url: url_without_signature(url), message: self.hub.redacted(message) }
    }

    fn answer_error(&self, url: &str, message: &str) -> HubError {
        HubError::Answer { url: url_without_signature(url), message: self.hub.redacted(message) }
    }
}

pub(super) fn json(url: &str, question: &impl Serialize) -> Result<Vec<u8>, HubError> {
    let failed =
        |error: serde_json::Error| HubError::Answer { url: url_without_signature(url), message: error.to_string() };
    serde_json::to_vec(question).map_err(failed)
}

pub(super) fn parse<Reply: DeserializeOwned>(url: &str, body: &[u8]) -> Result<Reply, HubError> {
    let failed =
        |error: serde_json::Error| HubError::Answer { url: url_without_signature(url), message: error.to_string() };
    serde_json::from_slice(body).map_err(failed)
}

/// Returns an address without its query: addresses of the storage contain a signature, which permits writing.
fn url_without_signature(url: &str) -> String {
    url.split('?').next().unwrap_or_default().to_owned()
}
