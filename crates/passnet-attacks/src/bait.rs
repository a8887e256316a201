//! Targets of attacks outside their scratch folder: a directory with a secret and with copies of a task and of a cache, and a
//! server that waits for calls.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use fs_err as fs;

use crate::AttackError;

/// Bait for one evaluation. Each evaluation has a new bait, so that no attack profits from an earlier one.
pub(crate) struct Bait {
    directory: tempfile::TempDir,
    secret: String,
    port: u16,
}

impl Bait {
    /// Returns a bait with a copy of a sample folder in `task`.
    pub(crate) fn new(sample: &Path) -> Result<Self, AttackError> {
        let directory = tempfile::Builder::new().prefix("bait-").tempdir()?;
        let name = directory.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let secret = format!("secret-of-{name}");
        fs::write(directory.path().join("secret"), &secret)?;
        fs::create_dir(directory.path().join("cache"))?;
        fs::create_dir(directory.path().join("task"))?;
        for item in fs::read_dir(sample)? {
            let item = item?;
            fs::copy(item.path(), directory.path().join("task").join(item.file_name()))?;
        }
        Ok(Self { directory, secret, port: serve()? })
    }

    /// Inserts the paths of this bait into a pass file: `@BAIT@` is the directory, `@PORT@` the port of the server on the
    /// loopback interface.
    pub(crate) fn fill_in(&self, bytes: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let place = self.directory.path().to_string_lossy();
                text.replace("@BAIT@", &place).replace("@PORT@", &self.port.to_string()).into_bytes()
            }
            Err(_) => bytes.to_owned(),
        }
    }

    /// Returns whether an attack has written its mark to a file of the bait.
    pub(crate) fn is_marked(&self, path: &str) -> bool {
        fs::read(self.path(path)).is_ok_and(|bytes| bytes.windows(5).any(|window| window == b"pwned"))
    }

    /// Returns whether a text contains the secret.
    pub(crate) fn is_leaked(&self, text: &str) -> bool {
        text.contains(&self.secret)
    }

    /// Returns whether the process whose id is in the file `pid` still exists after two seconds.
    pub(crate) fn has_survivor(&self) -> bool {
        let Ok(pid) = fs::read_to_string(self.path("pid")) else { return false };
        // The kernel may need a moment to end a process that was killed.
        let survived = (0..100).all(|_| {
            let running = is_running(pid.trim());
            if running {
                std::thread::sleep(Duration::from_millis(20));
            }
            running
        });
        if survived && let Some(pid) = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw) {
            // The attack has succeeded, and its process is no longer needed. It may have ended by now.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        survived
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    // The state follows the name, which is in brackets and may contain brackets. The states `Z` and `X` mean that the process has
    // ended.
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

/// Starts a server that answers every request with a solution, until this process ends. Returns its port.
fn serve() -> std::io::Result<u16> {
    // All baits share one server, because it has no state that an attack could use.
    static PORT: std::sync::OnceLock<std::io::Result<u16>> = std::sync::OnceLock::new();
    let port = PORT.get_or_init(|| {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        std::thread::spawn(move || {
            for mut caller in listener.incoming().flatten() {
                let body = "torch.nn.functional.relu(x) + y";
                let answer = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                let mut request = [0; 1024];
                // A client that closes the connection early gets no answer. Other clients are not affected.
                let _ = caller.set_read_timeout(Some(Duration::from_secs(1)));
                let _ = caller.read(&mut request).and_then(|_| caller.write_all(answer.as_bytes()));
            }
        });
        Ok(port)
    });
    let failed = |error: &std::io::Error| format!("cannot listen on the loopback interface: {error}");
    port.as_ref().copied().map_err(|error| std::io::Error::new(error.kind(), failed(error)))
}
