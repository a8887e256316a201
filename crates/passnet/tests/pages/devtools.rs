//! A headless Chromium, driven through its DevTools protocol over a pipe.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest silence of the browser before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Folder of the fonts of the committed screenshots, where the package `fonts-dejavu-core` puts them.
const FONTS: &str = "/usr/share/fonts/truetype/dejavu";
/// The configuration of the system without its other fonts, so that pages look alike on machines with other fonts.
const FONT_CONFIGURATION: &str = r#"<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<include>/etc/fonts/fonts.conf</include>
<reset-dirs/>
<dir>/usr/share/fonts/truetype/dejavu</dir>
</fontconfig>"#;

/// A browser with one tab.
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    /// Of the tab.
    session: String,
    last_id: u64,
    /// Errors and warnings of the page since it was requested.
    complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the browser that `PASSNET_BROWSER` names, such as `chromium`; `None` where it names none.
    pub(crate) fn start() -> Option<Self> {
        let Ok(program) = std::env::var("PASSNET_BROWSER") else {
            println!("skipped: PASSNET_BROWSER names no browser");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        if Path::new(FONTS).join("DejaVuSans.ttf").exists() {
            let fonts = profile.path().join("fonts.conf");
            std::fs::write(&fonts, FONT_CONFIGURATION).unwrap();
            command.env("FONTCONFIG_FILE", fonts);
        }
        // The protocol is spoken on descriptors 3 and 4.
        let mut process = command
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1", &program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, from) = channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let to = process.stdin.take().unwrap();
        let (session, complaints) = (String::new(), Vec::new());
        let mut browser = Self { process, to, from, session, last_id: 0, complaints, _profile: profile };
        let target = browser.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", &attach);
        attached["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Sends a command and waits for its result.
    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The next message; complaints of the page are kept.
    fn receive(&mut self) -> Value {
        let message = self.from.recv_timeout(PATIENCE).unwrap();
        let parameters = &message["params"];
        let complains = match message["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Network.loadingFailed" | "Log.entryAdded") => true,
            Some("Runtime.consoleAPICalled") => parameters["type"] != "log",
            _ => false,
        };
        if complains {
            self.complaints.push(parameters.to_string());
        }
        message
    }

    /// Loads a page, also if only the part after `#` differs. Returns the errors that the page reported.
    pub(crate) fn open(&mut self, address: &str) -> Vec<String> {
        self.complaints.clear();
        for address in ["about:blank", address] {
            self.ask("Page.navigate", &json!({ "url": address }));
            while self.receive()["method"] != "Page.loadEventFired" {}
        }
        // All pending messages arrive before this answer.
        self.evaluate("0");
        self.complaints.clone()
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let result = self
            .ask("Runtime.evaluate", &json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }));
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Presses a key; `text` is the character that it types, empty for keys that type none.
    pub(crate) fn press(&mut self, key: &str, text: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            " " => 32,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            _ => 0,
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.ask("Input.dispatchKeyEvent", &event);
        }
    }

    /// Sets the width of the window in CSS pixels, and whether dark colours are preferred.
    pub(crate) fn look(&mut self, width: u32, dark: bool) {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
        let scheme = json!({ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } });
        self.ask("Emulation.setEmulatedMedia", &json!({ "features": [scheme] }));
    }

    /// Keeps a picture of the page as PNG, at most 3,000 pixels high.
    pub(crate) fn picture(&mut self, path: &Path) {
        let size = self.evaluate("[innerWidth, Math.min(document.documentElement.scrollHeight, 3000)]");
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.ask("Page.captureScreenshot", &parameters);
        std::fs::write(path, base64(picture["data"].as_str().unwrap())).unwrap();
    }
}

impl Browser {
    /// The upper part of the page as WebP in base64, as a window of 1280 x 800 pixels shows it, at three quarters of that size.
    pub(crate) fn screenshot(&mut self) -> String {
        let clip = json!({ "x": 0, "y": 0, "width": 1280, "height": 800, "scale": 0.75 });
        let parameters = json!({ "format": "webp", "quality": 75, "clip": clip });
        let picture = self.ask("Page.captureScreenshot", &parameters);
        picture["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The bytes behind base64.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |digit: u8| DIGITS.iter().position(|&other| other == digit);
    let digits: Vec<usize> = text.bytes().map_while(value).collect();
    let bytes = digits.chunks(4).flat_map(|group| {
        let word = group.iter().fold(0, |word, digit| word << 6 | digit) << (6 * (4 - group.len()));
        let bytes = [word >> 16, word >> 8, word].map(|byte| (byte & 255) as u8);
        bytes.into_iter().take(group.len() * 3 / 4)
    });
    bytes.collect()
}
