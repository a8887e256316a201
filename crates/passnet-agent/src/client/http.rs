//! One HTTP request, with limits on everything that the server decides.

use std::{io::ErrorKind, time::Duration};

use passnet_record::retry_after_ns;
use ureq::{Agent, Error};

use super::answer::Problem;

/// Maximum bytes of a response; a model's longest answers have a few hundred kilobytes.
const MAX_BODY: u64 = 32 << 20;
/// Maximum bytes of headers.
const MAX_HEADERS: usize = 64 << 10;
/// Time limit to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Response of a server.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    /// Pause that the server asks for.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

/// Creates a connection pool. Redirects are not followed: the key is for the named server only.
pub(super) fn agent(timeout: Duration) -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_response_header_size(MAX_HEADERS)
        .timeout_connect(Some(CONNECT_TIMEOUT.min(timeout)))
        .timeout_global(Some(timeout))
        .user_agent(concat!("passnet/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

/// Posts JSON.
///
/// # Errors
/// Every failure may be temporary. [`Problem::Unreachable`] if no connection was made.
pub(super) fn post(
    agent: &Agent,
    url: &str,
    headers: &[(&str, String)],
    body: &[u8],
    timeout: Duration,
) -> Result<Response, Problem> {
    let mut request = agent.post(url).content_type("application/json").header("accept", "application/json");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    // The limit of this try can be shorter than the pool's: the attempt may have less time left.
    let request = request.config().timeout_global(Some(timeout)).build();
    let mut response = request.send(body).map_err(|error| problem(&error))?;
    let status = response.status().as_u16();
    let retry_after = retry_after_ns(|name| response.headers().get(name)?.to_str().ok()).map(Duration::from_nanos);
    let body = response.body_mut().with_config().limit(MAX_BODY).read_to_vec().map_err(|error| problem(&error))?;
    Ok(Response { status, retry_after, body })
}

fn problem(error: &Error) -> Problem {
    match error {
        Error::Timeout(_) => Problem::broken("no answer within the time limit"),
        Error::BodyExceedsLimit(limit) => Problem::broken(format!("the answer has more than {limit} bytes")),
        Error::Io(cause) if cause.kind() == ErrorKind::ConnectionRefused => {
            Problem::Unreachable("connection refused".to_owned())
        }
        Error::ConnectionFailed => Problem::Unreachable("connection failed".to_owned()),
        Error::HostNotFound => Problem::Unreachable("unknown host".to_owned()),
        other => Problem::broken(other.to_string()),
    }
}
