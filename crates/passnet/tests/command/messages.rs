//! Messages and exit codes of mistakes that a first user makes. None of them needs PyTorch.

use std::{path::Path, process::Command};

use crate::{command, repository};

pub(crate) const TASK: &str = "suites/demo/llama-rms-norm";

/// Runs the command without an interpreter; returns stdout and stderr.
pub(crate) fn check(arguments: &[&str], code: i32, expected: &[&str]) -> String {
    let output = command(arguments).env("PASSNET_PYTHON", "/nonexistent/python").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{text}");
    for part in expected {
        assert!(text.contains(part), "{arguments:?} lacks `{part}`\n{text}");
    }
    text
}

#[test]
fn a_compiler_without_a_file_is_named() {
    check(&["eval", TASK, "--author", "compiler:none.py"], 3, &["compiler:none.py", "there is no file none.py"]);
}

#[test]
fn wrong_use_is_named_with_the_way_out() {
    check(&["eval", TASK], 2, &["--passes DIR", "--author NAME"]);
    check(&["eval", TASK, "--author", "bogus"], 2, &["unknown author"]);
    check(&["eval", TASK, "--author", "eager", "--trials", "0"], 2, &["--trials"]);
    for limit in ["0", "-1", "nan", "inf", "soon"] {
        for flag in ["--timeout", "--memory"] {
            let given = format!("{flag}={limit}");
            check(&["eval", TASK, "--author", "eager", &given], 2, &[flag, "expected a number above 0"]);
        }
    }
    check(&["eval", TASK, "--passes", "no/such/passes"], 2, &["no/such/passes", "passnet new"]);
    check(&["eval", "no/such/task", "--author", "eager"], 2, &["no/such/task: no such suite, task or sample"]);
    let misspelt = ["eval", "suites/demo/lama-rms-norm", "--author", "eager"];
    check(&misspelt, 2, &["no such suite, task or sample; did you mean `suites/demo/llama-rms-norm`?"]);
    check(&["eval", TASK, "--author", "eager", "--device", "rocm"], 2, &["unknown device `rocm`"]);
    check(
        &["bench", "run", "suites/demo", "--author", "dir:no/such"],
        2,
        &["no/such: there is no such pass directory"],
    );
    let filtered = ["bench", "run", "suites/demo", "--author", "eager", "--filter", "zzz"];
    check(&filtered, 2, &["no task matches the filter `zzz`; the suite has 43 tasks: resnet-conv-bn-relu, "]);
    let misspelt = ["bench", "run", "suites/demo", "--author", "eager", "--filter", "llama-rms-nrom"];
    check(&misspelt, 2, &["no task matches the filter `llama-rms-nrom`; did you mean `llama-rms-norm`?"]);
    for limit in ["--tasks", "--graphs-per-task"] {
        check(&["bench", "run", "suites/demo", "--author", "eager", limit, "0"], 2, &[limit, "at least 1"]);
    }
    check(&["report", "no/such/run"], 2, &["no/such/run"]);
    check(&["score", "no/such/run"], 2, &["no/such/run"]);
    check(&["compare", "no/such/run", "other"], 2, &["no/such/run"]);
}

