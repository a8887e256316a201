//! Finds a tool, runs it with a time limit, and says why there is no report.

use std::{
    env, io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use passnet_record::services::ConfirmRequest;
use passnet_services::Interpreter;

use super::ncu::METRICS;
use crate::shorten::shortened;

/// Module that makes the call.
const MODULE: &str = "passnet._services.profiled_call";
/// Variables that the program gets. All others may hold secrets of the user, such as keys of model servers.
const VARIABLES: [&str; 8] =
    ["PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CXX"];
/// Maximum bytes of a message of a tool.
const MESSAGE: usize = 300;
const POLL: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    /// Nsight Compute: counters of each kernel.
    Ncu,
    /// Compute Sanitizer: memory accesses of each kernel.
    Memcheck,
}

/// Reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoReport {
    #[error("this environment evaluates on other machines")]
    Fleet,
    #[error("there is no GPU: the graphs are evaluated on a CPU")]
    Cpu,
    #[error("the passes break the rule {rule}, and the tools run outside of the sandbox")]
    Refused {
        /// Id of the first rule.
        rule: String,
    },
    #[error("`{0}` is not installed: it is neither on PATH nor in the folder bin of CUDA_HOME")]
    Missing(&'static str),
    #[error(
        "the driver lets only administrators read the counters of the GPU (ERR_NVGPUCTRPERM); the administrator of the machine can allow it \
         with the option NVreg_RestrictProfilingToAdminUsers=0 of the kernel module"
    )]
    Counters,
    #[error("`{name}` took longer than {seconds} s")]
    Time {
        /// Name of the tool.
        name: &'static str,
        /// Limit.
        seconds: u64,
    },
    #[error("`{name}` reported nothing: {message}")]
    Nothing {
        /// Name of the tool.
        name: &'static str,
        /// Last message of the tool, or of the program.
        message: String,
    },
    #[error("`{name}` cannot be run: {source}")]
    Io {
        /// Name of the tool.
        name: &'static str,
        source: io::Error,
    },
}

impl NoReport {
    /// Returns the reason that a text without a report gives.
    pub(super) fn of(tool: Tool, text: &str) -> Self {
        if text.contains("ERR_NVGPUCTRPERM") {
            return Self::Counters;
        }
        let lines = || text.lines().rev().map(|line| line.trim().trim_start_matches('=').trim());
        let error = lines()
            .find(|line| line.contains("ERROR") || line.contains("Error"))
            .or_else(|| lines().find(|line| !line.is_empty()));
        Self::Nothing { name: tool.name(), message: shortened(error.unwrap_or("no message"), MESSAGE) }
    }
}

impl Tool {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ncu => "ncu",
            Self::Memcheck => "compute-sanitizer",
        }
    }

    /// Returns the flags before the program, for a report in the file `log`.
    fn flags(self, log: &Path) -> Vec<String> {
        let log = log.to_string_lossy();
        let flags: Vec<&str> = match self {
            // Clocks and caches stay as the program has them, as in a measurement.
            Self::Ncu => vec![
                "--csv",
                "--print-units",
                "base",
                "--profile-from-start",
                "off",
                "--clock-control",
                "none",
                "--cache-control",
                "none",
                "--launch-count",
                "64",
                "--log-file",
                &log,
                "--metrics",
            ],
            // Errors of the API are left out: PyTorch asks for features that a device may lack.
            Self::Memcheck => vec![
                "--tool",
                "memcheck",
                "--report-api-errors",
                "no",
                "--show-backtrace",
                "no",
                "--print-limit",
                "50",
                "--log-file",
                &log,
            ],
        };
        let metrics = (self == Self::Ncu).then(|| METRICS.join(","));
        flags.into_iter().map(str::to_owned).chain(metrics).collect()
    }

    /// Number of calls before the one that is watched. Every call is checked, so a second one would only take time.
    const fn warm_up(self) -> &'static str {
        match self {
            Self::Ncu => "3",
            Self::Memcheck => "0",
        }
    }
}

/// Returns the text that a tool writes about a call.
pub(super) fn run(
    tool: Tool,
    request: &ConfirmRequest,
    interpreter: &Interpreter,
    limit: Duration,
) -> Result<String, NoReport> {
    let name = tool.name();
    let path = find(name, |variable| env::var_os(variable).map(PathBuf::from)).ok_or(NoReport::Missing(name))?;
    run_at(&path, tool, request, interpreter, limit)
}

fn run_at(
    path: &Path,
    tool: Tool,
    request: &ConfirmRequest,
    interpreter: &Interpreter,
    limit: Duration,
) -> Result<String, NoReport> {
    let name = tool.name();
    let failed = |source| NoReport::Io { name, source };
    let scratch = tempfile::tempdir().map_err(failed)?;
    let (file, log, output) =
        (scratch.path().join("call.json"), scratch.path().join("log.txt"), scratch.path().join("output.txt"));
    std::fs::write(&file, serde_json::to_vec(request).map_err(|error| failed(error.into()))?).map_err(failed)?;
    let program = interpreter.module(MODULE);
    let mut command = Command::new(path);
    command.args(tool.flags(&log)).arg(program.get_program()).args(program.get_args()).arg(&file).arg(tool.warm_up());
    confine(&mut command, scratch.path());
    let written = std::fs::File::create(&output).map_err(failed)?;
    let errors = written.try_clone().map_err(failed)?;
    let child = command.stdin(Stdio::null()).stdout(written).stderr(errors).spawn().map_err(failed)?;
    if !ended(child, limit).map_err(failed)? {
        return Err(NoReport::Time { name, seconds: limit.as_secs() });
    }
    // The program's own messages come first, so that those of the tool count as the last ones. Names of kernels may be in any encoding.
    let read =
        |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let report = read(&log);
    Ok(if report.trim().is_empty() { read(&output) } else { report })
}

