//! The logs of a run over a fleet, one for each author. Only the driver writes them.
//!
//! The authors of a task are compared with each other. So the verdicts of a graph are written only when all authors have a verdict from
//! the same lease. If a lease is lost, its incomplete verdicts are dropped, and the graph is evaluated again for all authors.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use passnet_eval::{Candidate, Submission};
use passnet_record::{
    Fingerprint, GraphId, RunEvent, RunHeader, RunSettings, SCHEMA_VERSION, Verdict,
    fleet::{FileContent, KnownVerdict},
};
use passnet_run::{RunLog, RunStore, StoreError, Suite, now_rfc3339};

use crate::{error::FleetError, job::LeaseId};

/// Submission of one author, and the place of its run.
#[derive(Clone, Debug)]
pub struct AuthorRun {
    /// Candidates by task.
    pub submission: Submission,
    /// Directory of the run.
    pub directory: PathBuf,
}

/// Report of a station on one author and graph: a verdict with its blobs, or that the log already has it.
#[derive(Clone, Debug)]
pub(crate) enum News {
    Known,
    Verdict(Box<Verdict>, Vec<FileContent>),
}

/// A verdict that is in the log of its author.
pub(crate) struct Settled {
    /// Number of the author.
    pub(crate) author: usize,
    pub(crate) verdict: Verdict,
    /// True if the log already had the verdict.
    pub(crate) reused: bool,
}

/// The logs of a run, one for each author.
pub(crate) struct Ledger {
    stores: Vec<RunStore>,
    headers: Vec<RunHeader>,
    /// Verdicts by author, from the logs.
    verdicts: Vec<BTreeMap<GraphId, Verdict>>,
    /// Reports that wait for those of the other authors.
    gathering: BTreeMap<(LeaseId, GraphId), Vec<Option<News>>>,
    /// Graphs that this process has settled.
    settled: BTreeSet<GraphId>,
    pub(crate) reused: usize,
}