#[test]
fn wrong_and_damaged_files_are_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let file = path("a file");
    std::fs::write(&file, "text").unwrap();
    let inside = path("a file/inside");
    let empty = path("empty");
    std::fs::create_dir(&empty).unwrap();
    let cut = path("cut");
    std::fs::create_dir(&cut).unwrap();
    std::fs::write(folder.path().join("cut/run.jsonl.zst"), b"\x28\xb5\x2f\xfd").unwrap();

    check(&["lint", &file], 2, &["a file: a file and no pass directory"]);
    check(&["bench", "run", &file, "--author", "eager"], 2, &["a file: not a suite"]);
    for reader in [["report", &cut].as_slice(), &["score", &cut], &["bundle", &cut], &["plot", &cut, "--out", &empty]] {
        check(reader, 2, &["cut", "damaged or cut short", "--fresh"]);
    }
    check(&["bundle", &empty], 2, &["empty: not a run"]);
    // Text, bytes that are no text, and a file of the machine: never a score.
    let bytes = path("bytes");
    std::fs::write(&bytes, [0x28, 0xb5, 0x2f, 0xfd, 0xff, 0, 1]).unwrap();
    for other in [&file, &bytes, "/etc/passwd", "/dev/null"] {
        let text = check(&["score", other], 2, &[other]);
        assert!(!text.contains("AS "), "{text}");
        check(&["traj", "stats", other], 2, &[]);
        // An empty corpus is one.
        let code = if other == "/dev/null" { 0 } else { 2 };
        check(&["traj", "filter", other, "--out", &path("filtered")], code, &[]);
        check(&["compare", other, other], 2, &[other]);
    }
    check(&["serve", &bytes, "--port", "0"], 2, &["bytes"]);
    check(&["dataset", "import", &empty, "--out", &path("dataset")], 2, &["no samples found"]);
    let suite = path("suite");
    std::fs::create_dir(&suite).unwrap();
    let whole = std::fs::read(repository().join("suites/demo/suite.json")).unwrap();
    std::fs::write(folder.path().join("suite/suite.json"), &whole[..whole.len() / 2]).unwrap();
    check(&["bench", "run", &suite, "--author", "eager"], 2, &["suite.json:"]);
    check(&["traj", "stats", &empty], 2, &["there are no trajectories"]);
    // A folder without files is a mistake, and a file that a filter left empty is none.
    let nothing = path("nothing");
    std::fs::create_dir(&nothing).unwrap();
    for command in ["filter", "dedup", "export"] {
        check(&["traj", command, &nothing, "--out", &path("filtered")], 2, &["nothing: there are no trajectories"]);
    }
    let missing = "cannot read trajectories: there is no such file or folder; name a `.jsonl` file";
    check(&["traj", "stats", "no/such"], 2, &["no/such: ", missing, "`passnet agent run`"]);
    check(&["traj", "filter", "no/such", "--out", &path("filtered")], 2, &["no/such: ", missing]);
    let run = path("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::write(folder.path().join("run/run.json"), "{}").unwrap();
    check(&["traj", "stats", &run], 2, &["run/trajectories.jsonl: ", missing]);
    check(&["attacks", "no/such"], 2, &["no/such: no attack suite"]);
    for address in ["nonsense", "127.0.0.1:99999"] {
        check(&["env", "serve", TASK, "--listen", address], 2, &[address, "HOST:PORT"]);
    }
    let filters = ["attacks", "--filter", "timing", "--filter", "nothing"];
    check(&filters, 2, &["attacks: no entry matches the filter `nothing`"]);
    check(&["optimize", "model.py:build", "--out", &empty, "--mode", "bogus"], 2, &["possible values: default"]);
    let optimize = ["optimize", "model.py:build", "--out", &empty];
    let text = check(&optimize, 3, &["cannot start /nonexistent/python", "PASSNET_PYTHON"]);
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    // Checked before a process is started.
    check(&["bench", "run", TASK, "--author", "eager", "--out", &inside], 2, &["cannot be a folder"]);
    check(&["fuse", TASK, "--out", &inside], 2, &["cannot be a folder"]);
    check(&["new", TASK, "--out", &inside], 2, &["cannot be a folder"]);
    // The file system of the kernel takes no files, not even from root.
    check(&["bench", "run", TASK, "--author", "eager", "--out", "/proc/run"], 3, &["cannot write to /proc"]);
}

