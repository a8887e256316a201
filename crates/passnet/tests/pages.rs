//! Pages as a browser and hostile clients meet them: the real command over the logs of a real run.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn passnet(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_passnet")).args(arguments).current_dir(root()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

/// The published logs: four runs over two suites.
fn runs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let archive = std::fs::File::open(root().join("docs/results/h200-runs.tar.gz")).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(folder.path()).unwrap();
    folder
}

/// A server that dies with the test.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(runs: &Path) -> Self {
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

    /// Sends bytes as they are; the answer as text, empty where the server hangs up.
    fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // A server may hang up before it has read everything.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> (u16, String) {
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

#[test]
fn bundles_are_whole_and_show_any_change() {
    let runs = runs();
    let path = |name: &str| runs.path().join(name).to_str().unwrap().to_owned();
    let (run, bundle) = (path("demo-passes"), path("demo.pnb"));
    let (code, id) = passnet(&["-q", "bundle", &run, "--out", &bundle]);
    assert_eq!(code, 0, "{id}");
    let id = id.lines().find(|line| line.len() == 64).unwrap().to_owned();
    let (code, text) = passnet(&["bundle", "--verify", &bundle, "--expect", &id]);
    assert!(code == 0 && text.contains(&id), "{text}");
    assert_eq!(passnet(&["bundle", "--verify", &bundle, "--expect", &"0".repeat(64)]).0, 1);
    let again = path("again.pnb");
    passnet(&["bundle", &run, "--out", &again]);
    assert_eq!(std::fs::read(&bundle).unwrap(), std::fs::read(&again).unwrap(), "equal runs give equal bundles");

    let unpacked = zstd::decode_all(std::fs::File::open(&bundle).unwrap()).unwrap();
    let refused = |name: &str, tar: &[u8], why: &str| {
        let changed = path(name);
        std::fs::write(&changed, zstd::encode_all(tar, 1).unwrap()).unwrap();
        let (code, text) = passnet(&["bundle", "--verify", &changed]);
        assert!(code == 1 && text.contains(why), "{name}: {text}");
    };
    let mut slower = unpacked.clone();
    let at = find(&slower, b"\"status\":\"no_match\"");
    slower[at + 10..at + 18].copy_from_slice(b"correct\"");
    refused("changed.pnb", &slower, "changed or damaged");
    refused("cut.pnb", &unpacked[..unpacked.len() / 2], "");
    let mut evil = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..16].copy_from_slice(b"../../etc/passwd");
    header.set_size(3);
    header.set_cksum();
    evil.append(&header, &b"abc"[..]).unwrap();
    refused("evil.pnb", &evil.into_inner().unwrap(), "`manifest.json` should stand here");
    refused("bomb.pnb", &bomb(), "no run is that large");
    std::fs::write(path("rubbish.pnb"), b"rubbish").unwrap();
    assert_eq!(passnet(&["bundle", "--verify", &path("rubbish.pnb")]).0, 1);
}

fn find(text: &[u8], word: &[u8]) -> usize {
    text.windows(word.len()).position(|window| window == word).unwrap()
}

/// A manifest that announces 2 GiB.
fn bomb() -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path("manifest.json").unwrap();
    header.set_size(2 << 30);
    header.set_cksum();
    let mut tar = header.as_bytes().to_vec();
    tar.resize(1 << 20, b' ');
    tar
}

