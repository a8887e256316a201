//! A site as a browser and a file system get it.

mod fixture;

use std::collections::BTreeSet;

use passnet_graph::Graph;
use passnet_record::{
    ContentId, CurveEvent, CurvePoint, GraphId, Remark, SourceFile, Status, TRAINING_VERSION, TrainingScores,
};
use passnet_score::{Outcomes, ScoreReport, ScoreSettings};
use passnet_web::{
    Archive, BisectedView, DatasetView, GraphView, LintFinding, PageId, PassSet, PassText, RunView, SampleLine, Site,
    TableView, TrainingView, TrajectoryView, Trials, Turn,
};

/// Largest page.
const MAX_PAGE: usize = 300_000;

/// Text that would run or load something if it were taken for markup.
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onload='alert(3)";

/// Keeps something hostile of everything.
struct Shelves;

impl Archive for Shelves {
    fn passes(&self, _: usize, set: &PassSet) -> Vec<PassText> {
        let text = |file: &SourceFile| PassText {
            path: file.path.clone(),
            text: Some(format!("import torch\n# {HOSTILE}\n")),
            findings: vec![LintFinding {
                line: 2,
                column: 1,
                rule: "PN000 example".to_owned(),
                message: HOSTILE.to_owned(),
                help: HOSTILE.to_owned(),
            }],
        };
        set.files.iter().map(text).collect()
    }

    fn trials(&self, _: usize, _: &ContentId) -> Option<Trials> {
        let times = |base: u64| (0..100).map(|trial| base + 37 * trial % 211).collect();
        Some(Trials { eager: times(9000), control: times(11_000), candidate: times(7000) })
    }

    fn graph(&self, _: &str, _: &str, _: &GraphId) -> Option<GraphView> {
        let graph = graph();
        let types = (0..graph.num_values()).map(|value| (value > 0).then(|| format!("f32[4, {value}]"))).collect();
        Some(GraphView { graph, types, source: HOSTILE.to_owned(), model: HOSTILE.to_owned() })
    }

    fn parsed(&self, _: &str) -> Option<Graph> {
        Some(graph())
    }

    fn rewritten(&self, _: &str) -> Option<Graph> {
        Some(graph())
    }
}

/// `return gelu(x + y) * y`
fn graph() -> Graph {
    let mut builder = Graph::builder();
    let (x, y) = (builder.input("x"), builder.input("y"));
    let sum = builder.call_function("sum", "operator.add", &[x.into(), y.into()], &[]);
    let gelu = builder.call_function("gelu", "torch.nn.functional.gelu", &[sum.into()], &[]);
    let out = builder.call_method("out", "mul", &[gelu.into(), y.into()], &[]);
    builder.finish(&[out.into()]).expect("the graph is lawful")
}

/// A failing part, of the author of the fixture that fails where graph 0 of this task is.
fn bisected(task: &str) -> BisectedView {
    let part = GraphView { graph: graph(), types: Vec::new(), source: HOSTILE.to_owned(), model: HOSTILE.to_owned() };
    BisectedView {
        id: GraphId { task: task.to_owned(), graph: "000".to_owned() },
        author: "dir:passes/fused".to_owned(),
        status: "no_match".to_owned(),
        code: HOSTILE.to_owned(),
        message: HOSTILE.to_owned(),
        whole: 40,
        is_minimal: false,
        part,
    }
}

#[test]
fn failing_parts_are_linked_from_the_evaluations_that_failed() {
    let site = site();
    let part = PageId::at("failing/conv2d-bn-relu-000-dir-passes-fused.html", &site).unwrap();
    let page = site.render(part, &Shelves);
    assert!(page.contains("fails on 3 calls of the 40"), "{page}");
    let pages = site.page_ids();
    let linking: Vec<String> = pages
        .iter()
        .filter(|place| site.render(**place, &Shelves).contains("failing/conv2d-bn-relu-000-dir-passes-fused.html"))
        .map(|place| place.path(&site))
        .collect();
    assert_eq!(linking.len(), 3, "the list, the run and its evaluation: {linking:?}");
}

/// Two stages with a score for one checkpoint, and numbers that a diverged training has.
fn training() -> TrainingView {
    let started = || CurveEvent::Started { schema_version: TRAINING_VERSION, name: HOSTILE.to_owned() };
    let point = |step, loss| CurveEvent::Point(CurvePoint { step, loss: Some(loss), ..CurvePoint::default() });
    let checkpoint = CurveEvent::Checkpoint { step: u64::MAX, author: HOSTILE.to_owned() };
    let events = vec![started(), point(20, 5.9), point(u64::MAX, f64::NAN), started(), point(20, 0.2), checkpoint];
    let scores = [HOSTILE, "nearest"].map(|name| (name.to_owned(), TrainingScores::default()));
    TrainingView { name: HOSTILE.to_owned(), events, scores: scores.into() }
}

