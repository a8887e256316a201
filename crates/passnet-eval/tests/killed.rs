//! A run that is killed repeatedly ends with the same verdicts as one that is not, and leaves no process behind.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod common;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    time::Duration,
};

use passnet_eval::{Candidate, Defences, Referee, RefereeOptions, Submission, ZygoteConfig, run_suite, settings};
use passnet_record::{AuthorSpec, Device, GraphId, RunEvent, RunSettings};
use passnet_run::{RunLog, Selection, Suite};
use passnet_services::Interpreter;

/// Variable that is set for the process that carries out the run: the directory with `suite`, `site` and `run`.
const CHILD: &str = "PASSNET_TEST_RUN_IN";

const MODEL: &str = "import torch\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, x):\n        \
                     y = torch.clone(x)\n        x = None\n        return (y,)\n";

fn meta(rows: usize) -> String {
    format!(
        "class Program_weight_tensor_meta_x:\n\tname = \"x\"\n\tshape = [{rows}, 4]\n\tdtype = \"torch.float32\"\n\t\
         device = \"cpu\"\n\tmean = 0.5\n\tstd = 1.0\n\tdata = None\n"
    )
}

/// The process that is killed. It is not a separate test.
#[test]
fn child() {
    let Some(home) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let suite = Suite::load(&home.join("suite"), &Selection::default()).unwrap();
    let quick = RunSettings {
        warmup: 1,
        trials: 4,
        rounds: 2,
        check_rounds: 1,
        max_remeasure: 0,
        ..settings::sound(Device::Cpu)
    };
    let zygote = ZygoteConfig { site: Some(home.join("site")), ..ZygoteConfig::new(Interpreter::find().python) };
    let defences = Defences { lint: false, sandbox: false, ..Defences::ALL };
    let options = RefereeOptions { zygote, defences, cache: None, jobs: 2 };
    let referee = Referee::new(quick, options).unwrap();
    let noop = Submission::uniform(AuthorSpec::new("noop", None), &Candidate::Noop, &suite);
    run_suite(&referee, &suite, &noop, &home.join("run"), &AtomicBool::new(false), &|_| ()).unwrap();
}

#[test]
fn a_run_survives_any_number_of_deaths() {
    if common::fake_referee(|_| ()).is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut expected = BTreeSet::new();
    for task in 0..15 {
        let (task, graph) = (format!("task{task:02}"), "000".to_owned());
        let directory = home.path().join("suite").join(&task).join(&graph);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("model.py"), MODEL).unwrap();
        fs::write(directory.join("weight_meta.py"), meta(expected.len() + 1)).unwrap();
        expected.insert(GraphId { task, graph });
    }
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_site");
    std::os::unix::fs::symlink(fake, home.path().join("site")).unwrap();

    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(CHILD, home.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut milliseconds = 150;
    let begun = home.path().join("run/run.jsonl");
    for death in 0..10 {
        let mut child = start();
        // Every second process is killed only after the log has begun, even on a busy machine.
        while death % 2 == 1 && !begun.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        milliseconds = (milliseconds * 7 + 113) % 600;
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(start().wait().unwrap().success());

    let log = RunLog::read(&home.path().join("run")).unwrap();
    assert!(log.finished);
    let verdicts: Vec<_> = log.events.iter().filter(|event| matches!(event, RunEvent::Verdict(_))).collect();
    let ids: BTreeSet<GraphId> = log.verdicts().iter().map(|verdict| verdict.id.clone()).collect();
    assert_eq!(ids, expected);
    assert_eq!(verdicts.len(), expected.len(), "no graph was evaluated twice");
    let starts = log.events.iter().filter(|event| matches!(event, RunEvent::Started(_))).count();
    assert!(starts >= 2, "every kill came before the first line of the log");

    let site = home.path().join("site");
    let survivors = || processes_that_name(&site.to_string_lossy());
    for _ in 0..200 {
        if survivors().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("still running: {:?}", survivors());
}

fn processes_that_name(text: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(text)).collect()
}
