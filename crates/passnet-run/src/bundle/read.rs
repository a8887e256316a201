//! Reads a bundle into a verified run in memory. Nothing is unpacked to the disk.

use std::{collections::BTreeMap, io::Read, path::Path};

use passnet_record::{
    BUNDLE_VERSION, BundleManifest, ContentId, RatioInterval, RunEvent, SideTiming, SideTrials, Timing, TrialTimes,
};

use super::{
    format::{Bundle, BundleError, LOG, MANIFEST, MAX_BYTES, MAX_MANIFEST, blob_name},
    write::named_blobs,
};
use crate::{RunLog, input::open_input};

/// Largest relative difference between a recorded median and the median that is computed again.
const SAME: f64 = 1e-9;

/// Reads a bundle and verifies all that can be verified without a device. The manifest lists every entry, with its size and hash. The log
/// is well-formed. Pass directories and blobs have the ids that the log gives them. Medians and ratios follow from the trial times.
///
/// # Errors
/// The first check that fails.
pub fn read(path: &Path) -> Result<Bundle, BundleError> {
    read_at_most(path, MAX_BYTES)
}

/// Reads and verifies a bundle like [`read`], with the limit `most` on the bytes of all entries together.
///
/// # Errors
/// The first check that fails.
pub fn read_at_most(path: &Path, most: u64) -> Result<Bundle, BundleError> {
    let file = open_input(path)?;
    // One byte above the limit, to distinguish a bundle that is too large from one that ends at the limit.
    let reader = zstd::Decoder::new(file)?.take(most.saturating_add(1));
    // Entries are read in the order of the manifest. Names in the archive never become paths on disk.
    let mut archive = tar::Archive::new(reader);
    let mut entries = archive.entries()?;
    let first = entries.next().ok_or_else(|| missing(MANIFEST))??;
    // The sizes in the manifest are not known before it is read, so the manifest has a separate limit.
    let text = content(first, MANIFEST, MAX_MANIFEST.min(most))?;
    let manifest = parse_manifest(&text, most)?;
    let mut contents = BTreeMap::new();
    for expected in &manifest.files {
        let entry = entries.next().ok_or_else(|| missing(&expected.path))?.map_err(cut_short)?;
        let bytes = content(entry, &expected.path, expected.bytes)?;
        if bytes.len() as u64 != expected.bytes || ContentId::of(&bytes) != expected.blake3 {
            return Err(wrong(
                &expected.path,
                "its content differs from the manifest: the bundle was changed or damaged",
            ));
        }
        contents.insert(expected.path.clone(), bytes);
    }
    if let Some(extra) = entries.next() {
        let path = extra?.path_bytes().escape_ascii().to_string();
        return Err(wrong(&path, "the manifest does not list it"));
    }
    let log = contents.remove(LOG).ok_or_else(|| missing(LOG))?;
    let log = RunLog::parse(Path::new(LOG), &log).map_err(|error| BundleError::Log(error.to_string()))?;
    // A board reads the manifest first, so it must agree with the log.
    if log.header != manifest.header || log.finished != manifest.finished {
        return Err(BundleError::Log("its header is not that of the manifest".to_owned()));
    }
    let blobs = blobs(&log, contents, &manifest)?;
    check_passes(&log, &blobs)?;
    let recomputed = check_timings(&log, &blobs)?;
    Ok(Bundle { id: ContentId::of(&text), log, blobs, missing: manifest.missing.len(), recomputed })
}

fn missing(entry: &str) -> BundleError {
    wrong(entry, "it is missing: the bundle is cut short or was changed")
}

fn wrong(entry: &str, what: &str) -> BundleError {
    BundleError::Entry { entry: entry.to_owned(), what: what.to_owned() }
}

fn cut_short(error: std::io::Error) -> BundleError {
    BundleError::Io(error)
}

/// Returns the bytes of an entry, which has to be a plain file with the given path.
fn content(entry: tar::Entry<'_, impl Read>, path: &str, most: u64) -> Result<Vec<u8>, BundleError> {
    if entry.path_bytes() != path.as_bytes() {
        let found = entry.path_bytes().escape_ascii().to_string();
        return Err(wrong(&found, &format!("`{path}` is expected here")));
    }
    if !entry.header().entry_type().is_file() {
        return Err(wrong(path, "it is no plain file"));
    }
    if entry.size() > most {
        return Err(BundleError::TooLarge { most });
    }
    let mut bytes = Vec::new();
    let size = entry.size();
    entry.take(most).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < size {
        return Err(missing(path));
    }
    Ok(bytes)
}