/// The fixture's runs with everything that a page can show.
fn site() -> Site {
    let mut runs = fixture::runs();
    for run in &mut runs {
        let blob = ContentId::of(b"pass");
        let files = vec![SourceFile { path: HOSTILE.to_owned(), blob: blob.clone() }];
        if run.header.author.kind() == "dir" {
            run.passes.push(PassSet { task: "gelu-mul".to_owned(), id: blob.clone(), files });
        }
        for verdict in &mut run.verdicts {
            verdict.evidence.rewritten = Some(HOSTILE.to_owned());
            verdict.evidence.notes.push(Remark::Other(HOSTILE.to_owned()));
            for timing in &mut verdict.timings {
                timing.raw = Some(blob.clone());
            }
        }
    }
    let turn = |role: &str| Turn {
        role: role.to_owned(),
        step: 1,
        text: HOSTILE.repeat(20),
        calls: vec![(HOSTILE.to_owned(), HOSTILE.to_owned())],
    };
    let trajectory = TrajectoryView {
        name: HOSTILE.to_owned(),
        task: HOSTILE.to_owned(),
        model: HOSTILE.to_owned(),
        facts: vec![(HOSTILE.to_owned(), HOSTILE.to_owned())],
        turns: ["system", "user", "assistant", "tool"].map(turn).to_vec(),
        scores: vec![(1, 0.5), (2, 1.4), (4, 1.1)],
        outcome: HOSTILE.to_owned(),
    };
    let table = TableView {
        name: "graphs".to_owned(),
        rows: 2,
        groups: vec![("By domain".to_owned(), vec![(HOSTILE.to_owned(), 2)])],
        samples: vec![SampleLine {
            path: HOSTILE.to_owned(),
            source: HOSTILE.to_owned(),
            ops: 3,
            op_names: HOSTILE.to_owned(),
            model: HOSTILE.to_owned(),
            domain: HOSTILE.to_owned(),
            inputs: vec![HOSTILE.to_owned()],
            text: HOSTILE.to_owned(),
            features: vec![(0, 1.0)],
        }],
        failures: vec![HOSTILE.to_owned()],
    };
    Site::new(runs, vec![trajectory], Some(DatasetView { name: HOSTILE.to_owned(), tables: vec![table] }))
        .with_trainings(vec![training(), TrainingView { name: "second".to_owned(), ..training() }])
        .with_bisected(vec![bisected("elsewhere"), bisected("conv2d-bn-relu")])
}

/// The value of an attribute each time that it occurs.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    page.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// `../` and names resolved against the path of a page.
fn resolved(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[test]
fn every_link_leads_to_a_page_of_the_site_and_every_path_back_to_its_page() {
    let site = site();
    let places = site.page_ids();
    let paths: BTreeSet<String> = places.iter().map(|place| place.path(&site)).collect();
    assert_eq!(paths.len(), places.len(), "paths differ");
    for place in places {
        let path = place.path(&site);
        assert_eq!(PageId::at(&path, &site), Some(place));
        let page = site.render(place, &Shelves);
        let ids: BTreeSet<&str> = attributes(&page, "id").into_iter().collect();
        for link in attributes(&page, "href") {
            match link.strip_prefix('#') {
                Some(anchor) => assert!(ids.contains(anchor), "{path}: {link}"),
                None if link.starts_with("data:") => {}
                None => {
                    // The part after `#~` is a filter of the page.
                    let (page, _) = link.split_once("#~").unwrap_or((link, ""));
                    assert!(paths.contains(&resolved(&path, page)), "{path}: {link}");
                }
            }
        }
    }
}

#[test]
fn no_text_becomes_markup() {
    let site = site();
    for place in site.page_ids() {
        let page = site.render(place, &Shelves);
        let path = place.path(&site);
        assert_eq!(page.matches("<script").count(), 1, "{path}");
        assert!(!page.contains("<img") && !page.contains("\"' onload"), "{path}");
    }
}

/// Labels of the parts of a page that scroll. Screen readers list them.
fn regions(page: &str) -> Vec<&str> {
    let starts = page.split(" role=\"region\" aria-label=\"").skip(1);
    starts.filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn ids_and_labels_differ_within_a_page() {
    let mut runs = fixture::runs();
    // Boards of the same suite that differ in device or tolerance.
    for (device, correct_at) in [("Example GPU", -5), ("Example GPU", -2), ("Other GPU", -2)] {
        let mut run = fixture::runs().remove(1);
        run.header.fingerprint.device = device.to_owned();
        run.header.settings.correct_at = correct_at;
        run.header.run = format!("{device}{correct_at}");
        runs.push(run);
    }
    check_ids_and_labels(&Site::new(runs, Vec::new(), None));
    check_ids_and_labels(&site());
}

fn check_ids_and_labels(site: &Site) {
    for place in site.page_ids() {
        let page = site.render(place, &Shelves);
        let ids = attributes(&page, "id");
        let distinct: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), distinct.len(), "{}: {ids:?}", place.path(site));
        let labels = regions(&page);
        let distinct: BTreeSet<&str> = labels.iter().copied().collect();
        assert_eq!(labels.len(), distinct.len(), "{}: {labels:?}", place.path(site));
    }
}

