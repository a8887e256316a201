//! `cargo xtask site`: the site of all published runs, from the archives in `docs/results`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::{
    command::{build_workspace, cargo, step},
    environment::target_dir,
};

/// Suites whose graphs the site draws.
const SUITES: [&str; 3] = ["suites/demo", "suites/passbench-f", "suites/passbench-c"];
/// Dataset that it shows.
const DATASET: &str = "suites/passbench-c";

/// Largest page in bytes. Pages have to load fast over a slow connection.
const MAX_PAGE_BYTES: u64 = 300_000;

/// Content of the unpacked archives.
#[derive(Debug, Default)]
struct PublishedArchives {
    /// Run directories.
    runs: Vec<PathBuf>,
    /// Folders of training runs.
    trainings: Vec<PathBuf>,
    /// Folders of trajectories.
    trajectories: Vec<PathBuf>,
}

/// Unpacks the archives, writes the site to `target/published/site` and packs it as `target/published/passnet-site.tar.gz`.
pub(crate) fn site(root: &Path) -> Result<()> {
    build_workspace(cargo(root))?;
    let folder = target_dir(root).join("published");
    let published = unpack(&root.join("docs/results"), &folder.join("runs"))?;
    let mut command = Command::new(target_dir(root).join("debug/passnet"));
    command.current_dir(root).arg("site").arg(folder.join("site")).args(&published.runs);
    // Shapes within graphs need PyTorch; those of inputs are known without.
    command.args(["--no-shapes", "--dataset", DATASET]);
    for suite in SUITES {
        command.args(["--suite", suite]);
    }
    for training in &published.trainings {
        command.arg("--training").arg(training);
    }
    for trajectories in &published.trajectories {
        command.arg("--trajectories").arg(trajectories);
    }
    step("site of the published runs", &mut command)?;
    let site = folder.join("site");
    let (bytes, largest) = check_sizes(&site)?;
    let front = fs::metadata(site.join("index.html"))?.len();
    let largest = largest.strip_prefix(&site).unwrap_or(&largest).display();
    eprintln!("largest page: {largest}, {} KB; front page: {} KB", bytes / 1000, front / 1000);
    let archive = folder.join("passnet-site.tar.gz");
    step("pack the site", Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&folder).arg("site"))?;
    eprintln!("open {}; packed as {}", folder.join("site/index.html").display(), archive.display());
    Ok(())
}

/// Returns the size and the path of the largest page of a folder. Fails if it is too large.
fn check_sizes(folder: &Path) -> Result<(u64, PathBuf)> {
    let mut largest = (0, folder.to_owned());
    for path in sorted(folder)? {
        let bytes = fs::metadata(&path)?.len();
        if path.is_dir() {
            largest = largest.max(check_sizes(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            if bytes > MAX_PAGE_BYTES {
                bail!("{}: {bytes} bytes, more than {MAX_PAGE_BYTES}; show less on this page", path.display());
            }
            largest = largest.max((bytes, path));
        }
    }
    Ok(largest)
}

/// Unpacks all archives of a folder, each into a folder of its own, and returns what they hold.
fn unpack(archives: &Path, out: &Path) -> Result<PublishedArchives> {
    // Runs of archives that are gone must not stay.
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let mut published = PublishedArchives::default();
    for archive in sorted(archives)? {
        let Some(name) = archive.file_name().and_then(|name| name.to_str()?.strip_suffix(".tar.gz")) else { continue };
        let folder = out.join(name);
        fs::create_dir_all(&folder)?;
        let status = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&folder).status();
        if !status.context("cannot start tar")?.success() {
            bail!("{}: tar cannot unpack it", archive.display());
        }
        collect(&folder, &mut published)?;
    }
    Ok(published)
}

/// Returns the files of a folder in order, so that the pages of two sites are equal.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

fn collect(folder: &Path, published: &mut PublishedArchives) -> Result<()> {
    let has = |name: &str| folder.join(name).is_file();
    if has("run.jsonl") || has("run.jsonl.zst") {
        published.runs.push(folder.to_owned());
    }
    if has("curve.jsonl") {
        published.trainings.push(folder.to_owned());
    }
    if has("trajectories.jsonl") {
        published.trajectories.push(folder.to_owned());
    }
    for path in sorted(folder)? {
        if path.is_dir() && !path.is_symlink() {
            collect(&path, published)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_are_refused_and_other_files_are_not() {
        let folder = target_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).join("sizes-test");
        fs::create_dir_all(folder.join("suite")).expect("the folder can be made");
        let write = |name: &str, bytes: u64| {
            fs::write(folder.join(name), vec![b' '; usize::try_from(bytes).expect("small")])
                .expect("the file can be written");
        };
        write("suite/a.html", MAX_PAGE_BYTES);
        write("run.pnb", 2 * MAX_PAGE_BYTES);
        let largest = check_sizes(&folder).expect("no page is too large");
        assert_eq!(largest, (MAX_PAGE_BYTES, folder.join("suite/a.html")));
        write("suite/b.html", MAX_PAGE_BYTES + 1);
        let error = check_sizes(&folder).expect_err("one page is too large").to_string();
        fs::remove_dir_all(&folder).expect("the folder was written");
        assert!(error.contains("b.html: 300001 bytes"), "{error}");
    }

    #[test]
    fn the_archives_hold_runs_of_all_kinds() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository");
        let out = target_dir(root).join("published-test");
        let published = unpack(&root.join("docs/results"), &out).expect("all archives can be unpacked");
        let has_run = |name: &str| published.runs.iter().any(|run| run.ends_with(name));
        for run in ["eager", "inductor", "fuse", "hand-written", "scripted", "passbench-f-fuse", "models-inductor"] {
            assert!(has_run(run), "{run}: {:#?}", published.runs);
        }
        assert!(published.runs.iter().all(|run| !run.join("curve.jsonl").exists()));
        assert!(!published.trainings.is_empty() && !published.trajectories.is_empty(), "{published:#?}");
        // A second time with the remains of the first.
        let again = unpack(&root.join("docs/results"), &out).expect("the folder is replaced");
        assert_eq!(again.runs, published.runs);
        fs::remove_dir_all(out).expect("the folder was written");
    }
}