/// Gives the program few variables, folders of its own and a process group of its own. This is no sandbox.
fn confine(command: &mut Command, scratch: &Path) {
    command.env_clear().envs(VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command
        .env("LC_ALL", "C")
        .env("PASSNET_CACHE", scratch.join("cache"))
        .env("TRITON_CACHE_DIR", scratch.join("triton"));
    // Accesses beyond a tensor are inside of PyTorch's pool of memory, unless each tensor has memory of its own.
    command.env("TMPDIR", scratch).env("PYTORCH_NO_CUDA_MEMORY_CACHING", "1");
    command.current_dir(scratch).process_group(0);
}

/// Waits for the end of a process, and kills its group at the limit. Returns whether it ended by itself.
fn ended(mut child: Child, limit: Duration) -> io::Result<bool> {
    let begin = Instant::now();
    let is_ended = loop {
        if child.try_wait()?.is_some() {
            break true;
        }
        if begin.elapsed() >= limit {
            break false;
        }
        std::thread::sleep(POLL);
    };
    // Also kills what a program that has ended leaves behind.
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        // Fails if the group has no process any more.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    child.wait()?;
    Ok(is_ended)
}

/// Returns the path of a program on `PATH`, else in the toolkit.
fn find(name: &str, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let path = variable("PATH").into_iter().flat_map(|path| env::split_paths(&path).collect::<Vec<_>>());
    let toolkit = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(&variable).map(|home| home.join("bin"));
    let candidates = path.chain(toolkit).chain([PathBuf::from("/usr/local/cuda/bin")]);
    candidates.map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_on_the_path_before_the_toolkit() {
        let home = tempfile::tempdir().unwrap();
        let (first, toolkit) = (home.path().join("first"), home.path().join("cuda"));
        for folder in [&first, &toolkit.join("bin")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let with = |path: &Path| {
            find("tool", |name| match name {
                "PATH" => Some(path.to_owned()),
                "CUDA_HOME" => Some(toolkit.clone()),
                _ => None,
            })
        };
        assert_eq!(with(&first), None);
        std::fs::write(toolkit.join("bin/tool"), "").unwrap();
        assert_eq!(with(&first), Some(toolkit.join("bin/tool")));
        std::fs::write(first.join("tool"), "").unwrap();
        assert_eq!(with(&first), Some(first.join("tool")));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_its_children() {
        let program = |text: &str| Command::new("sh").args(["-c", text]).process_group(0).spawn().unwrap();
        assert!(ended(program("true"), Duration::from_secs(60)).unwrap());
        assert!(!ended(program("sleep 600 & wait"), Duration::from_millis(100)).unwrap());
    }

    #[test]
    fn a_tool_gets_its_flags_and_the_program() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("tool");
        let request = ConfirmRequest {
            graph: serde_json::Value::Null,
            inputs: Vec::new(),
            device: "cuda".to_owned(),
            threads: 1,
            lock: PathBuf::new(),
            passes: [("a.py".to_owned(), "import torch".to_owned())].into(),
        };
        let interpreter = Interpreter { python: "/opt/python".into(), site: Some("/site".into()) };
        let ran = |script: &str, limit: u64| {
            let script = format!("#!/bin/sh\nall=\"$*\"\nwhile [ \"$1\" != --log-file ]; do shift; done\n{script}\n");
            // Written by another process: a fork of another test would keep a file of this one open, and an open file cannot be run.
            let write = "printf %s \"$1\" >\"$2\" && chmod +x \"$2\"";
            assert!(Command::new("sh").args(["-c", write, "sh", &script]).arg(&path).status().unwrap().success());
            run_at(&path, Tool::Ncu, &request, &interpreter, Duration::from_millis(limit))
        };
        let log =
            ran("for last; do file=$previous; previous=$last; done; echo $all >$2; cat $file >>$2", 60_000).unwrap();
        for part in
            ["--csv", METRICS[4], "/opt/python -I -c", "/site passnet._services.profiled_call", " 3\n", "import torch"]
        {
            assert!(log.contains(part), "{part}: {log}");
        }
        assert_eq!(ran("echo no device >&2", 60_000).unwrap(), "no device\n");
        assert!(matches!(ran("sleep 600", 100), Err(NoReport::Time { .. })));
    }

    #[test]
    fn the_program_sees_no_secrets() {
        let mut command = Command::new("ncu");
        confine(&mut command, Path::new("/scratch"));
        let names: Vec<_> = command.get_envs().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert!(names.iter().all(|name| !name.contains("TOKEN") && !name.contains("KEY")), "{names:?}");
        assert!(names.iter().any(|name| name == "TMPDIR"));
    }

    #[test]
    fn a_text_without_report_says_why() {
        let check = |text: &str, expected: &str| {
            let said = NoReport::of(Tool::Ncu, text).to_string();
            assert!(said.contains(expected), "{said}");
        };
        let counters = "==PROF== Connected to process 7 (/usr/bin/python3)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission \
                        to access NVIDIA GPU Performance Counters on the target device 0.\n==PROF== Disconnected from process 7\n";
        check(counters, "only administrators");
        check(
            "==PROF== Connected\n==ERROR== The application returned an error code (1).\n==WARNING== No kernels\n",
            "error code (1)",
        );
        check("Traceback\nValueError: no pass matches\n", "ValueError: no pass matches");
        check("", "no message");
    }
}
