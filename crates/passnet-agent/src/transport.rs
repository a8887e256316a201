//! Transports of the training environment: lines on a pair of streams, and HTTP.

use std::{
    io::{self, BufRead, BufReader, Read as _, Write},
    net::{TcpListener, TcpStream},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use passnet_record::env::BusyReason;

use crate::{
    env::{EnvAnswer, EnvServer},
    semaphore::Semaphore,
};

/// Type of replies.
const JSON: &str = "application/json";

/// Bytes of one HTTP request.
const MAX_BODY: u64 = 64 << 20;
/// Longest wait for the rest of an HTTP request.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Answers one request per line of the input with one reply per line of the output, in the order in which replies are
/// ready. Returns when the input ends.
///
/// # Errors
/// Fails if the input cannot be read.
pub fn serve_lines(server: &EnvServer, input: impl BufRead, output: impl Write + Send) -> io::Result<()> {
    let (requests, output) = (Semaphore::new(server.requests()), Mutex::new(output));
    std::thread::scope(|scope| {
        for line in input.split(b'\n') {
            // Bytes that are not UTF-8 do not end the loop: the line gets a reply like any other, and other sessions continue.
            let line = String::from_utf8_lossy(&line?).into_owned();
            if line.trim().is_empty() {
                continue;
            }
            let permit = requests.acquire();
            let output = &output;
            scope.spawn(move || {
                let reply = server.answer(&line).to_json() + "\n";
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                // A client that stops reading also closes the input, which ends the loop.
                let _ = output.write_all(reply.as_bytes()).and_then(|()| output.flush());
                drop(permit);
            });
        }
        Ok(())
    })
}

/// Answers HTTP requests as long as the process lives: the body of a POST is a request, the body of the answer its reply.
pub fn serve_http(server: &EnvServer, listener: &TcpListener) {
    let requests = Semaphore::new(server.requests());
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let permit = requests.acquire();
            scope.spawn(move || {
                if let Err(error) = answer(server, stream) {
                    tracing::debug!("a request was not answered: {error}");
                }
                drop(permit);
            });
        }
    });
}

/// An HTTP answer.
struct HttpAnswer {
    status: &'static str,
    kind: &'static str,
    /// Seconds after which the client should try again.
    retry_after: Option<u64>,
    body: String,
}

impl HttpAnswer {
    fn error(status: &'static str, message: &str) -> Self {
        Self { status, kind: JSON, retry_after: None, body: EnvAnswer::error(message).to_json() }
    }
}

fn answer(server: &EnvServer, mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?.take(MAX_BODY));
    let HttpAnswer { status, kind, retry_after, body } = answer_to(server, read_request(&mut reader)?);
    let retry = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{retry}connection: close\r\n\r\n{body}"
    )
}

fn answer_to(server: &EnvServer, request: HttpRequest) -> HttpAnswer {
    let body = match request {
        HttpRequest::Post(body) => body,
        HttpRequest::Get(path) => return page(server, &path),
        // Pages of other sites must not run passes here.
        HttpRequest::OfBrowser => {
            return HttpAnswer::error("403 Forbidden", "requests from web pages are refused");
        }
        HttpRequest::Other => {
            return HttpAnswer::error("405 Method Not Allowed", "send the request as JSON with POST");
        }
    };
    let answer = server.answer(&String::from_utf8_lossy(&body));
    let (status, retry_after) = match answer.busy() {
        Some((BusyReason::Quota, seconds)) => ("429 Too Many Requests", Some(seconds)),
        Some((BusyReason::Queue, seconds)) => ("503 Service Unavailable", Some(seconds)),
        None => ("200 OK", None),
    };
    HttpAnswer { status, kind: JSON, retry_after, body: answer.to_json() }
}

/// Returns the pages for people and for Prometheus.
fn page(server: &EnvServer, path: &str) -> HttpAnswer {
    let (kind, body) = match (path, server.devices()) {
        ("/", Some(devices)) => ("text/html; charset=utf-8", devices.page()),
        ("/metrics", Some(devices)) => ("text/plain; version=0.0.4; charset=utf-8", devices.metrics()),
        (_, Some(_)) => return HttpAnswer::error("404 Not Found", "the paths are / and /metrics"),
        (_, None) => {
            let message = "send the request as JSON with POST; pages and metrics need --fleet";
            return HttpAnswer::error("405 Method Not Allowed", message);
        }
    };
    HttpAnswer { status: "200 OK", kind, retry_after: None, body }
}

/// The parts of an HTTP request that decide the answer.
#[derive(Debug, PartialEq, Eq)]
enum HttpRequest {
    /// A body to answer.
    Post(Vec<u8>),
    /// A path to read.
    Get(String),
    /// A page in a browser sent it.
    OfBrowser,
    /// Another method, or a body that is too long.
    Other,
}

fn read_request(reader: &mut impl BufRead) -> io::Result<HttpRequest> {
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let (mut length, mut of_browser) = (0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
        // Browsers always send `Origin` with a POST from a page, and scripts cannot remove it.
        of_browser |= name.eq_ignore_ascii_case("origin");
    }
    if of_browser {
        return Ok(HttpRequest::OfBrowser);
    }
    if let Some(path) = first.strip_prefix("GET ") {
        return Ok(HttpRequest::Get(path.split([' ', '?']).next().unwrap_or_default().to_owned()));
    }
    // Refused before the body is read, so its size costs no memory.
    if !first.starts_with("POST ") || length >= MAX_BODY {
        return Ok(HttpRequest::Other);
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok(HttpRequest::Post(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_post_of_a_program() {
        let check = |text: &str, expected| {
            assert_eq!(read_request(&mut text.as_bytes()).unwrap(), expected, "{text}");
        };
        check("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}rest", HttpRequest::Post(b"{}".to_vec()));
        check("POST / HTTP/1.1\r\n\r\n", HttpRequest::Post(Vec::new()));
        check("POST / HTTP/1.1\r\nOrigin: https://example.org\r\ncontent-length: 2\r\n\r\n{}", HttpRequest::OfBrowser);
        check("GET /metrics?x=1 HTTP/1.1\r\n\r\n", HttpRequest::Get("/metrics".to_owned()));
        check("GET / HTTP/1.1\r\nOrigin: https://example.org\r\n\r\n", HttpRequest::OfBrowser);
        check("PUT / HTTP/1.1\r\n\r\n", HttpRequest::Other);
        check("POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n{}", HttpRequest::Other);
        check("", HttpRequest::Other);
    }
}
