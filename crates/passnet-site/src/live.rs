//! Runs that are being written: their logs, read as they grow.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use fs_err as fs;
use passnet_record::{
    GraphId, RunEvent, RunHeader, Status,
    live::{LIVE_VERSION, LiveData, LiveRunData, LiveState},
};
use passnet_run::{
    FLEET_METRICS, FileLock,
    archive::{find_runs, shown_header},
    seconds_of_rfc3339,
};
use passnet_web::{LiveFailure, LiveRun};

use crate::fleet_metrics::fleet_metrics;

/// Failures that are listed.
const MAX_FAILURES: usize = 20;
/// Time for which a run that is finished is still listed.
const KEEP: Duration = Duration::from_secs(600);
/// Least time between two reads of the logs, independent of the number of clients.
const EVERY: Duration = Duration::from_secs(1);

/// The unfinished runs of a folder. Finished ones are never opened.
pub(crate) struct LiveLogs {
    folder: PathBuf,
    logs: BTreeMap<PathBuf, LiveLog>,
    runs: Vec<LiveRun>,
    looked: Option<Instant>,
}

impl LiveLogs {
    pub(crate) const fn new(folder: PathBuf) -> Self {
        Self { folder, logs: BTreeMap::new(), runs: Vec::new(), looked: None }
    }

    /// Returns the runs that are being written, interrupted, or finished since the server saw them run. At most a second old.
    pub(crate) fn current(&mut self) -> &[LiveRun] {
        if self.looked.is_none_or(|looked| looked.elapsed() > EVERY) {
            self.runs = self.read();
            self.looked = Some(Instant::now());
        }
        &self.runs
    }

    fn read(&mut self) -> Vec<LiveRun> {
        let paths = find_runs(&self.folder).unwrap_or_default();
        self.logs.retain(|path, log| paths.contains(path) && log.ended.is_none_or(|ended| ended.elapsed() < KEEP));
        let mut runs: Vec<LiveRun> = paths.iter().filter_map(|path| self.run(path)).collect();
        runs.sort_by(|a, b| b.header.started.cmp(&a.header.started));
        runs
    }

    fn run(&mut self, path: &Path) -> Option<LiveRun> {
        let file = path.join("run.jsonl");
        if !file.is_file() {
            // The log was compressed, so the run is finished. A finished run is listed only if it was seen before.
            let log = self.logs.get_mut(path)?;
            log.ended.get_or_insert_with(Instant::now);
            return log.run(path, LiveState::Finished);
        }
        let log = self.logs.entry(path.to_owned()).or_default();
        if let Err(error) = log.follow(&file) {
            tracing::warn!("{}: {error}", file.display());
            return None;
        }
        let is_held = FileLock::is_held(&path.join("lock")).unwrap_or_default();
        log.run(path, if is_held { LiveState::Running } else { LiveState::Interrupted })
    }
}

/// Content of a log so far.
#[derive(Default)]
struct LiveLog {
    /// Inode of the file. A file with another inode is another log.
    inode: u64,
    /// Bytes that were read: complete lines.
    offset: u64,
    header: Option<RunHeader>,
    verdicts: BTreeMap<GraphId, Status>,
    failures: VecDeque<LiveFailure>,
    /// Time of the last start, and verdicts since then.
    started: Option<u64>,
    since: usize,
    changed: Option<SystemTime>,
    ended: Option<Instant>,
}

impl LiveLog {
    /// Reads the lines that were added since the last call.
    fn follow(&mut self, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        // A run that starts again from the beginning has a new or a shorter file.
        if meta.ino() != self.inode || meta.len() < self.offset {
            *self = Self { inode: meta.ino(), ..Self::default() };
        }
        self.changed = meta.modified().ok();
        if meta.len() == self.offset {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        for line in bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            self.take(serde_json::from_slice(line)?);
            self.offset += line.len() as u64;
        }
        Ok(())
    }

    fn take(&mut self, event: RunEvent) {
        match event {
            RunEvent::Started(header) => {
                (self.started, self.since) = (seconds_of_rfc3339(&header.started), 0);
                // The first header names the run; see `RunLog`.
                self.header.get_or_insert_with(|| shown_header(&header));
            }
            RunEvent::Verdict(verdict) => {
                self.since += 1;
                if verdict.status.is_failure() {
                    let code = verdict.reason.map(|reason| reason.code).unwrap_or_default();
                    self.failures.push_front(LiveFailure { id: verdict.id.clone(), status: verdict.status, code });
                    self.failures.truncate(MAX_FAILURES);
                }
                self.verdicts.insert(verdict.id, verdict.status);
            }
            RunEvent::Passes { .. } | RunEvent::Finished { .. } => {}
        }
    }

