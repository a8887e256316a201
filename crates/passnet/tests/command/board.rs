//! A submission from end to end: a run, its bundle, a board over HTTP, the signed result, and the pages.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Stdio},
};

use serde_json::Value;

use super::{command, passnet};

/// Few trials, because no test reads the times.
const QUICK: [&str; 6] = ["--trials", "2", "--warmup", "1", "--paths", "direct"];
const TASK: &str = "suites/demo/gpt2-gelu-tanh";

/// A board in a separate process.
struct Board {
    process: Child,
    address: String,
}

impl Board {
    fn start(folder: &Path) -> Self {
        Self::with_flags(folder, &[])
    }

    fn with_flags(folder: &Path, flags: &[&str]) -> Self {
        let arguments = ["board", folder.to_str().unwrap(), "--hidden", TASK, "--port", "0"];
        let mut process = command(&[&arguments[..], &QUICK, flags].concat()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        assert!(!address.is_empty(), "the board did not start");
        Self { process, address }
    }

    /// Sends a request; the answer's head as text, and its body.
    fn send(&self, head: &str, body: &[u8]) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!("{head}\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(head.as_bytes()).unwrap();
        // A board may close the connection before it has read the whole request.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        (String::from_utf8(answer[..end].to_vec()).unwrap(), answer[end + 4..].to_vec())
    }

    fn get(&self, path: &str) -> String {
        let (head, body) = self.send(&format!("GET {path} HTTP/1.1"), b"");
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        String::from_utf8(body).unwrap()
    }

    /// Posts a body; the status code and the answer.
    fn post(&self, kind: &str, length: usize, body: &[u8]) -> (u16, String) {
        let head = format!("POST /submit HTTP/1.1\r\nContent-Type: {kind}\r\nContent-Length: {length}");
        let (head, body) = self.send(&head, body);
        (head.split(' ').nth(1).unwrap().parse().unwrap(), String::from_utf8(body).unwrap())
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn has_python() -> bool {
    let found = std::env::var_os("PASSNET_PYTHON").is_some();
    if !found {
        println!("skipped: PASSNET_PYTHON names no Python with PyTorch");
    }
    found
}

/// A finished run of one pass directory as a bundle.
fn bundle(folder: &Path, author: &str) -> String {
    let (run, file) = (folder.join("run"), folder.join("run.pnb"));
    let (run, file) = (run.to_str().unwrap(), file.to_str().unwrap());
    let named =
        ["--name", "Tanh & Co", "--organisation", "Example lab", "--link", "https://example.org", "--commit", "c0ffee"];
    let arguments = ["bench", "run", TASK, "--author", author, "--out", run, "--fresh", "--graphs-per-task", "1"];
    let output = passnet(&[&arguments[..], &named, &QUICK].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(passnet(&["bundle", run, "--out", file]).status.success());
    file.to_owned()
}

#[test]
fn a_bundle_is_evaluated_again_signed_and_shown() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = bundle(folder.path(), "dir:suites/demo/passes");
    let home = folder.path().join("board");
    let board = Board::start(&home);
    let url = format!("http://{}", board.address);
    let key = board.get("/key.pub").trim().to_owned();

    let output = passnet(&["submit", &file, "--to", &url, "--wait", "300", "--key", &key]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let statement: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(statement["metadata"]["organisation"], "Example lab");
    assert_eq!(statement["graphs"], statement["correct"]);
    let id = statement["bundle"].as_str().unwrap();

    // The same bundle again is the same submission, and another key is not this board's.
    let other = passnet(&["submit", &file, "--to", &url, "--wait", "60", "--key", &"0".repeat(64)]);
    assert_eq!(other.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&other.stderr).contains("it was signed with key"));

    let index = board.get("/");
    assert!(index.contains("Tanh &amp; Co") && index.contains("Example lab"));
    let run = statement["run"].as_str().unwrap();
    // The pages say how to submit, and link the key and the signed result.
    assert!(index.contains("passnet submit") && index.contains("href=\"key.pub\""), "{index}");
    let (_, link) = index.split_once("href=\"run/").unwrap();
    let page = board.get(&format!("/run/{}", link.split('"').next().unwrap()));
    assert!(page.contains(&format!("href=\"../result/{run}.json\"")), "{page}");
    let signed: Value = serde_json::from_str(&board.get(&format!("/result/{run}.json"))).unwrap();
    assert_eq!(signed["key"], key.as_str());
    let log = passnet(&["score", home.join("runs").join(run).to_str().unwrap(), "--format", "json"]);
    assert!(log.status.success());
    check_hidden(&home, run);
    check_headers(&board);
    check_refusals(&board, &file);
    assert!(board.get(&format!("/submission/{id}.json")).contains("signature"));

    drop(board);
    check_limits(&home);

    // A board that finds a run it did not sign does not start.
    let log = home.join("runs").join(run).join("run.jsonl.zst");
    std::fs::write(&log, "rubbish").unwrap();
    let output = passnet(&["board", home.to_str().unwrap(), "--hidden", TASK, "--once"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did not sign"));
}

/// The public log has no rewritten graphs and no messages that quote them; the private log has both.
fn check_hidden(home: &Path, run: &str) {
    let text = |part: &str| {
        let file = std::fs::File::open(home.join(part).join(run).join("run.jsonl.zst")).unwrap();
        String::from_utf8(zstd::decode_all(file).unwrap()).unwrap()
    };
    assert!(text("private").contains("\"rewritten\""));
    let shown = text("runs");
    assert!(!shown.contains("\"rewritten\"") && !shown.contains("worst_index"), "{shown}");
}

/// A board counts the uploads from before its restart, and its refusal says when to retry.
fn check_limits(home: &Path) {
    let board = Board::with_flags(home, &["--uploads", "1"]);
    let head = "POST /submit HTTP/1.1\r\nContent-Type: application/vnd.passnet.bundle\r\nContent-Length: 7";
    let (head, body) = board.send(head, b"rubbish");
    assert!(head.starts_with("HTTP/1.1 429") && head.contains("retry-after: "), "{head}");
    assert!(String::from_utf8(body).unwrap().contains("the limit of this board for one submitter"));
}

/// Pages are compressed where the client can read that, and not sent again where it has them.
fn check_headers(board: &Board) {
    let (head, body) = board.send("GET / HTTP/1.1\r\nAccept-Encoding: gzip", b"");
    assert!(head.contains("content-encoding: gzip") && head.contains("cache-control: no-cache"), "{head}");
    assert!(body.len() < board.get("/").len() / 2);
    let (head, _) = board.send("GET / HTTP/1.1", b"");
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let (head, body) = board.send(&format!("GET / HTTP/1.1\r\nIf-None-Match: {tag}"), b"");
    assert!(head.starts_with("HTTP/1.1 304") && body.is_empty(), "{head}");
}

/// Damaged, oversized and mistyped bundles are refused with a reason, by the board and by the command.
fn check_refusals(board: &Board, file: &str) {
    let kind = "application/vnd.passnet.bundle";
    let mut bytes = std::fs::read(file).unwrap();
    let half = &bytes[..bytes.len() / 2];
    let (code, answer) = board.post(kind, half.len(), half);
    assert!(code == 422 && answer.contains("cannot be verified"), "{code} {answer}");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    assert_eq!(board.post(kind, bytes.len(), &bytes).0, 422);
    assert_eq!(board.post("text/plain", bytes.len(), &bytes).0, 415);
    let (code, answer) = board.post(kind, 65 << 20, b"");
    assert!(code == 413 && answer.contains("bytes"), "{code} {answer}");
    let damaged = format!("{file}.damaged.pnb");
    std::fs::write(&damaged, &bytes).unwrap();
    let output = passnet(&["submit", &damaged, "--to", &format!("http://{}", board.address)]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("cannot be verified"), "{message}");
    assert!(!message.contains("caused by"), "the message quotes its cause already: {message}");
}

#[test]
fn a_folder_is_a_board_without_a_server_and_baselines_are_refused() {
    if !has_python() || super::is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("board");
    let home = home.to_str().unwrap();
    let file = bundle(folder.path(), "noop");
    // A mistyped address, or a folder that no board has made.
    for absent in ["board.example.org", home, folder.path().to_str().unwrap()] {
        let output = passnet(&["submit", &file, "--to", absent]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("is not the folder of a board"));
    }
    let output = passnet(&["submit", folder.path().to_str().unwrap(), "--to", home]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("passnet bundle"));
    assert!(!Path::new(home).exists() && !Path::new("board.example.org").exists());
    assert!(passnet(&[&["board", home, "--hidden", TASK, "--once"][..], &QUICK].concat()).status.success());
    let output = passnet(&["submit", &file, "--to", home]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the bundle has no passes"));

    let file = bundle(folder.path(), "dir:suites/demo/passes");
    let output = passnet(&["submit", &file, "--to", "http://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("cannot reach the board at http://127.0.0.1:1"), "{message}");
    assert!(passnet(&["submit", &file, "--to", home]).status.success());
    let output = passnet(&[&["board", home, "--hidden", TASK, "--once"][..], &QUICK].concat());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("evaluated and shown"), "{text}");
    let pages = folder.path().join("pages");
    assert!(passnet(&["site", pages.to_str().unwrap(), &format!("{home}/runs")]).status.success());
    let seeded = passnet(&["board", home, "--hidden", TASK, "--once", "--seed", "1"]);
    assert_eq!(seeded.status.code(), Some(3), "a seed that authors know is refused");
}
