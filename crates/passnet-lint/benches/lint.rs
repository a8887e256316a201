//! Cost of checking a pass directory: from the files on disk to the findings, per directory of the attack suite's honest
//! passes and of its attacks.
//!
//! Prints a table, and one line of JSON at the end.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "this is a benchmark")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use passnet_lint as lint;
use rustix::time::{ClockId, clock_gettime};

/// Checks of each directory. The best one counts as warm, because other programs only ever slow one down.
const TIMES: usize = 9;

/// Milliseconds that one directory took.
struct Row {
    name: String,
    bytes: u64,
    /// The first time in this process.
    first: f64,
    /// The best time of all, by the wall clock and in CPU time.
    wall: f64,
    cpu: f64,
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks");
    let mut rows: Vec<Row> = directories(&root).into_iter().map(measure).collect();
    rows.sort_by(|a, b| b.wall.total_cmp(&a.wall));
    println!("{:<28} {:>8} {:>10} {:>10} {:>10}", "the slowest directories", "bytes", "first ms", "wall ms", "cpu ms");
    for row in rows.iter().take(8) {
        println!("{:<28} {:>8} {:>10.2} {:>10.2} {:>10.2}", row.name, row.bytes, row.first, row.wall, row.cpu);
    }
    let median = |value: fn(&Row) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let most = |value: fn(&Row) -> f64| rows.iter().map(value).fold(0.0, f64::max);
    println!(
        "{}",
        serde_json::json!({
            "bench": "lint", "directories": rows.len(),
            "median_ms": {"first": median(|row| row.first), "wall": median(|row| row.wall), "cpu": median(|row| row.cpu)},
            "most_ms": {"first": most(|row| row.first), "wall": most(|row| row.wall), "cpu": most(|row| row.cpu)},
        })
    );
}

/// All pass directories of the suite, at any depth.
fn directories(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        if folder.join("meta.json").is_file() {
            found.push(folder);
            continue;
        }
        let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
        open.extend(items.filter(|path| path.is_dir()));
    }
    found.sort_unstable();
    found
}

fn measure(directory: PathBuf) -> Row {
    let copy = tempfile::tempdir().unwrap();
    let mut bytes = 0;
    for item in fs::read_dir(&directory).unwrap() {
        let item = item.unwrap();
        if item.file_name() != "meta.json" && item.file_type().unwrap().is_file() {
            bytes += fs::copy(item.path(), copy.path().join(item.file_name())).unwrap();
        }
    }
    let check = || {
        let (start, cpu) = (Instant::now(), cpu_ms());
        std::hint::black_box(lint::read_dir(copy.path()).unwrap());
        (start.elapsed().as_secs_f64() * 1e3, cpu_ms() - cpu)
    };
    let (first, first_cpu) = check();
    let least = |(wall, cpu): (f64, f64), (w, c): (f64, f64)| (wall.min(w), cpu.min(c));
    let (wall, cpu) = (1..TIMES).map(|_| check()).fold((first, first_cpu), least);
    Row { name: directory.file_name().unwrap().to_string_lossy().into_owned(), bytes, first, wall, cpu }
}

/// CPU time of this thread: what else runs on the machine does not count.
fn cpu_ms() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}
