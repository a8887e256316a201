//! Every command that takes a suite takes it in every form: folders, and the Parquet tables that suites are published as.

use std::path::Path;

use crate::{passnet, repository};

/// A suite of Parquet tables with the tasks of the bundled suite that have `llama` in their name.
fn parquet_suite(folder: &Path) -> String {
    let (tasks, suite) = (folder.join("tasks"), folder.join("small"));
    std::fs::create_dir_all(&tasks).unwrap();
    let source = repository().join("suites/demo/llama-rms-norm");
    let graphs = copy_samples(&source, &tasks.join("llama-rms-norm"));
    std::fs::write(tasks.join("llama-rms-norm/graph_list.txt"), graphs.join("\n")).unwrap();
    let output = passnet(&["dataset", "import", "--tasks", tasks.to_str().unwrap(), "--out", suite.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    suite.to_str().unwrap().to_owned()
}

/// Copies the sample folders of a task; returns their names.
fn copy_samples(task: &Path, out: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for sample in std::fs::read_dir(task).unwrap().map(|entry| entry.unwrap().path()) {
        let name = sample.file_name().unwrap().to_str().unwrap().to_owned();
        std::fs::create_dir_all(out.join(&name)).unwrap();
        for file in std::fs::read_dir(&sample).unwrap().map(|entry| entry.unwrap().path()) {
            std::fs::copy(&file, out.join(&name).join(file.file_name().unwrap())).unwrap();
        }
        names.push(name);
    }
    names
}

#[test]
fn every_command_opens_a_parquet_suite() {
    let folder = tempfile::tempdir().unwrap();
    let suite = parquet_suite(folder.path());
    let (cache, out) = (folder.path().join("cache"), folder.path().join("out"));
    let out = out.to_str().unwrap();
    let check = |arguments: &[&str], code: i32| {
        let mut command = crate::command(arguments);
        // Without an interpreter, each command ends as soon as it has opened the suite.
        let command = command.env("PASSNET_PYTHON", "/nonexistent/python").env("PASSNET_CACHE", &cache);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{stderr}");
        assert!(!stderr.contains("suite.json"), "{arguments:?}\n{stderr}");
    };
    check(&["eval", &suite, "--author", "eager"], 3);
    check(&["bench", "run", &suite, "--author", "eager", "--out", out], 3);
    check(&["study", &suite, "--compilers", "inductor", "--out", out], 3);
    check(&["env", "serve", &suite], 3);
    check(&["agent", "run", &suite, "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--out", out], 3);
    // The pages draw the graphs without the types that PyTorch would name.
    let runs = folder.path().join("runs");
    let archive = std::fs::File::open(repository().join("docs/results/h200-runs.tar.gz")).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(&runs).unwrap();
    let run = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let site = folder.path().join("site");
    check(&["site", site.to_str().unwrap(), run.to_str().unwrap(), "--suite", &suite], 0);
    assert!(cache.join("suites").is_dir(), "the unpacked suite is in PASSNET_CACHE");
}