/// A command that opens a named pipe would wait until another process writes to it.
#[test]
fn a_named_pipe_or_a_device_is_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    let made = ["pipe", "run.jsonl"].map(|name| folder.path().join(name));
    assert!(Command::new("mkfifo").args(&made).status().unwrap().success());
    let [pipe, run] = [made[0].to_str().unwrap(), folder.path().to_str().unwrap()];
    let refused: [&[&str]; 8] = [
        &["score", pipe],
        &["score", run],
        &["score", "/dev/zero"],
        &["compare", run, run],
        &["bundle", "--verify", pipe],
        &["traj", "stats", pipe],
        &["submit", pipe, "--to", "http://127.0.0.1:1"],
        &["bench", "run", TASK, "--author", &format!("compiler:{pipe}")],
    ];
    for arguments in refused {
        let mut waiting = Command::new("timeout");
        waiting.args(["20", env!("CARGO_BIN_EXE_passnet")]).args(arguments).current_dir(repository());
        let output = waiting.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains("named pipe"), "{arguments:?}: {text}");
    }
    // A pipe that a command has connected ends with that command.
    let log = repository().join("crates/passnet-score/tests/data/synthetic.log");
    let score = |input: &str| {
        let mut reader = command(&["score", input, "--format", "json"]);
        reader.stdin(std::fs::File::open(&log).unwrap()).output().unwrap()
    };
    let (piped, direct) = (score("/dev/stdin"), score(log.to_str().unwrap()));
    assert!(direct.status.success() && piped.stdout == direct.stdout, "{piped:?}");
    let mut shell = Command::new("bash");
    shell.args(["-c", "\"$0\" score <(cat \"$1\") --format json"]).args([env!("CARGO_BIN_EXE_passnet")]).arg(&log);
    assert_eq!(shell.output().unwrap().stdout, direct.stdout);
}

/// Without this check, eager mode would be scored 1, and not the passes that the user meant.
#[test]
fn a_folder_without_passes_is_not_scored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let dir = format!("dir:{path}");
    let refused = |text: &str| {
        check(&["eval", TASK, "--passes", path], 2, &[text]);
        check(&["eval", TASK, "--passes", path, "--json"], 2, &[text]);
        check(&["bench", "run", "suites/demo", "--author", &dir], 2, &[text]);
    };
    refused("names no pass");
    // Python files alone are not applied.
    std::fs::write(folder.path().join("mine.py"), "").unwrap();
    refused("sorted_output_pass_rule_names.json");
}

/// Workers compile kernels in the cache. Without it each graph would fail, as if eager mode could not run.
#[test]
fn a_cache_that_cannot_be_written_ends_the_command_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a file");
    std::fs::write(&file, "").unwrap();
    for (cache, code) in [(file.as_path(), 2), (Path::new("/proc/cache"), 3)] {
        let output = command(&["eval", TASK, "--author", "eager"]).env("PASSNET_CACHE", cache).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(code), b"".as_slice()), "{stderr}");
        assert!(stderr.contains("PASSNET_CACHE"), "{stderr}");
    }
}

#[test]
fn a_cause_that_the_error_quotes_is_said_once() {
    let text = check(&["traj", "stats", "README.md/inside"], 2, &[]);
    assert_eq!(text.matches("Not a directory").count(), 1, "{text}");
}

#[test]
fn a_device_that_pytorch_does_not_find_ends_the_command_before_anything_runs() {
    let run = tempfile::tempdir().unwrap();
    let out = run.path().join("run");
    let arguments = ["bench", "run", TASK, "--author", "eager", "--device", "cuda", "--out", out.to_str().unwrap()];
    check(&arguments, 3, &["no device cuda:0", "passnet doctor --device cuda:0"]);
    assert!(!out.exists());
}

