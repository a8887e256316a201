//! Requests of clients, valid and not.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{root, runs};

/// A server that ends with the test.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(runs: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_passnet"))
            .arg("serve")
            .arg(runs)
            .args(["--port", "0", "--no-shapes", "--suite", "suites/demo"])
            .current_dir(root())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { process, address }
    }

    /// Sends bytes unchanged. Returns the answer as text, empty if the server closes the connection.
    fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // A server may close the connection before it has read the whole request.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        let answer = self.send(request.as_bytes());
        let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        (code, answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_server_survives_what_clients_send() {
    let runs = runs();
    std::fs::create_dir(runs.path().join("broken")).unwrap();
    std::fs::write(runs.path().join("broken/run.jsonl"), "rubbish\n").unwrap();
    let server = Server::start(runs.path());
    assert_eq!(server.get("/").0, 200);
    for path in [
        "/run/inductor.html",
        "/suite/passbench-public-f7bfacd97dae.html",
        "/task/demo-1/gpt2-gelu-tanh.html",
        "/evaluation/demo-passes/gpt2-gelu-tanh.html",
        "/?find=%3Cscript%3E",
    ] {
        assert_eq!(server.get(path).0, 200, "{path}");
    }
    let long = format!("/{}", "a".repeat(20_000));
    let many = format!("/?{}", "a=b&".repeat(3_000));
    for path in [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/run/..%2f..%2fetc%2fpasswd.html",
        "//etc/passwd",
        "/%00",
        "/%ff%fe",
        "/run/inductor.html/",
        "/compare/inductor/inductor.html",
        "/suite/demo-1~99999999999999999999.html",
        &long,
    ] {
        let (code, answer) = server.get(path);
        assert!(code >= 400 || code == 0, "{path}: {code}");
        assert!(!answer.contains("root:"), "{path}");
    }
    assert!(matches!(server.get(&many).0, 200 | 414 | 431));
    for bytes in [
        &b"\0\0\0\0"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
    ] {
        assert!(!server.send(bytes).starts_with("HTTP/1.1 200"));
    }
    let elsewhere = "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert!(server.send(elsewhere.as_bytes()).starts_with("HTTP/1.1 403"));
    let answer = server.get("/").1;
    assert!(answer.contains("content-security-policy: default-src 'none'"), "{answer}");
}

#[test]
fn two_hundred_clients_are_answered_at_once() {
    let runs = runs();
    let server = Server::start(runs.path());
    let paths = ["/", "/run/inductor.html", "/suite/demo-1.html", "/compare/noop/eager.html", "/nothing.html"];
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let server = &server;
        let clients: Vec<_> =
            (0..200).map(|client| scope.spawn(move || server.get(paths[client % paths.len()]).0)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for (client, code) in codes.into_iter().enumerate() {
        let path = paths[client % paths.len()];
        // Which of two runs ranks higher decides the way of a static site; a server has both.
        assert_eq!(code, if path == "/nothing.html" { 404 } else { 200 }, "{path}");
    }
}
