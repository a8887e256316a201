//! Pages as files.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use fs_err as fs;
use passnet_run::archive::{RunLibrary, find_runs};
use passnet_web::{PageId, Site};

use crate::{Extras, SiteError, bundles::write_bundles, extras::Contents, reading::read_all, shelf::Shown};

/// File that marks a folder as a site. Only such a folder is replaced.
const MARK: &str = ".passnet-site";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteSize {
    /// Number of pages.
    pub pages: usize,
    /// Bytes of all pages.
    pub bytes: usize,
}

/// Writes the pages of runs (directories, bundles, or folders of either) to a temporary folder next to their destination
/// and moves it there when it is complete.
///
/// # Errors
/// If there is no run, the destination holds anything but a site, or a file cannot be read or written.
pub fn publish(
    out: &Path,
    runs: &[PathBuf],
    extras: &Extras<'_>,
    remark: &dyn Fn(&str),
) -> Result<SiteSize, SiteError> {
    if out.exists() && !out.join(MARK).exists() && fs::read_dir(out)?.next().is_some() {
        return Err(SiteError::Occupied(out.to_owned()));
    }
    let Shown { site, library, paths, .. } = load(runs, extras, remark)?;
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Next to the destination, because a folder can only be renamed within one file system.
    let building = tempfile::Builder::new().prefix(".passnet-site-").tempdir_in(folder)?;
    let published = write_pages(&site, &library, building.path())?;
    write_bundles(building.path(), paths.iter().enumerate().map(|(run, path)| (site.bundle_path(run), path)))?;
    fs::write(building.path().join(MARK), "This folder is written by `passnet site` and replaced by the next one.\n")?;
    // The earlier site stays until the new one is complete, so that an error leaves it as it was.
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    // From here on the folder must not be deleted when the guard is dropped.
    let building = building.keep();
    make_readable(&building)?;
    fs::rename(&building, out)?;
    Ok(published)
}

/// Makes a folder readable for the web server: a temporary folder is private.
fn make_readable(folder: &Path) -> Result<(), SiteError> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?)
}

fn load(runs: &[PathBuf], extras: &Extras<'_>, remark: &dyn Fn(&str)) -> Result<Shown, SiteError> {
    let paths: Vec<PathBuf> = runs.iter().map(|path| find_runs(path)).collect::<Result<Vec<_>, _>>()?.concat();
    if paths.is_empty() {
        return Err(SiteError::NoRuns);
    }
    let (runs, sources) = read_all(&paths).into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let (site, library) = Contents::read(extras, remark)?.site(runs, sources);
    Ok(Shown::new(site, library, paths))
}

/// Renders all pages, on all cores.
fn write_pages(site: &Site, library: &RunLibrary, folder: &Path) -> Result<SiteSize, SiteError> {
    let places: Vec<PageId> = site.page_ids();
    let (next, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failed: Mutex<Option<SiteError>> = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // A free thread takes the next page, since pages differ in size. `Relaxed` suffices: the counter only
                // assigns pages, and the end of the scope synchronises everything else.
                while let Some(&place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match write_page(site, library, folder, place) {
                        Ok(size) => drop(bytes.fetch_add(size, Ordering::Relaxed)),
                        Err(error) => {
                            // No thread takes a further page.
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
        None => Ok(SiteSize { pages: places.len(), bytes: bytes.into_inner() }),
    }
}

fn write_page(site: &Site, library: &RunLibrary, folder: &Path, place: PageId) -> Result<usize, SiteError> {
    let path = folder.join(place.path(site));
    let page = site.render(place, library);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(path, &page)?;
    Ok(page.len())
}
