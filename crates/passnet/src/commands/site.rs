//! `passnet site`: every page as a file.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context, Result};
use fs_err as fs;
use passnet_run::archive::{Library, find_runs, read_source};
use passnet_web::{PageId, Site};

use crate::{
    args::SiteArgs,
    failure::usage,
    pages::{dataset_view, suite_graphs},
};

/// Marks a folder as a site, which the next one may replace.
const MARK: &str = ".passnet-site";

/// Writes a site to a temporary folder next to its destination and moves it there when it is complete.
pub(crate) fn run(args: &SiteArgs) -> Result<ExitCode> {
    let out = &args.out;
    if out.exists() && !out.join(MARK).exists() && fs::read_dir(out)?.next().is_some() {
        return Err(usage(format!("{}: there is something else here; name a new folder", out.display())));
    }
    let (site, library) = load(args)?;
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let building = tempfile::Builder::new().prefix(".passnet-site-").tempdir_in(folder)?;
    let (pages, bytes) = write_pages(&site, &library, building.path())?;
    fs::write(building.path().join(MARK), "This folder is written by `passnet site` and replaced by the next one.\n")?;
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let building = building.keep();
    make_readable(&building)?;
    fs::rename(&building, out)?;
    eprintln!("wrote {pages} pages, {:.1} MB; open {}", bytes as f64 / 1e6, out.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Makes a folder readable for the web server: a temporary folder is private.
fn make_readable(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?)
}

fn load(args: &SiteArgs) -> Result<(Site, Library)> {
    let paths: Vec<PathBuf> = args.runs.iter().map(|path| find_runs(path)).collect::<Result<Vec<_>, _>>()?.concat();
    if paths.is_empty() {
        return Err(usage("there is no run in what was named"));
    }
    let (mut runs, mut sources) = (Vec::new(), Vec::new());
    for path in &paths {
        let (run, source) = read_source(path)?;
        runs.push(run);
        sources.push(source);
    }
    let dataset = args.extra.dataset.as_deref().map(dataset_view).transpose()?;
    let trajectories = crate::pages::trajectories(&args.extra.trajectories)?;
    let library = Library { sources, graphs: suite_graphs(&args.extra.suite, !args.extra.no_shapes)?.into() };
    Ok((Site::new(runs, trajectories, dataset).with_published(args.extra.published), library))
}

/// Renders on all cores. Returns the number of pages and their bytes.
fn write_pages(site: &Site, library: &Library, folder: &Path) -> Result<(usize, usize)> {
    let places: Vec<PageId> = site.page_ids();
    let (next, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failed: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match write_page(site, library, folder, place) {
                        Ok(size) => drop(bytes.fetch_add(size, Ordering::Relaxed)),
                        Err(error) => {
                            next.store(places.len(), Ordering::Relaxed);
                            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok((places.len(), bytes.into_inner())),
    }
}

fn write_page(site: &Site, library: &Library, folder: &Path, place: PageId) -> Result<usize> {
    let path = folder.join(place.path(site));
    let page = site.render(place, library);
    fs::create_dir_all(path.parent().context("a page lies in a folder")?)?;
    fs::write(path, &page)?;
    Ok(page.len())
}