/// Returns the machine that existing runs were made on; `None` if all are new.
pub(crate) fn recorded_machine(authors: &[AuthorRun]) -> Result<Option<Fingerprint>, StoreError> {
    for author in authors {
        match RunLog::read(&author.directory) {
            Ok(log) => return Ok(Some(log.header.fingerprint)),
            Err(StoreError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

impl Ledger {
    /// Begins the runs, or continues them.
    pub(crate) fn open(
        suite: &Suite,
        authors: &[AuthorRun],
        settings: &RunSettings,
        fingerprint: &Fingerprint,
    ) -> Result<Self, FleetError> {
        let (mut stores, mut headers, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
        for author in authors {
            let name = author.directory.file_name().map(|name| name.to_string_lossy().into_owned());
            let header = RunHeader {
                schema_version: SCHEMA_VERSION,
                run: name.unwrap_or_default(),
                suite: suite.record.name.clone(),
                suite_version: suite.record.version.clone(),
                graphs: suite.graphs().count(),
                author: author.submission.author.clone(),
                settings: settings.clone(),
                fingerprint: fingerprint.clone(),
                started: now_rfc3339(),
                metadata: author.submission.metadata.clone(),
            };
            let known = match RunLog::read(&author.directory) {
                Ok(log) => log.verdicts().into_iter().map(|verdict| (verdict.id.clone(), verdict.clone())).collect(),
                Err(StoreError::Missing { .. }) => BTreeMap::new(),
                Err(error) => return Err(error.into()),
            };
            let mut store = RunStore::open(&author.directory, &header)?;
            for task in &suite.record.tasks {
                // Recorded before the first verdict, so that an interrupted run has the passes of every
                // verdict in it.
                if let Some(Candidate::Passes(passes)) = author.submission.candidates.get(&task.id) {
                    store.record_passes(&task.id, passes)?;
                }
            }
            stores.push(store);
            headers.push(header);
            verdicts.push(known);
        }
        let (gathering, settled) = Default::default();
        Ok(Self { stores, headers, verdicts, gathering, settled, reused: 0 })
    }

    /// Returns the verdicts that the logs have of these graphs, for a parcel.
    pub(crate) fn known<'a>(&self, ids: impl Iterator<Item = &'a GraphId> + Clone) -> Vec<KnownVerdict> {
        let of_author = |(author, verdicts): (usize, &BTreeMap<GraphId, Verdict>)| {
            let found = ids.clone().filter_map(|id| verdicts.get(id)).map(|verdict| KnownVerdict {
                author,
                graph: verdict.id.graph.clone(),
                key: verdict.key.clone(),
            });
            found.collect::<Vec<_>>()
        };
        self.verdicts.iter().enumerate().flat_map(of_author).collect()
    }

    /// Adds a report on one author. Returns the verdicts of the graph by author if it was the last missing one. A repeated report
    /// has no effect.
    pub(crate) fn add(
        &mut self,
        lease: LeaseId,
        author: usize,
        id: &GraphId,
        news: News,
    ) -> Result<Option<Vec<Settled>>, FleetError> {
        // The number comes from another process, so it is checked. A lease that was believed lost can report a settled
        // graph again.
        if author >= self.stores.len() || self.settled.contains(id) {
            return Ok(None);
        }
        let authors = self.stores.len();
        let key = (lease, id.clone());
        // The lease is part of the key: verdicts of two leases come from two devices and must not be combined.
        let gathered = self.gathering.entry(key.clone()).or_insert_with(|| vec![None; authors]);
        gathered[author] = Some(news);
        if gathered.iter().any(Option::is_none) {
            return Ok(None);
        }
        let gathered = self.gathering.remove(&key).unwrap_or_default();
        let mut verdicts = Vec::new();
        for (author, news) in gathered.into_iter().flatten().enumerate() {
            verdicts.push(self.write(author, id, news)?);
        }
        self.settled.insert(id.clone());
        Ok(Some(verdicts.into_iter().flatten().collect()))
    }

    fn write(&mut self, author: usize, id: &GraphId, news: News) -> Result<Option<Settled>, FleetError> {
        match news {
            News::Known => {
                self.reused += 1;
                Ok(self.verdicts[author].get(id).map(|verdict| Settled {
                    author,
                    verdict: verdict.clone(),
                    reused: true,
                }))
            }
            News::Verdict(verdict, blobs) => {
                let store = &mut self.stores[author];
                for blob in blobs {
                    // Blobs precede the verdict that names them, so that no verdict in the log names a missing file.
                    store.put_blob(&blob.into_bytes()?)?;
                }
                store.append(&RunEvent::Verdict(verdict.clone()))?;
                self.verdicts[author].insert(id.clone(), verdict.as_ref().clone());
                Ok(Some(Settled { author, verdict: *verdict, reused: false }))
            }
        }
    }

    /// True if all these graphs are settled.
    pub(crate) fn has<'a>(&self, mut ids: impl Iterator<Item = &'a GraphId>) -> bool {
        ids.all(|id| self.settled.contains(id))
    }

    /// Returns the number of graphs that are settled.
    pub(crate) fn settled(&self) -> usize {
        self.settled.len()
    }

    /// Marks graphs whose verdicts are in doubt as not settled. The later verdict counts.
    pub(crate) fn reopen<'a>(&mut self, ids: impl Iterator<Item = &'a GraphId>) {
        for id in ids {
            self.settled.remove(id);
            for verdicts in &mut self.verdicts {
                // Removed here, so that the station does not skip the graph, but not from the log: readers of the log use
                // the later verdict.
                verdicts.remove(id);
            }
        }
    }

    /// Ends the run. Returns header and verdicts of each author, in the order of the suite.
    pub(crate) fn close(
        self,
        suite: &Suite,
        wall_ns: u64,
        complete: bool,
    ) -> Result<Vec<(RunHeader, Vec<Verdict>)>, FleetError> {
        let mut runs = Vec::new();
        for ((store, header), mut verdicts) in self.stores.into_iter().zip(self.headers).zip(self.verdicts) {
            // An unfinished run has no end in its log, which is how readers recognise it.
            if complete {
                store.finish(wall_ns)?;
            }
            runs.push((header, suite.graphs().filter_map(|id| verdicts.remove(&id)).collect()));
        }
        Ok(runs)
    }
}
