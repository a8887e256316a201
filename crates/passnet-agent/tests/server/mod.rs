//! A scripted model behind real HTTP.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

/// Answer of the server to a request.
pub(crate) enum Answer {
    /// A status and JSON.
    Json(u16, Value),
    /// A status, further headers, and any body.
    Text(u16, &'static str, String),
    /// Bytes on the wire, then the end of the connection.
    Raw(Vec<u8>),
    /// Nothing for a while, then the end of the connection.
    Stall(Duration),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: String,
    pub(crate) body: Value,
}

/// Runs until the test ends.
pub(crate) struct Server {
    /// Address, with `/v1`.
    pub(crate) url: String,
    /// All requests so far.
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers each request by `script`, which gets the number of earlier requests.
    pub(crate) fn start(script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (seen, script, count) = (Arc::new(Mutex::new(Vec::new())), Arc::new(script), Arc::new(AtomicUsize::new(0)));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, script, count) = (Arc::clone(&log), Arc::clone(&script), Arc::clone(&count));
                std::thread::spawn(move || {
                    let Some(request) = stream.ok().and_then(|stream| Some((read(&stream)?, stream))) else { return };
                    let (request, stream) = request;
                    let answer = script(count.fetch_add(1, Ordering::SeqCst), &request.body);
                    log.lock().unwrap().push(request);
                    // A client that has given up is not a failure of the server.
                    let _ = write(&stream, answer);
                });
            }
        });
        Self { url, seen }
    }
}

/// Answers the request of one connection.
pub(crate) fn answer_once(stream: &TcpStream, answer: Answer) {
    if read(stream).is_some() {
        let _ = write(stream, answer);
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut headers, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        headers.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    Some(Seen { path, headers, body: serde_json::from_slice(&body).ok()? })
}

fn write(mut stream: &TcpStream, answer: Answer) -> std::io::Result<()> {
    let (status, headers, body) = match answer {
        Answer::Json(status, value) => (status, "", value.to_string()),
        Answer::Text(status, headers, body) => (status, headers, body),
        Answer::Raw(bytes) => return stream.write_all(&bytes),
        Answer::Stall(time) => {
            std::thread::sleep(time);
            return Ok(());
        }
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}")
}

/// An answer in the form of chat completions.
pub(crate) fn says(content: &str, calls: &[(&str, Value)]) -> Answer {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            json!({"id": format!("c{index}"), "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}});
    Answer::Json(200, json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}))
}

/// A call that writes a file.
pub(crate) fn create(path: &str, text: &str) -> (&'static str, Value) {
    ("file_editor", json!({"command": "create", "path": path, "file_text": text}))
}

/// A call that evaluates.
pub(crate) fn evaluate() -> (&'static str, Value) {
    ("pass_evaluator", json!({}))
}

/// A call that checks the results.
pub(crate) fn check() -> (&'static str, Value) {
    ("pass_evaluator", json!({"stage": "check"}))
}

/// Returns the number of the model's answers in the conversation of a request.
pub(crate) fn turn(request: &Value) -> usize {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "assistant").count()
}

/// Returns whether a request is about a task.
pub(crate) fn is_task(request: &Value, task: &str) -> bool {
    request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .any(|m| m["content"].as_str().is_some_and(|text| text.contains(&format!("Task `{task}`"))))
}