#[test]
fn comparisons_gate_and_reports_have_every_form() {
    let runs = runs();
    let path = |name: &str| runs.path().join(name).to_str().unwrap().to_owned();
    let (eager, inductor) = (path("eager"), path("inductor"));
    let (code, text) = passnet(&["compare", &eager, &inductor, "--fail-on", "AS<-2%"]);
    assert!(code == 1 && text.contains("failed: AS<-2%") && text.contains("newly wrong"), "{text}");
    assert_eq!(passnet(&["compare", &eager, &eager, "--fail-on", "AS<-2%", "--fail-on", "slower>0"]).0, 0);
    assert_eq!(passnet(&["compare", &eager, &inductor, "--fail-on", "speed<1"]).0, 2);
    assert_eq!(passnet(&["compare", &eager, &path("demo-passes")]).0, 2);
    for (format, word) in [
        ("md", "| inductor |"),
        ("csv", "run,author,suite"),
        ("html", "<!DOCTYPE html>"),
        ("json", "\"schema_version\": 1"),
    ] {
        let (code, text) = passnet(&["report", &eager, &inductor, "--format", format]);
        assert!(code == 0 && text.contains(word), "{format}");
    }
    let parquet = path("results.parquet");
    assert_eq!(passnet(&["report", &eager, "--format", "parquet"]).0, 2);
    assert_eq!(passnet(&["report", &eager, "--format", "parquet", "--out", &parquet]).0, 0);
    assert!(std::fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    let study = path("study");
    let (code, text) = passnet(&["study", "--from", &inductor, "--out", &study]);
    assert!(code == 0 && text.contains("| slower end to end |") && text.contains("43.0 %"), "{text}");
}

#[test]
fn the_example_reads_what_the_report_writes() {
    let Some(python) = std::env::var_os("PASSNET_PYTHON") else {
        println!("skipped: PASSNET_PYTHON names no Python");
        return;
    };
    if !Command::new(&python).args(["-c", "import pandas"]).output().unwrap().status.success() {
        println!("skipped: that Python has no pandas");
        return;
    }
    let runs = runs();
    let results = runs.path().join("results.csv");
    let named: Vec<String> =
        ["eager", "inductor"].map(|run| runs.path().join(run).to_str().unwrap().to_owned()).to_vec();
    let (code, text) =
        passnet(&["report", &named[0], &named[1], "--format", "csv", "--out", results.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    let output = Command::new(python).arg(root().join("examples/analyse_runs.py")).arg(&results).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let row = |author: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(author)).unwrap_or_else(|| panic!("{author} in {text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    // Author, settled graphs, share that is correct, geometric mean of speed-ups: as in the study of these logs.
    assert_eq!(row("inductor ")[1..4], ["96", "0.99", "0.847"]);
    assert!(text.contains("Largest certain speed-ups:"), "{text}");
}

/// What a browser makes of a page: the document after scripts, and what it complains of.
fn browse(browser: &str, address: &str) -> (String, Vec<String>) {
    let profile = tempfile::tempdir().unwrap();
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        "--dump-dom",
    ];
    let output = Command::new(browser)
        .args(flags)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(address)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let complaints = errors.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), complaints)
}

/// The browser that `PASSNET_BROWSER` names, such as `chromium`.
fn browser() -> Option<String> {
    let named = std::env::var("PASSNET_BROWSER").ok();
    if named.is_none() {
        println!("skipped: PASSNET_BROWSER names no browser");
    }
    named
}

#[test]
fn a_browser_shows_every_kind_of_page_sorts_and_filters() {
    let Some(browser) = browser() else { return };
    let runs = runs();
    let site = runs.path().join("site");
    let folder = runs.path().to_str().unwrap();
    let (code, text) = passnet(&["site", site.to_str().unwrap(), folder, "--no-shapes", "--suite", "suites/demo"]);
    assert_eq!(code, 0, "{text}");
    let address = |path: &str| format!("file://{}/{path}", site.display());
    for path in [
        "index.html",
        "run/inductor.html",
        "suite/passbench-public-f7bfacd97dae.html",
        "task/demo-1/gpt2-gelu-tanh.html",
        "evaluation/demo-passes/gpt2-gelu-tanh.html",
        "compare/inductor/eager.html",
    ] {
        assert!(site.join(path).is_file(), "{path}");
        let (page, complaints) = browse(&browser, &address(path));
        assert!(complaints.is_empty(), "{path}: {complaints:?}");
        assert!(
            !page.contains("class=\"sortable") || page.contains("<button type=\"button\">"),
            "{path}: the script ran"
        );
    }
    let rows = |page: &str| -> Vec<(bool, String)> {
        let body = page.split("id=\"board\"").nth(1).unwrap().split("</table>").next().unwrap().to_owned();
        let row = |row: &str| {
            let hidden = row.split('>').next().unwrap().contains("hidden");
            let name = row.split(".html\">").nth(1).unwrap_or_default().split('<').next().unwrap().to_owned();
            (hidden, name)
        };
        body.split("<tr").skip(2).map(row).collect()
    };
    let (page, _) = browse(&browser, &address("index.html#~find=inductor"));
    let shown: Vec<String> = rows(&page).into_iter().filter(|(hidden, _)| !hidden).map(|(_, name)| name).collect();
    assert_eq!(shown, ["inductor"]);
    let (page, complaints) = browse(&browser, &address("index.html#~sort=Author&hide=baseline"));
    let sorted: Vec<String> = rows(&page).iter().map(|(_, name)| name.clone()).collect();
    let mut expected = sorted.clone();
    expected.sort();
    assert!(sorted == expected && complaints.is_empty(), "{sorted:?} {complaints:?}");
    assert!(rows(&page).iter().any(|(hidden, _)| *hidden));
}
