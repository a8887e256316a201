//! The bridge: a Python process that starts stations on a cluster and transports lines between them and the driver.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::Duration,
};

use passnet_record::{Device, fleet::ClusterEvent};
use passnet_services::Interpreter;
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{FleetError, message};

/// Number of lines of stderr that are kept for error messages.
const LAST_LINES: usize = 8;
/// Time limit for the bridge to end its stations. It is longer than `_END_WAIT` of `python/passnet/_fleet/driver.py`, the time after
/// which the bridge process ends itself.
const END_WAIT: Duration = Duration::from_secs(20);

/// Command line of the bridge.
#[derive(Clone, Debug)]
pub struct BridgeConfig {
    /// Python with the cluster's package.
    pub interpreter: Interpreter,
    /// Module of the bridge.
    pub module: &'static str,
    /// Arguments of the module.
    pub arguments: Vec<OsString>,
}

/// A Ray cluster and the stations that the bridge starts on it.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// Address of the cluster.
    pub address: &'a str,
    /// Device of each station; its index does not count.
    pub device: Device,
    /// Stations on each node, where the device is the CPU; on GPUs there is one per GPU.
    pub stations_per_node: u32,
    /// CPU cores of a station; 0 for an equal share of the node.
    pub cores: usize,
    /// Program that a station runs.
    pub command: &'a Path,
}

impl BridgeConfig {
    /// Returns the bridge to a Ray cluster.
    pub fn of_cluster(interpreter: Interpreter, cluster: &Cluster<'_>) -> Self {
        let flags: [(&str, OsString); 5] = [
            ("--address", cluster.address.into()),
            ("--device", cluster.device.kind().into()),
            ("--stations-per-node", cluster.stations_per_node.to_string().into()),
            ("--cores", cluster.cores.to_string().into()),
            ("--command", cluster.command.into()),
        ];
        let arguments = flags.into_iter().flat_map(|(name, value)| [name.into(), value]).collect();
        Self { interpreter, module: "passnet._fleet.bridge", arguments }
    }
}

/// Helper processes on a Ray cluster, one for each core or GPU.
#[derive(Clone, Copy, Debug)]
pub struct HelperCluster<'a> {
    /// Address of the cluster.
    pub address: &'a str,
    /// `cpu`: a helper for each core; `cuda`: one for each GPU.
    pub device: &'a str,
    /// CPU cores of a helper.
    pub cores: usize,
    /// Program that a node runs, where it has no other.
    pub command: &'a Path,
}

impl BridgeConfig {
    /// Returns the bridge to the helpers of a Ray cluster.
    pub fn of_helpers(interpreter: Interpreter, cluster: &HelperCluster<'_>) -> Self {
        let flags: [(&str, OsString); 5] = [
            ("--work", "helper".into()),
            ("--address", cluster.address.into()),
            ("--device", cluster.device.into()),
            ("--cores", cluster.cores.to_string().into()),
            ("--command", cluster.command.into()),
        ];
        let arguments = flags.into_iter().flat_map(|(name, value)| [name.into(), value]).collect();
        Self { interpreter, module: "passnet._fleet.bridge", arguments }
    }
}

/// Message from the thread that reads the bridge's output.
#[derive(Debug)]
pub(crate) enum BridgeNews<E = ClusterEvent> {
    Event(E),
    /// A line that is not an event.
    Garbage(FleetError),
    /// The bridge has ended, and all stations with it. Contains its last lines of stderr.
    Ended(String),
}

/// A running bridge. Dropping it ends it and its stations.
pub(crate) struct Bridge<E = ClusterEvent> {
    child: Child,
    input: Option<ChildStdin>,
    news: mpsc::Receiver<BridgeNews<E>>,
}

impl<E: DeserializeOwned + Send + 'static> Bridge<E> {
    pub(crate) fn start(config: &BridgeConfig) -> Result<Self, FleetError> {
        let mut command: Command = config.interpreter.module(config.module);
        // A separate group: an interrupt of the terminal is for the driver, which lets the stations finish.
        command.args(&config.arguments).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|source| FleetError::Bridge { python: config.interpreter.python.clone(), source })?;
        let words = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stderr) = child.stderr.take() {
            let words = Arc::clone(&words);
            // Both pipes have a separate thread: a full pipe of stderr would block the bridge while the driver
            // reads stdout.
            std::thread::spawn(move || keep_last_lines(BufReader::new(stderr), &words));
        }
        let (sender, news) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let news = message(&line).map_or_else(BridgeNews::Garbage, BridgeNews::Event);
                    if sender.send(news).is_err() {
                        return;
                    }
                }
                // The last lines of stderr come through another pipe, and its thread may need a moment to read them.
                std::thread::sleep(Duration::from_millis(200));
                let words = words.lock().unwrap_or_else(PoisonError::into_inner);
                let mut words: Vec<String> = words.iter().cloned().collect();
                if words.is_empty() {
                    words.push("the bridge ended without a message; it may have been killed".to_owned());
                }
                let _ = sender.send(BridgeNews::Ended(words.join("\n")));
            });
        }
        Ok(Self { input: child.stdin.take(), child, news })
    }

    /// Sends a request. If the bridge has ended, the request is dropped, and [`Self::next`] reports the end.
    pub(crate) fn send(&mut self, request: &impl Serialize) {
        let mut line = serde_json::to_vec(request).unwrap_or_default();
        line.push(b'\n');
        if let Some(input) = &mut self.input
            && input.write_all(&line).and_then(|()| input.flush()).is_err()
        {
            self.input = None;
        }
    }

    /// Waits for the next message, at most `wait`.
    pub(crate) fn next(&self, wait: Duration) -> Option<BridgeNews<E>> {
        match self.news.recv_timeout(wait) {
            Ok(news) => Some(news),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            // The thread ends after its last message. Later calls must not wait for another one.
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(BridgeNews::Ended(String::new())),
        }
    }
}

impl<E> Drop for Bridge<E> {
    fn drop(&mut self) {
        // Closing its input asks the bridge to end.
        self.input = None;
        let begin = std::time::Instant::now();
        // Waits, because the bridge ends its stations first. If it were killed now, its stations would keep running on the cluster.
        while begin.elapsed() < END_WAIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // Both fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keep_last_lines(stderr: impl std::io::BufRead, words: &Mutex<VecDeque<String>>) {
    for line in stderr.lines().map_while(Result::ok) {
        tracing::debug!("bridge: {line}");
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.push_back(line);
        if words.len() > LAST_LINES {
            words.pop_front();
        }
    }
}