fn parse_manifest(text: &[u8], most: u64) -> Result<BundleManifest, BundleError> {
    let error = |message: String| BundleError::Manifest(message);
    let manifest: BundleManifest = serde_json::from_slice(text).map_err(|found| error(found.to_string()))?;
    if manifest.schema_version != BUNDLE_VERSION {
        let found = manifest.schema_version;
        return Err(error(format!("schema version {found} is newer than this program; install a newer PassNet")));
    }
    // The sizes come from the author of the bundle, and their sum may overflow.
    let total = manifest.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.bytes));
    if total.is_none_or(|total| total > most) {
        return Err(BundleError::TooLarge { most });
    }
    // Contents are stored by path. If two entries had the same path, only the second would be kept.
    let mut paths: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(wrong(twice[0], "the manifest lists it twice"));
    }
    Ok(manifest)
}

/// Returns the blobs by id. Each blob that the log names must be present or listed as missing; other blobs are errors.
fn blobs(
    log: &RunLog,
    mut contents: BTreeMap<String, Vec<u8>>,
    manifest: &BundleManifest,
) -> Result<BTreeMap<ContentId, Vec<u8>>, BundleError> {
    let mut blobs = BTreeMap::new();
    for id in named_blobs(log) {
        let name = blob_name(&id);
        match contents.remove(&name) {
            Some(bytes) if ContentId::of(&bytes) == id => drop(blobs.insert(id, bytes)),
            Some(_) => return Err(wrong(&name, "its content does not have the hash that its name states")),
            None if manifest.missing.contains(&id) => {}
            None => return Err(missing(&name)),
        }
    }
    match contents.keys().next() {
        Some(path) => Err(wrong(path, "the log does not name it")),
        None => Ok(blobs),
    }
}

/// Checks that the id of each pass directory is the hash of its files.
fn check_passes(log: &RunLog, blobs: &BTreeMap<ContentId, Vec<u8>>) -> Result<(), BundleError> {
    for event in &log.events {
        let RunEvent::Passes { task, id, files } = event else { continue };
        let parts: Option<Vec<&[u8]>> = files
            .iter()
            .map(|file| Some([file.path.as_bytes(), blobs.get(&file.blob)?.as_slice()]))
            .collect::<Option<Vec<_>>>()
            .map(|parts| parts.concat());
        // A directory that lacks a file of its manifest cannot be checked.
        if parts.is_some_and(|parts| ContentId::of_parts(parts) != *id) {
            return Err(BundleError::Log(format!("the passes of task `{task}` are not those of id {}", id.short())));
        }
    }
    Ok(())
}

/// Checks that medians and ratios follow from the trial times. Returns the number of checked timings.
fn check_timings(log: &RunLog, blobs: &BTreeMap<ContentId, Vec<u8>>) -> Result<usize, BundleError> {
    let mut checked = 0;
    for verdict in log.verdicts() {
        for timing in &verdict.timings {
            let Some(raw) = timing.raw.as_ref().and_then(|raw| blobs.get(raw)) else { continue };
            if !follows(timing, raw) {
                let (task, graph) = (&verdict.id.task, &verdict.id.graph);
                return Err(BundleError::Log(format!("a time of {task}/{graph} does not follow from its trial times")));
            }
            checked += 1;
        }
    }
    Ok(checked)
}

fn follows(timing: &Timing, raw: &[u8]) -> bool {
    let Ok(trials) = serde_json::from_slice::<TrialTimes>(raw) else { return false };
    let baseline = trials.baseline(timing.baseline).flat();
    // The referee charges the candidate for time that the trials do not explain, separately for each pair of processes. The log has only
    // the largest charge. The recorded median therefore lies between the median of the trials and this median plus the charge.
    let same = |side: &SideTiming, times: &[u64], charge: f64| {
        let within = |again: f64| {
            close(again, side.median_ns)
                || close(again + charge, side.median_ns)
                || (again..=again + charge).contains(&side.median_ns)
        };
        side.trials == times.len() as u64 && median(times).is_some_and(within)
    };
    same(&timing.base, &baseline, 0.0)
        && same(&timing.candidate, &trials.candidate.flat(), timing.charged_ns as f64)
        && ratio_follows(timing, &trials)
}

/// Returns whether the recorded ratio follows from the trial times. It is the ratio of the medians. With several pairs of processes, it
/// is the geometric mean of the pairs' ratios, each computed from the rounds of that pair.
fn ratio_follows(timing: &Timing, trials: &TrialTimes) -> bool {
    let pairs = &timing.pairs;
    if pairs.is_empty() {
        return close(timing.speedup.ratio, timing.base.median_ns / timing.candidate.median_ns);
    }
    let mean = pairs.iter().map(|pair| pair.ratio.ln()).sum::<f64>() / pairs.len() as f64;
    let (Some(baseline), Some(candidate)) = (
        medians(trials.baseline(timing.baseline), pairs.len(), &trials.rounds),
        medians(&trials.candidate, pairs.len(), &trials.rounds),
    ) else {
        return false;
    };
    let of_pair = |(pair, (base, candidate)): (&RatioInterval, (f64, f64))| {
        let (most, least) = (base / candidate, base / (candidate + timing.charged_ns as f64));
        close(pair.ratio, most) || close(pair.ratio, least) || (least..=most).contains(&pair.ratio)
    };
    close(timing.speedup.ratio, mean.exp()) && pairs.iter().zip(baseline.into_iter().zip(candidate)).all(of_pair)
}

