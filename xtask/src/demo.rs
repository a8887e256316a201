//! `cargo xtask demo`: the whole way from a clean clone to a leaderboard.

use std::{path::Path, process::Command, time::Instant};

use anyhow::{Result, bail};

use crate::{
    command::step,
    disk::DEMO_BUILDS,
    environment::{BuildProfile, Environment, require_space, target_dir},
};

/// Authors in the order of the leaderboard's first print.
const AUTHORS: &[(&str, &str)] = &[
    ("eager", "eager"),
    ("noop", "noop"),
    ("inductor", "inductor"),
    ("passes", "dir:suites/demo/passes"),
    ("fuse", "fuse"),
];

/// Commands that a new user can try after the demo; `{passnet}` is the built command.
const NEXT: &str = "\
try next, with PASSNET_PYTHON={python} PASSNET_SITE={site}:
  {passnet} serve {out} --suite suites/demo                         the same results in a browser
  {passnet} fuse suites/demo/llama-rms-norm --explain               what the built-in author replaces, and why it is faster
  {passnet} eval suites/demo/llama-rms-norm --author fuse           one task: checked, timed, scored
  {passnet} eval suites/demo/llama-rms-norm --passes my_passes      your own pass; docs/guides/first-pass.md shows how to write it";

/// Graphs of each task unless `--full` is given. One graph keeps the demo within a quarter of an hour on two cores;
/// TorchInductor compiling takes much of it.
const GRAPHS_PER_TASK: &str = "1";

/// Builds, sets up Python, runs the bundled suite with every built-in author, prints the leaderboard and writes the
/// HTML report to `target/demo/report.html`.
pub(crate) fn demo(root: &Path, flags: &[&str]) -> Result<()> {
    let begin = Instant::now();
    let (mut device, mut full) = (None, false);
    // By hand: two flags are not worth a dependency, and `xtask` has to build before everything else.
    let mut rest = flags.iter();
    while let Some(flag) = rest.next() {
        match (*flag, rest.as_slice()) {
            ("--full", _) => full = true,
            ("--device", [name, ..]) => {
                device = Some(*name);
                rest.next();
            }
            _ => bail!("unknown flags `{}`; known are --device D and --full", flags.join(" ")),
        }
    }
    eprintln!("== demo: 10 to 15 minutes on two cores the first time, most of it building and downloading PyTorch");
    require_space(root, DEMO_BUILDS)?;
    // The profile of the tests: a user who runs both builds once.
    let environment = Environment::prepare(root, &[], BuildProfile::Dev)?;
    let device = match device {
        Some(device) => device,
        None if environment.has_cuda()? => "cuda",
        None => "cpu",
    };
    let (graphs, hint) = if full { ("all", "") } else { (GRAPHS_PER_TASK, " (--full runs all)") };
    eprintln!("== demo suite on {device}; graphs of each task: {graphs}{hint}");
    let passnet = target_dir(root).join("debug/passnet");
    // Fixed folders, so that a second demo reuses the verdicts of the first. The two demos evaluate different graphs.
    let out = root.join(if full { "target/demo-full" } else { "target/demo" });
    let mut runs = Vec::new();
    for (name, author) in AUTHORS {
        let run = out.join(format!("{device}-{name}"));
        let mut command = Command::new(&passnet);
        command.current_dir(root).args(["bench", "run", "suites/demo", "--author", author, "--device", device]);
        // The direct path is the one that is scored. Inductor has only the compiled path and takes that one.
        command.args(["--paths", "direct", "--out"]).arg(&run);
        if !full {
            command.args(["--graphs-per-task", GRAPHS_PER_TASK]);
        }
        step(&format!("author {author} on {device}"), environment.apply(&mut command))?;
        runs.push(run);
    }
    let mut report = Command::new(&passnet);
    report.current_dir(root).arg("report").args(&runs).arg("--html").arg(out.join("report.html"));
    step("leaderboard", environment.apply(&mut report))?;
    let minutes = begin.elapsed().as_secs_f64() / 60.0;
    eprintln!("demo done in {minutes:.1} min; open {} in a browser", out.join("report.html").display());
    let next = NEXT
        .replace("{passnet}", &passnet.display().to_string())
        .replace("{python}", &environment.python.display().to_string())
        .replace("{site}", &environment.site.display().to_string())
        .replace("{out}", &out.display().to_string());
    eprintln!("{next}");
    Ok(())
}