/// A Python without PyTorch: any interpreter, with a package that cannot be imported.
#[test]
fn an_interpreter_without_pytorch_is_reported_with_its_error() {
    let site = tempfile::tempdir().unwrap();
    std::fs::create_dir(site.path().join("passnet")).unwrap();
    std::fs::write(site.path().join("passnet/__init__.py"), "import no_such_torch\n").unwrap();
    let mut eval = command(&["eval", TASK, "--author", "eager"]);
    let output = eval.env("PASSNET_PYTHON", "python3").env("PASSNET_SITE", site.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("cannot start") {
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("no_such_torch") && stderr.contains("PASSNET_PYTHON"), "{stderr}");
    assert!(!stderr.contains("Traceback") || !stderr.contains("but not"), "{stderr}");
}

/// A missing compiler is no failure of the passes: there is no verdict and no score.
#[test]
fn kernels_without_a_compiler_are_not_evaluated() {
    let check = |author: &[&str]| {
        let mut eval = command(&["eval", "suites/demo/gpt2-gelu-tanh"]);
        let output = eval.args(author).env("CXX", "/no/such/compiler").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Without PyTorch, its absence is found first.
        if stderr.contains("PASSNET_PYTHON") {
            return;
        }
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), b"".as_slice()), "{stderr}");
        assert!(stderr.contains("there is no compiler `/no/such/compiler`; install one or set CXX"), "{stderr}");
    };
    check(&["--author", "fuse"]);
    check(&["--author", "inductor"]);
    check(&["--passes", "suites/demo/passes/gpt2-gelu-tanh"]);
}

#[test]
fn a_report_takes_a_folder_of_runs() {
    let folder = tempfile::tempdir().unwrap();
    let archive = std::fs::File::open(repository().join("docs/results/h200-runs.tar.gz")).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(folder.path()).unwrap();
    let runs = std::fs::read_dir(folder.path()).unwrap().count();
    let text = check(&["report", folder.path().to_str().unwrap(), "--format", "json"], 0, &[]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["runs"].as_array().unwrap().len(), runs);
    let (out, path) = (folder.path().join("pages"), folder.path().to_str().unwrap());
    for missing in ["no/such", "README.md"] {
        let site = ["site", out.to_str().unwrap(), path, "--no-shapes", "--bisected", missing];
        check(
            &site,
            2,
            &[&format!("{missing}: no such folder; `passnet bisect SUITE --run RUN --out DIR` writes one")],
        );
    }
}

#[test]
fn the_help_lists_commands_by_purpose_and_global_options_last() {
    check(&["--help"], 0, &["Write and check passes:", "Examples:", "completions"]);
    let help = check(&["eval", "--help"], 0, &["--watch", "Examples:"]);
    assert!(help.find("--trials").unwrap() < help.find("--quiet").unwrap(), "{help}");
    check(&["dataset", "query", "--help"], 0, &["Folder of the dataset"]);
    let doctor = check(&["doctor", "--help"], 0, &["--quick"]);
    assert!(!doctor.contains("--warmup"), "{doctor}");
}

#[test]
fn completions_and_the_manual_name_the_subcommands() {
    for shell in ["bash", "zsh", "fish"] {
        check(&["completions", shell], 0, &["passnet", "bench"]);
    }
    check(&["man"], 0, &[".TH passnet", "passnet-dataset-build-suites", "\\-\\-watch"]);
}

#[test]
fn a_new_pass_has_the_pattern_of_the_task_and_passes_lint() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("mine");
    let path = out.to_str().unwrap();
    check(&["new", TASK, "--out", path], 0, &["no kernel is generated", "my_pass.py", "--watch"]);
    let text = std::fs::read_to_string(out.join("my_pass.py")).unwrap();
    assert!(text.contains("def pattern(in_0") && text.contains("torch.rsqrt"), "{text}");
    check(&["lint", path], 0, &[]);
    assert!(is_python(&out.join("my_pass.py")));
    check(&["new", TASK, "--out", path], 2, &["already exists"]);
    check(&["new", "suites/demo", "--out", path], 2, &["a suite of"]);
}

/// True if Python compiles the file, or no Python is there to ask.
fn is_python(path: &Path) -> bool {
    let source = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
    Command::new("python3").args(["-c", source]).arg(path).status().map_or(true, |status| status.success())
}

#[test]
fn one_of_a_kind_is_counted_in_the_singular() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one.jsonl");
    let all = std::fs::read_to_string(repository().join("crates/passnet/tests/data/trajectories.jsonl")).unwrap();
    std::fs::write(&one, all.lines().next().unwrap()).unwrap();
    check(&["traj", "stats", one.to_str().unwrap()], 0, &["1 attempt at 1 task: 3 steps, 1 evaluation, 330 tokens"]);
}
