//! Setup of the benchmarks of evaluations.

use std::{path::Path, process::Stdio};

use passnet_run::{Selection, Suite};
use passnet_services::Interpreter;

/// Returns the interpreter, and the first graph of each of the first tasks of the bundled suite. `PASSNET_BENCH_GRAPHS` sets the number
/// of graphs (20 if unset). Without PyTorch, returns `None` and prints the reason.
pub(crate) fn set_up() -> Option<(Interpreter, Suite)> {
    let interpreter = Interpreter::find();
    let usable =
        interpreter.module("passnet._worker.protocol").stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    if !usable {
        println!("skipped: set PASSNET_PYTHON and PASSNET_SITE to an interpreter with torch and passnet");
        return None;
    }
    let count = std::env::var("PASSNET_BENCH_GRAPHS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/demo");
    let suite = Suite::load(&path, &Selection { tasks: Some(count), graphs: Some(1), ..Selection::default() }).unwrap();
    Some((interpreter, suite))
}
