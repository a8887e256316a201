//! Cache of verdicts by content: equal evaluations run once, and concurrent requests wait for the result.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write as _},
    path::Path,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use fs_err as fs;
use passnet_record::{ContentId, Verdict};

#[derive(Debug)]
enum CacheSlot {
    InFlight,
    Ready(Box<Verdict>),
}

/// Outcome of a look-up in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The verdict was in the cache, or another thread was making it.
    Hit,
    /// The caller made the verdict.
    Miss,
}

/// A store of verdicts, shared by threads and kept in a file.
#[derive(Debug, Default)]
pub struct VerdictCache {
    slots: Mutex<BTreeMap<ContentId, CacheSlot>>,
    changed: Condvar,
    file: Option<Mutex<File>>,
}

impl VerdictCache {
    /// Opens a cache that is kept in a file (JSONL). An incomplete last line is cut off.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let mut slots = BTreeMap::new();
        for line in bytes[..complete].split(|&byte| byte == b'\n') {
            // Lines of a later version are ignored.
            if let Ok(verdict) = serde_json::from_slice::<Verdict>(line) {
                slots.insert(verdict.key.clone(), CacheSlot::Ready(Box::new(verdict)));
            }
        }
        let file = File::options().create(true).append(true).open(path)?;
        // A process was killed while it wrote the last line. The next line must not be appended to that rest.
        file.set_len(complete as u64)?;
        Ok(Self { slots: Mutex::new(slots), changed: Condvar::new(), file: Some(Mutex::new(file)) })
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<ContentId, CacheSlot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the verdict of a key. Calls `make` if the verdict is missing and no other thread is making it.
    ///
    /// # Errors
    /// Returns the error of `make`; one of the waiting threads then calls its own `make`.
    pub fn get<E: From<io::Error>>(
        &self,
        key: &ContentId,
        make: impl FnOnce() -> Result<Verdict, E>,
    ) -> Result<(Verdict, Lookup), E> {
        let mut slots = self.slots();
        // Loops, because the thread that makes the verdict may fail, or another waiting thread may claim the key first.
        loop {
            match slots.get(key) {
                Some(CacheSlot::Ready(verdict)) => return Ok((verdict.as_ref().clone(), Lookup::Hit)),
                Some(CacheSlot::InFlight) => {
                    slots = self.changed.wait(slots).unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        slots.insert(key.clone(), CacheSlot::InFlight);
        // Evaluations take seconds, and other keys must not wait for them.
        drop(slots);
        let claim = Claim { cache: self, key };
        let verdict = make()?;
        // Written to disk first, so that a verdict that other threads have seen still exists after a restart.
        self.keep(&verdict)?;
        self.slots().insert(key.clone(), CacheSlot::Ready(Box::new(verdict.clone())));
        drop(claim);
        Ok((verdict, Lookup::Miss))
    }

    fn keep(&self, verdict: &Verdict) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut line = serde_json::to_vec(verdict)?;
        line.push(b'\n');
        file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
    }
}

/// Releases a key when the thread that claimed it ends: by success, error or panic.
struct Claim<'a> {
    cache: &'a VerdictCache,
    key: &'a ContentId,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut slots = self.cache.slots();
        // A verdict that is ready stays. Only a claim without a result is removed, so that a waiting thread
        // can try.
        if let Some(CacheSlot::InFlight) = slots.get(self.key) {
            slots.remove(self.key);
        }
        drop(slots);
        self.cache.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use passnet_record::{Cost, Evidence, GraphId, SCHEMA_VERSION, Status};

    use super::*;

    fn verdict(key: &ContentId) -> Verdict {
        Verdict {
            schema_version: SCHEMA_VERSION,
            id: GraphId { task: "t".to_owned(), graph: "000".to_owned() },
            key: key.clone(),
            status: Status::Correct,
            reason: None,
            tolerance: Some(-10),
            outputs: Vec::new(),
            timings: Vec::new(),
            evidence: Evidence::default(),
            cost: Cost::default(),
        }
    }

    #[test]
    fn concurrent_askers_share_one_evaluation() {
        let (cache, key, made) = (VerdictCache::default(), ContentId::of(b"k"), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let make = || {
                        made.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        Ok::<_, io::Error>(verdict(&key))
                    };
                    assert_eq!(cache.get(&key, make).unwrap().0.status, Status::Correct);
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn a_failure_is_not_kept_and_a_torn_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let (path, key) = (folder.path().join("verdicts.jsonl"), ContentId::of(b"k"));
        let cache = VerdictCache::open(&path).unwrap();
        assert!(cache.get(&key, || Err(io::Error::other("no"))).is_err());
        assert_eq!(cache.get(&key, || Ok::<_, io::Error>(verdict(&key))).unwrap().1, Lookup::Miss);
        drop(cache);
        let mut torn = fs::read(&path).unwrap();
        torn.extend(b"{\"half");
        fs::write(&path, torn).unwrap();
        let cache = VerdictCache::open(&path).unwrap();
        assert_eq!(cache.get(&key, || Err(io::Error::other("known"))).unwrap().1, Lookup::Hit);
        assert!(fs::read(&path).unwrap().ends_with(b"}\n"));
    }
}
