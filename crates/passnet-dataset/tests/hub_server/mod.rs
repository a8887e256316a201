//! A stand-in for a hub: the requests of an upload, as the documented API of Hugging Face answers them, with failures on demand.
#![allow(dead_code, reason = "each test program uses a part of it")]

mod api;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

/// The token that may write.
pub(crate) const TOKEN: &str = "hf_standin_token";

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// An answer, before it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// A failure of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Closes the connection instead of answering.
    Drop,
    /// Carries the request out, then closes the connection.
    DropAfter,
    /// Answers with a status and a pause of no time.
    Status(u16),
}

/// A file of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) oid: String,
    pub(crate) is_large: bool,
    pub(crate) content: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Files of the repository; `None` if there is none.
    pub(crate) files: Option<BTreeMap<String, Stored>>,
    pub(crate) is_private: bool,
    pub(crate) commits: Vec<String>,
    /// Large files by SHA-256.
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    pub(crate) parts: BTreeMap<(String, usize), Vec<u8>>,
    /// Size of parts; files up to this size are sent at once.
    pub(crate) part_bytes: Option<usize>,
    /// Method and path of each request, in order.
    pub(crate) log: Vec<String>,
    /// Failures of requests whose method and path contain the text, and how often.
    pub(crate) faults: Vec<(String, Fault, usize)>,
}

/// A server in a thread. It ends with the program.
pub(crate) struct HubServer {
    pub(crate) endpoint: String,
    state: Arc<Mutex<State>>,
}

impl HubServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, address) = (Arc::clone(&state), endpoint.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, address) = (Arc::clone(&shared), address.clone());
                thread::spawn(move || serve(&stream, &state, &address));
            }
        });
        Self { endpoint, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn fail(&self, text: &str, fault: Fault, times: usize) {
        self.state().faults.push((text.to_owned(), fault, times));
    }

    /// Number of requests whose method and path contain the text.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.state().log.iter().filter(|line| line.contains(text)).count()
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>, address: &str) -> Option<()> {
    let request = read(stream)?;
    let line = format!("{} {}", request.method, request.path);
    let mut state = state.lock().unwrap();
    state.log.push(line.clone());
    let fault = state.faults.iter_mut().find(|(text, _, times)| *times > 0 && line.contains(text.as_str()));
    let fault = fault.map(|(_, fault, times)| {
        *times -= 1;
        *fault
    });
    let answer = match fault {
        Some(Fault::Drop) => return None,
        Some(Fault::Status(code)) => Answer {
            code,
            headers: vec![("retry-after".to_owned(), "0".to_owned())],
            body: r#"{"error": "come again"}"#.to_owned(),
        },
        Some(Fault::DropAfter) => {
            state.answer(&request, address);
            return None;
        }
        None => state.answer(&request, address),
    };
    drop(state);
    write(stream, &answer)
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut request =
        Request { method: words.next()?.to_owned(), path: words.next()?.to_owned(), ..Request::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        request.headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = request.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

fn write(mut stream: &TcpStream, answer: &Answer) -> Option<()> {
    let mut head =
        format!("HTTP/1.1 {} x\r\nconnection: close\r\ncontent-length: {}\r\n", answer.code, answer.body.len());
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{}", answer.body).as_bytes()).ok()
}
