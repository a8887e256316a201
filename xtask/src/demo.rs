//! `cargo xtask demo`: the whole way from a clean clone to a leaderboard.

use std::{path::Path, process::Command};

use anyhow::{Result, bail};

use crate::{
    cargo,
    environment::{Environment, Profile, target_dir},
    step,
};

/// Authors in the order of the leaderboard's first print.
const AUTHORS: &[(&str, &str)] =
    &[("eager", "eager"), ("noop", "noop"), ("inductor", "inductor"), ("passes", "dir:suites/demo/passes")];

/// Builds, sets up Python, runs the bundled suite with every built-in author, prints the leaderboard and writes the
/// HTML report to `target/demo/report.html`.
pub(crate) fn demo(root: &Path, flags: &[&str]) -> Result<()> {
    let environment = Environment::prepare(root, &[], Profile::Release)?;
    step("build passnet", cargo(root).args(["build", "--release", "--package", "passnet"]))?;
    let device = match flags {
        [] if environment.has_cuda()? => "cuda",
        [] => "cpu",
        ["--device", device] => device,
        other => bail!("unknown flags `{}`; known is --device D", other.join(" ")),
    };
    let passnet = target_dir(root).join("release/passnet");
    let out = root.join("target/demo");
    let mut runs = Vec::new();
    for (name, author) in AUTHORS {
        let run = out.join(format!("{device}-{name}"));
        let mut command = Command::new(&passnet);
        command.current_dir(root).args(["bench", "run", "suites/demo", "--author", author, "--device", device]);
        // The direct path is the one that is scored; Inductor has only the compiled one, and takes it.
        command.args(["--paths", "direct", "--out"]).arg(&run);
        step(&format!("author {author} on {device}"), environment.apply(&mut command))?;
        runs.push(run);
    }
    let mut report = Command::new(&passnet);
    report.current_dir(root).arg("report").args(&runs).arg("--html").arg(out.join("report.html"));
    step("leaderboard", environment.apply(&mut report))?;
    eprintln!("The report is in {}", out.join("report.html").display());
    Ok(())
}