#[test]
fn paths_that_are_none_lead_nowhere() {
    let site = site();
    for path in [
        "run/unknown.html",
        "run/../index.html",
        "../../etc/passwd",
        "index.html/",
        "suite/demo-1.0~1.html",
        "suite/demo-1.0~9.html",
        "suite/demo-1.0~02.html",
        "compare/a/b.html",
        "task/demo-1.0/.html",
        "evaluation//.html",
        "run/%2e%2e.html",
        "\0",
        "~",
    ] {
        assert_eq!(PageId::at(path, &site), None, "{path}");
    }
    assert_eq!(PageId::at("", &site), Some(PageId::Index));
    let same = PageId::Compare(0, 0).path(&site);
    assert_eq!(PageId::at(&same, &site), None, "a run is not compared with itself");
}

/// 20 runs of 2,000 graphs in 200 tasks, made from the fixture's.
fn large() -> Site {
    let seeds = fixture::runs();
    let run = |index: usize| -> RunView {
        let mut run = seeds[index % seeds.len()].clone();
        run.header.run = format!("run-{index}");
        run.header.graphs = 2000;
        let verdict = |at: usize| {
            let mut verdict = run.verdicts[(at * 7 + index) % run.verdicts.len()].clone();
            // Names as long as those of the public suites.
            verdict.id = GraphId { task: format!("{:064x}", at / 10), graph: format!("{:03}", at % 10) };
            verdict
        };
        run.verdicts = (0..2000).map(verdict).collect();
        let outcomes = Outcomes::from_verdicts(&run.verdicts, run.header.settings.correct_at);
        run.score = ScoreReport::new(&outcomes, &ScoreSettings::default()).expect("there are graphs");
        run
    };
    Site::new((0..20).map(run).collect(), Vec::new(), None)
}

#[test]
fn pages_stay_small_at_2000_graphs_and_20_runs() {
    let site = large();
    let places = site.page_ids();
    let of_kind = |kind: fn(&PageId) -> bool| places.iter().copied().filter(kind).take(2).collect::<Vec<_>>();
    let kinds: [fn(&PageId) -> bool; 8] = [
        |place| matches!(place, PageId::Index),
        |place| matches!(place, PageId::Board(_)),
        |place| matches!(place, PageId::Figures(_)),
        |place| matches!(place, PageId::Suite(..)),
        |place| matches!(place, PageId::Run(_)),
        |place| matches!(place, PageId::Task(..)),
        |place| matches!(place, PageId::Evaluation(..)),
        |place| matches!(place, PageId::Compare(..)),
    ];
    for place in kinds.into_iter().flat_map(of_kind) {
        let size = site.render(place, &Shelves).len();
        assert!(size < MAX_PAGE, "{}: {size} bytes", place.path(&site));
    }
}

/// The part of a page between its header and its footer, one tag a line.
fn content(page: &str) -> String {
    let (_, rest) = page.split_once("<body>").expect("a page has a body");
    rest.split("<footer>").next().unwrap_or_default().replace("><", ">\n<")
}

#[test]
fn pages_are_as_reviewed() {
    let site = site();
    let board = content(&site.render(PageId::Index, &Shelves));
    insta::assert_snapshot!("board", board);
    let task = PageId::at("task/demo-1.0/gelu-mul.html", &site).expect("the fixture has the task");
    insta::assert_snapshot!("task", content(&site.render(task, &Shelves)));
    insta::assert_snapshot!("comparison", content(&site.render(PageId::Compare(1, 2), &Shelves)));
}

#[test]
fn a_family_counts_unstable_times_as_the_mean_of_the_run_does() {
    let mut run = fixture::runs().pop().expect("the fixture has runs");
    run.verdicts.retain(|verdict| verdict.status == Status::Unstable);
    let outcomes = Outcomes::from_verdicts(&run.verdicts, run.header.settings.correct_at);
    run.score = ScoreReport::new(&outcomes, &ScoreSettings::default()).expect("there is a graph");
    assert_eq!(run.score.tally.geomean_speedup, Some(1.4));
    let page = content(&Site::new(vec![run], Vec::new(), None).render(PageId::Suite(0, 0), &Shelves));
    let (_, families) = page.split_once("By family").expect("the graph has a time");
    assert!(families.contains("<strong>1.40</strong>"), "{families}");
}