    /// Returns the run; `None` if its log is empty.
    fn run(&self, path: &Path, state: LiveState) -> Option<LiveRun> {
        let header = self.header.clone()?;
        let count = |is: &dyn Fn(Status) -> bool| self.verdicts.values().filter(|&&status| is(status)).count();
        let changed = self.changed?;
        let begun = self.started.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        let time = begun.and_then(|begun| changed.duration_since(begun).ok()).map(|time| time.as_secs_f64());
        Some(LiveRun {
            state,
            done: self.verdicts.len(),
            correct: count(&|status| status == Status::Correct),
            failures: count(&Status::is_failure),
            last_failures: self.failures.iter().cloned().collect(),
            rate: time.filter(|&time| time > 0.0 && self.since > 0).map(|time| self.since as f64 / time),
            quiet_s: changed.elapsed().map_or(0.0, |quiet| quiet.as_secs_f64()),
            fleet: fs::read_to_string(path.join(FLEET_METRICS)).ok().map(|text| fleet_metrics(&text)),
            header,
        })
    }
}

/// Returns the data of the live page: numbers for programs, and the content of the page for browsers.
pub(crate) fn live_data(runs: &[LiveRun], html: String) -> LiveData {
    LiveData { schema_version: LIVE_VERSION, runs: runs.iter().map(run_data).collect(), html }
}

fn run_data(run: &LiveRun) -> LiveRunData {
    LiveRunData {
        run: run.header.run.clone(),
        author: run.header.author.to_string(),
        suite: run.header.suite.clone(),
        suite_version: run.header.suite_version.clone(),
        state: run.state,
        graphs: run.header.graphs,
        done: run.done,
        correct: run.correct,
        failures: run.failures,
        graphs_per_second: run.rate,
        left_s: run.left_s(),
        fleet: run.fleet.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use passnet_run::{RunLog, RunStore};

    use super::*;

    /// Unpacks the published logs and returns the plain log of one of them.
    fn recorded(folder: &Path) -> RunLog {
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/cpu-runs.tar.gz");
        let status = std::process::Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder).status().unwrap();
        assert!(status.success());
        RunLog::read(&find_runs(folder).unwrap()[0]).unwrap()
    }

    /// Looks again at once, as a client does that asks a second later.
    fn look(logs: &mut LiveLogs) -> Vec<LiveRun> {
        logs.looked = None;
        logs.current().to_vec()
    }

    #[test]
    fn a_run_is_followed_while_it_is_written_interrupted_continued_and_finished() {
        let (source, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let log = recorded(source.path());
        let verdicts: Vec<&RunEvent> =
            log.events.iter().filter(|event| matches!(event, RunEvent::Verdict(_))).collect();
        let run = folder.path().join("run");
        let mut logs = LiveLogs::new(folder.path().to_owned());
        assert_eq!(look(&mut logs), []);

        let mut store = RunStore::open(&run, &log.header).unwrap();
        let runs = look(&mut logs);
        assert_eq!((runs[0].state, runs[0].done, runs[0].rate), (LiveState::Running, 0, None));
        for event in &verdicts[..2] {
            store.append(event).unwrap();
        }
        assert_eq!(look(&mut logs)[0].done, 2);
        // A page has read the beginning of a line that is being written.
        let mut torn = File::options().append(true).open(run.join("run.jsonl")).unwrap();
        torn.write_all(b"{\"event\":\"ver").unwrap();
        drop(store);
        let runs = look(&mut logs);
        assert_eq!((runs[0].state, runs[0].done, runs[0].left_s()), (LiveState::Interrupted, 2, None));

        fs::write(run.join(FLEET_METRICS), "passnet_fleet_places 4\n").unwrap();
        let mut store = RunStore::open(&run, &log.header).unwrap();
        for event in &verdicts[1..] {
            store.append(event).unwrap();
        }
        let runs = look(&mut logs);
        let expected = log.verdicts().iter().filter(|verdict| verdict.status.is_failure()).count();
        assert_eq!((runs[0].state, runs[0].done, runs[0].failures), (LiveState::Running, verdicts.len(), expected));
        assert_eq!(runs[0].fleet.as_ref().map(|fleet| fleet.places), Some(4));
        store.finish(1).unwrap();
        assert_eq!(look(&mut logs)[0].state, LiveState::Finished);
        // Another server has not seen it run, and never opens its log.
        assert_eq!(look(&mut LiveLogs::new(folder.path().to_owned())), []);
    }

    #[test]
    fn a_log_that_is_none_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("broken")).unwrap();
        fs::write(folder.path().join("broken/run.jsonl"), "rubbish\n").unwrap();
        assert_eq!(look(&mut LiveLogs::new(folder.path().to_owned())), []);
    }
}
