//! Database of measured kernels, kept between runs: one file per kernel and machine, named by its key (`docs/reference/fuse.md`).

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_fuse::{Choices, tunable_kernels};
use passnet_record::{
    ContentId, Fingerprint, KernelConfig, KernelKey, MeasuredConfig, SCHEMA_VERSION, TuningKey, TuningRecord,
};

use super::typed_suite::TypedSuite;

/// Folder below the cache folder. Files of another format are in a folder with another number.
const FOLDER: &str = "tuning-1";

/// The configurations that are known for one machine.
#[derive(Debug)]
pub struct Database {
    folder: PathBuf,
    device: String,
    versions: BTreeMap<String, String>,
}

impl Database {
    /// Returns the database in a cache folder, for this machine. Does not read or write files yet.
    pub fn new(cache: &Path, machine: &Fingerprint) -> Self {
        let on_device = !machine.device.is_empty();
        // Only versions that change the code or the speed of kernels. With all versions, an update of any package would
        // invalidate the whole database.
        let wanted: &[&str] = if on_device { &["cuda", "passnet", "triton"] } else { &["cxx", "passnet"] };
        let is_wanted = |(name, _): &(&String, &String)| wanted.contains(&name.as_str());
        let mut versions: BTreeMap<String, String> =
            machine.versions.iter().filter(is_wanted).map(|(name, version)| (name.clone(), version.clone())).collect();
        if on_device {
            versions.insert("driver".to_owned(), machine.driver.clone());
        }
        let device = if on_device { &machine.device } else { &machine.cpu };
        Self { folder: cache.join(FOLDER), device: device.clone(), versions }
    }

    /// Returns whether a cache folder has any entry, of any machine.
    pub fn has_entries(cache: &Path) -> bool {
        fs::read_dir(cache.join(FOLDER)).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Returns the best configuration of a kernel. A damaged file counts as missing, and the next measurement replaces it.
    pub fn best(&self, kernel: &KernelKey) -> Option<KernelConfig> {
        let key = self.key(kernel);
        let path = self.path(&key).ok()?;
        let text = fs::read(&path).ok()?;
        match serde_json::from_slice::<TuningRecord>(&text) {
            // The name of the file is a hash of the key. The key is compared as well, because the file may have been renamed or
            // written by hand.
            Ok(entry) if entry.schema_version == SCHEMA_VERSION && entry.key == key => Some(entry.best),
            _ => {
                tracing::warn!("{}: not an entry of the tuning database; it is left out", path.display());
                None
            }
        }
    }

    /// Returns the known configurations of the kernels of a suite.
    pub fn choices(&self, suite: &TypedSuite) -> Choices {
        let places = suite.tasks().flat_map(|(_, graphs)| tunable_kernels(graphs, suite.target()));
        places.filter_map(|place| self.best(&place.key).map(|best| (place.key, best))).collect()
    }

    /// Stores the measurements of a kernel.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn remember(&self, kernel: &KernelKey, best: KernelConfig, measured: Vec<MeasuredConfig>) -> io::Result<()> {
        let key = self.key(kernel);
        let path = self.path(&key)?;
        fs::create_dir_all(&self.folder)?;
        let entry = TuningRecord { schema_version: SCHEMA_VERSION, key, best, measured };
        // The file is renamed when it is complete, because other processes may be reading.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        serde_json::to_writer_pretty(&mut file, &entry)?;
        file.write_all(b"\n")?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    fn key(&self, kernel: &KernelKey) -> TuningKey {
        TuningKey { kernel: kernel.clone(), device: self.device.clone(), versions: self.versions.clone() }
    }

    fn path(&self, key: &TuningKey) -> io::Result<PathBuf> {
        let name = ContentId::of(&serde_json::to_vec(key)?);
        Ok(self.folder.join(format!("{name}.json")))
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::{Nests, Tiles};

    use super::*;

    fn machine(cxx: &str) -> Fingerprint {
        Fingerprint {
            cpu: "a CPU x 2".to_owned(),
            device: String::new(),
            driver: String::new(),
            os: "6".to_owned(),
            versions: BTreeMap::from([("cxx".to_owned(), cxx.to_owned()), ("torch".to_owned(), "2.6".to_owned())]),
            sandbox: BTreeMap::new(),
        }
    }

    #[test]
    fn entries_are_found_by_kernel_and_machine_and_damage_costs_only_itself() {
        let cache = tempfile::tempdir().unwrap();
        let database = Database::new(cache.path(), &machine("g++ 12"));
        let kernel = |size| KernelKey { code: ContentId::of(b"code"), sizes: vec![size] };
        let config = KernelConfig::Nests(Nests { vectors: true, keeps_rows: false });
        assert!(!Database::has_entries(cache.path()));
        assert_eq!(database.best(&kernel(1)), None);
        for size in [1, 2] {
            database.remember(&kernel(size), config, vec![MeasuredConfig { config, speedup: 1.5 }]).unwrap();
        }
        assert!(Database::has_entries(cache.path()));
        assert_eq!((database.best(&kernel(1)), database.best(&kernel(3))), (Some(config), None));
        let other = Database::new(cache.path(), &machine("g++ 13"));
        assert_eq!(other.best(&kernel(1)), None);
        let damaged = database.path(&database.key(&kernel(1))).unwrap();
        fs::write(&damaged, "{\"schema_version\": 1, \"key\"").unwrap();
        assert_eq!((database.best(&kernel(1)), database.best(&kernel(2))), (None, Some(config)));
        let tiles = KernelConfig::Tiles(Tiles { elements: 1, warps: -1 });
        database.remember(&kernel(1), tiles, Vec::new()).unwrap();
        assert_eq!(database.best(&kernel(1)), Some(tiles));
    }
}