/// Returns the median of a side for each pair of processes. The rounds of all pairs are in one list, pair after pair: `rounds` for each, or
/// the same number for all if it is empty. `None` if the numbers do not fit the list, or if a pair has no trials.
fn medians(side: &SideTrials, pairs: usize, rounds: &[usize]) -> Option<Vec<f64>> {
    let equal = [side.e2e_ns.len() / pairs.max(1)].repeat(pairs);
    let rounds = if rounds.is_empty() { &equal } else { rounds };
    if rounds.len() != pairs {
        return None;
    }
    let mut rest = side.e2e_ns.as_slice();
    let medians = rounds.iter().map(|&rounds| {
        let (part, others) = rest.split_at_checked(rounds)?;
        rest = others;
        median(&part.concat())
    });
    let medians = medians.collect::<Option<Vec<f64>>>()?;
    rest.is_empty().then_some(medians)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}

fn median(times: &[u64]) -> Option<f64> {
    passnet_score::median(&mut times.iter().map(|&ns| ns as f64).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use passnet_record::{Baseline, CacheMode, ExecutionPath, TimeUnit};

    use super::*;

    fn interval(ratio: f64) -> RatioInterval {
        RatioInterval { ratio, low: ratio, high: ratio, confidence: 0.95 }
    }

    /// Returns a side with rounds of three equal trials.
    fn side(rounds: &[u64]) -> SideTrials {
        SideTrials { e2e_ns: rounds.iter().map(|&ns| vec![ns; 3]).collect(), device_ns: Vec::new() }
    }

    /// Returns whether a timing with this candidate median, ratio, pairs and charge follows from trials of these rounds.
    fn check(candidate: &[u64], median_ns: f64, ratio: f64, pairs: &[f64], charged_ns: u64) -> bool {
        check_uneven((candidate, &[]), median_ns, ratio, pairs, charged_ns)
    }

    /// Checks a timing like [`check`], with these numbers of rounds of each pair.
    fn check_uneven(
        (candidate, rounds): (&[u64], &[usize]),
        median_ns: f64,
        ratio: f64,
        pairs: &[f64],
        charged_ns: u64,
    ) -> bool {
        let eager = vec![200; candidate.len()];
        let times = TrialTimes {
            schema_version: 1,
            path: None,
            unit: TimeUnit::Ns,
            calls: 1,
            rounds: rounds.to_vec(),
            eager: side(&eager),
            control: side(&eager),
            candidate: side(candidate),
        };
        let trials = 3 * candidate.len() as u64;
        let summary = |median_ns| SideTiming {
            trials,
            median_ns,
            iqr_ns: 0.0,
            min_ns: 0.0,
            device_median_ns: None,
            overhead: None,
        };
        let timing = Timing {
            path: ExecutionPath::Direct,
            baseline: Baseline::Eager,
            cache: CacheMode::Warm,
            base: summary(200.0),
            candidate: summary(median_ns),
            speedup: interval(ratio),
            device_speedup: None,
            bound_ns: None,
            stable: true,
            remeasured: 0,
            pairs: pairs.iter().copied().map(interval).collect(),
            charged_ns,
            raw: None,
        };
        follows(&timing, &serde_json::to_vec(&times).unwrap())
    }

    #[test]
    fn a_median_is_that_of_its_trials_and_at_most_the_charge_more() {
        let check = |median_ns: f64, charge| check(&[100, 100], median_ns, 200.0 / median_ns, &[], charge);
        assert!(check(100.0, 0) && check(100.0, 50) && check(130.0, 50) && check(150.0, 50));
        assert!(!check(99.0, 0) && !check(101.0, 0) && !check(99.0, 50) && !check(151.0, 50));
    }

    #[test]
    fn the_ratio_of_several_pairs_is_the_mean_of_theirs() {
        let check = |ratio: f64, pairs: &[f64], charge| check(&[50, 100], 75.0, ratio, pairs, charge);
        let mean = 8.0_f64.sqrt();
        assert!(check(mean, &[4.0, 2.0], 0));
        assert!(!check(mean, &[2.0, 4.0], 0), "each pair has its own rounds");
        assert!(!check(200.0 / 75.0, &[4.0, 2.0], 0) && !check(4.0, &[4.0, 4.0], 0));
        assert!(check(2.0, &[2.0, 2.0], 50), "the first pair was charged");
    }

    /// A pair that was measured again has the rounds of both measurements.
    #[test]
    fn pairs_may_have_different_numbers_of_rounds() {
        let check = |rounds: &[usize]| check_uneven((&[50, 50, 100], rounds), 50.0, 8.0_f64.sqrt(), &[4.0, 2.0], 0);
        assert!(check(&[2, 1]));
        for other in [&[][..], &[1, 2], &[3], &[3, 0], &[2, 2], &[1, 1], &[2, 1, 0]] {
            assert!(!check(other), "{other:?}");
        }
    }
}
