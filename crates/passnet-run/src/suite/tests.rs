use super::*;

fn sample(root: &Path, path: &str) {
    let directory = root.join(path);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("model.py"), path).unwrap();
    fs::write(directory.join("weight_meta.py"), "").unwrap();
}

fn ids(suite: &Suite) -> Vec<String> {
    suite.graphs().map(|id| format!("{}/{}", id.task, id.graph)).collect()
}

#[test]
fn every_layout_is_found() {
    let root = tempfile::tempdir().unwrap();
    for path in ["a/000", "a/001", "b/000"] {
        sample(root.path(), path);
    }
    fs::write(root.path().join("index.json"), r#"{"b": {"ops": ["conv2d", "relu"], "entries": []}}"#).unwrap();
    let all = Suite::load(root.path(), &Selection::default()).unwrap();
    assert_eq!(ids(&all), ["a/000", "a/001", "b/000"]);
    assert_eq!(all.record.version.len(), 12);

    let relu = Selection { patterns: vec!["conv2d,*".to_owned()], ..Selection::default() };
    assert_eq!(ids(&Suite::load(root.path(), &relu).unwrap()), ["b/000"]);
    let first = Selection { graphs: Some(1), tasks: Some(1), ..Selection::default() };
    assert_eq!(ids(&Suite::load(root.path(), &first).unwrap()), ["a/000"]);

    let task = Suite::load(&root.path().join("a"), &Selection::default()).unwrap();
    assert_eq!(ids(&task), ["a/000", "a/001"]);
    let one = Suite::load(&root.path().join("a/001"), &Selection::default()).unwrap();
    assert_eq!(ids(&one), ["001/001"]);
    let id = one.graphs().next().unwrap();
    assert_eq!(fs::read_to_string(one.sample_dir(&id).join("model.py")).unwrap(), "a/001");
}

#[test]
fn archives_are_unpacked() {
    let root = tempfile::tempdir().unwrap();
    sample(root.path(), "bench/a/000");
    let archive = root.path().join("bench.tar.zst");
    let mut tar = tar::Builder::new(Vec::new());
    tar.append_dir_all("bench", root.path().join("bench")).unwrap();
    fs::write(&archive, zstd::encode_all(tar.into_inner().unwrap().as_slice(), 1).unwrap()).unwrap();
    let suite = Suite::load(&archive, &Selection::default()).unwrap();
    assert_eq!((suite.record.name.as_str(), ids(&suite)), ("bench", vec!["a/000".to_owned()]));
    fs::write(&archive, b"rubbish").unwrap();
    assert!(Suite::load(&archive, &Selection::default()).unwrap_err().to_string().contains("bench.tar.zst"));
}

#[test]
fn bad_suites_are_named() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::Empty { .. })));
    let path = root.path().join("suite.json");
    fs::write(&path, "{\n \"name\": 3}").unwrap();
    assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::Json { line: 2, .. })));
    let text = |task: &str, version: u32| {
        format!(
            r#"{{"schema_version": {version}, "name": "n", "version": "1", "split": "eval", "description": "",
                "tasks": [{{"id": "{task}", "ops": [], "graphs": ["000"]}}]}}"#
        )
    };
    fs::write(&path, text("../up", 1)).unwrap();
    assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::BadName { .. })));
    fs::write(&path, text("a", 99)).unwrap();
    assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::Version { .. })));
    fs::write(&path, text("a", 1).replace("}]}", r#", "held_out": ["001"]}]}"#)).unwrap();
    assert!(matches!(Suite::load(root.path(), &Selection::default()), Err(SuiteError::HeldOut { .. })));
}

#[test]
fn held_out_graphs_are_evaluated_but_not_visible() {
    let root = tempfile::tempdir().unwrap();
    let task = r#"{"id": "a", "ops": [], "graphs": ["000", "001"], "held_out": ["001"]}"#;
    let text = format!(
        r#"{{"schema_version": 1, "name": "n", "version": "1", "split": "eval", "description": "", "tasks": [{task}]}}"#
    );
    fs::write(root.path().join("suite.json"), text).unwrap();
    let suite = Suite::load(root.path(), &Selection::default()).unwrap();
    assert_eq!(ids(&suite), ["a/000", "a/001"]);
    let visible: Vec<_> = suite.visible(&suite.record.tasks[0]).map(|id| id.graph).collect();
    assert_eq!(visible, ["000"]);
    let first = Suite::load(root.path(), &Selection { graphs: Some(1), ..Selection::default() }).unwrap();
    assert!(first.record.tasks[0].held_out.is_empty());
}

#[test]
fn an_empty_selection_differs_from_a_folder_without_a_suite() {
    let root = tempfile::tempdir().unwrap();
    let load = |selection: &Selection| Suite::load(root.path(), selection).unwrap_err().to_string();
    let none = Selection { tasks: Some(0), ..Selection::default() };
    assert!(load(&none).contains("not a suite"));
    sample(root.path(), "a/000");
    sample(root.path(), "b/000");
    let error = load(&Selection { patterns: vec!["zzz".to_owned()], ..Selection::default() });
    assert!(error.contains("no task matches the filter `zzz`; the suite has 2 tasks"), "{error}");
    assert!(load(&none).contains("no task matches the filter, at most 0 tasks"), "{}", load(&none));
    let missing = Suite::load(&root.path().join("c"), &Selection::default()).unwrap_err();
    assert!(matches!(missing, SuiteError::NotFound { .. }), "{missing}");
}
