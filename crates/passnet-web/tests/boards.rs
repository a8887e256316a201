//! Ranking rules of the leaderboard page.

mod empty;
mod fixture;

use empty::Empty;
use passnet_record::{AuthorSpec, ExecutionPath, WritingCost};
use passnet_score::Interval;
use passnet_web::{GraphTraits, OperationKind, PageId, RunView, Site, SuiteTraits};

/// A run with this sound score and interval.
fn run(name: &str, score: f64, low: f64, high: f64) -> RunView {
    let mut run = fixture::runs().remove(1);
    run.header.run = name.to_owned();
    // One author each, since a board ranks authors.
    run.header.metadata.name = name.to_owned();
    let sound = run.score.sound.as_mut().expect("the fixture has intervals");
    (sound.score, sound.interval) = (score, Some(Interval { low, high }));
    run
}

fn board_page(runs: Vec<RunView>) -> String {
    Site::new(runs, Vec::new(), None).render(PageId::Index, &Empty)
}

/// The pages of all boards.
fn pages_of_boards(site: &Site) -> Vec<String> {
    let places = site.page_ids().into_iter().filter(|place| matches!(place, PageId::Board(_)));
    places.map(|place| site.render(place, &Empty)).collect()
}

/// Ranks in the order of the rows; `–` for runs without one.
fn ranks(page: &str) -> Vec<&str> {
    let rows = page.split("<tr").skip(1).filter(|row| row.contains("<th class=\"author\""));
    rows.map(|row| {
        row.split("</td>").next().unwrap_or_default().trim_end_matches("</span>").rsplit('>').next().unwrap_or_default()
    })
    .collect()
}

fn boards(page: &str) -> usize {
    page.matches("<div class=\"board\"").count()
}

#[test]
fn runs_share_a_rank_where_their_intervals_overlap() {
    let runs =
        vec![run("a", 2.0, 1.9, 2.1), run("b", 1.95, 1.8, 2.05), run("c", 1.5, 1.4, 1.6), run("d", 1.0, 0.9, 1.1)];
    let page = board_page(runs);
    assert_eq!((boards(&page), ranks(&page)), (1, vec!["1", "1", "3", "4"]));
}

#[test]
fn one_run_stands_for_each_author() {
    let mut latest = dated("latest", "09", 3.0, 2.9, 3.1);
    latest.verdicts.pop();
    let runs = vec![
        dated("old", "01", 2.2, 2.1, 2.3),
        dated("new", "05", 1.5, 1.4, 1.6),
        latest,
        run("other", 1.55, 1.45, 1.65),
        run("last", 1.0, 0.9, 1.1),
    ];
    let site = Site::new(runs, Vec::new(), None);
    let front = site.render(PageId::Index, &Empty);
    assert_eq!(ranks(&front), ["1", "1", "3"]);
    assert!(front.contains("3 authors") && front.contains(">All 5 runs</a>"), "{front}");
    let page = pages_of_boards(&site).remove(0);
    // The better but earlier run and the unfinished one are below, and the other author is not behind them.
    assert_eq!(ranks(&page), ["1", "1", "3", "1", "–"]);
    let order: Vec<usize> = ["../run/other.html", "run/new.html", "run/last.html", "run/old.html", "run/latest.html"]
        .map(|link| page[page.find("id=\"boards\"").unwrap()..].find(link).unwrap())
        .into();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(page.matches("earlier\" data-device").count(), 2, "{page}");
    assert!(page.contains("3 authors, 5 runs over "));
}

#[test]
fn the_front_page_begins_with_a_result_for_each_suite_and_device() {
    let on = |name: &str, suite: &str, device: &str, score: f64| {
        let mut run = run(name, score, score - 0.1, score + 0.1);
        (run.header.suite, run.header.fingerprint.device) = (suite.to_owned(), device.to_owned());
        run
    };
    let mut eager = on("eager", "small", "Example GPU", 1.0);
    eager.header.author = AuthorSpec::new("eager", None);
    let mut unfinished = on("unfinished", "large", "Other GPU", 4.0);
    unfinished.verdicts.pop();
    let runs = vec![
        on("best", "large", "Example GPU", 2.0),
        on("second", "large", "Example GPU", 1.5),
        on("tied", "small", "Other GPU", 1.55),
        on("equal", "small", "Other GPU", 1.5),
        eager,
        unfinished,
    ];
    let page = board_page(runs);
    let glance = &page[page.find("id=\"glance\"").unwrap()..page.find("id=\"leaderboard\"").unwrap()];
    assert_eq!(glance.matches("<tr>").count(), 3, "a head and two results: {glance}");
    for text in ["run/best.html", "second", "run/tied.html", "run/equal.html", "no other author", "2.000"] {
        assert!(glance.contains(text), "{text}: {glance}");
    }
    assert!(!glance.contains("unfinished") && !glance.contains("eager.html"));
    // Each link of the table leads to a board.
    for link in glance.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert_eq!(page.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
    }
    assert!(page.contains("best has a sound score of 2.000 (95 % interval 1.900 to 2.100) on large"));
    assert!(page.contains("tied with 1 author"));
}

#[test]
fn runs_that_are_unfinished_or_cover_fewer_graphs_have_no_rank() {
    let mut unfinished = run("unfinished", 3.0, 2.9, 3.1);
    unfinished.verdicts.pop();
    let mut fewer = run("fewer", 2.5, 2.4, 2.6);
    fewer.verdicts.truncate(3);
    fewer.header.graphs = 3;
    let page = board_page(vec![unfinished, fewer, run("whole", 1.5, 1.4, 1.6)]);
    assert_eq!(ranks(&page), ["1", "–", "–"]);
}

#[test]
fn different_conditions_are_different_boards() {
    let same = || run("first", 2.0, 1.9, 2.1);
    let changed = |change: fn(&mut RunView)| {
        let mut run = run("second", 3.0, 2.9, 3.1);
        change(&mut run);
        Site::new(vec![same(), run], Vec::new(), None)
    };
    assert_eq!(pages_of_boards(&changed(|_| ())).len(), 1);
    let changes: [fn(&mut RunView); 5] = [
        |run| run.header.suite_version = "2.0".to_owned(),
        |run| run.header.fingerprint.device = "Example GPU".to_owned(),
        |run| run.header.settings.correct_at = 0,
        |run| run.header.settings.mode = passnet_record::Mode::Paper,
        |run| {
            let timings = run.verdicts.iter_mut().flat_map(|verdict| &mut verdict.timings);
            timings.for_each(|timing| timing.path = ExecutionPath::Direct);
        },
    ];
    for change in changes {
        let pages = pages_of_boards(&changed(change));
        assert_eq!(
            pages.iter().map(|page| (boards(page), ranks(page))).collect::<Vec<_>>(),
            [(1, vec!["1"]), (1, vec!["1"])]
        );
    }
    // The front page has a table or a line for each.
    let front = changed(changes[4]).render(PageId::Index, &Empty);
    assert!(front.contains("direct path, correct at t = −5") && !front.contains("more board"), "{front}");
}

#[test]
fn unmatched_graphs_are_not_covered_and_published_figures_are_off_by_default() {
    let page = board_page(vec![fixture::runs().remove(2)]);
    // Three of fifteen graphs have no match, one is wrong, the interval of the others is above 1.
    assert!(page.contains("12 of 15 covered, 11 correct, 11 faster"));
    assert!(!page.contains("published.html") && !page.contains("TorchInductor"));
    let site = Site::new(fixture::runs(), Vec::new(), None).with_published(true);
    assert!(site.render(PageId::Index, &Empty).contains("published.html"));
    assert!(site.render(PageId::Published, &Empty).contains("TorchInductor"));
    assert_eq!(PageId::at("published.html", &site), Some(PageId::Published));
}

/// A run of that time and author, with these metadata.
fn dated(name: &str, day: &str, score: f64, low: f64, high: f64) -> RunView {
    let mut run = run(name, score, low, high);
    run.header.started = format!("2026-01-{day}T12:00:00Z");
    run.header.metadata.name = "Example compiler".to_owned();
    run.header.metadata.organisation = "Example & Sons".to_owned();
    run.header.metadata.commit = format!("c0ffee{day}");
    run.header.metadata.link = "https://example.org/compiler".to_owned();
    run
}

#[test]
fn runs_of_an_author_are_compared_with_the_previous_one() {
    let runs = vec![
        dated("third", "05", 1.3, 1.2, 1.35),
        dated("first", "01", 1.0, 0.9, 1.1),
        dated("second", "03", 1.5, 1.4, 1.6),
        dated("fourth", "07", 1.32, 1.22, 1.4),
    ];
    let site = Site::new(runs, Vec::new(), None);
    assert!(site.render(PageId::Index, &Empty).contains("≈ +0.020"), "the latest change is on the front page");
    let page = pages_of_boards(&site).remove(0);
    for (change, count) in [("▲ +0.500", 1), ("▼ −0.200", 1), ("≈ +0.020", 1)] {
        assert_eq!(page.matches(change).count(), count, "{change}");
    }
    assert!(
        page.contains("Example &amp; Sons") && page.contains("2026-01-07"),
        "organisation and date are on the board"
    );
    let author = PageId::at("author/example-compiler.html", &site).expect("an author has a page");
    let page = site.render(author, &Empty);
    let order: Vec<usize> =
        ["first", "second", "third", "fourth"].map(|run| page.find(&format!(">{run}<")).unwrap()).into();
    assert!(order.is_sorted(), "{order:?}");
    assert!(page.contains("c0ffee03") && page.contains("https://example.org/compiler"));
    insta::assert_snapshot!("author", &page[page.find("<main").unwrap()..page.find("</main>").unwrap()]);
}

#[test]
fn runs_of_other_boards_and_unfinished_ones_are_no_previous_run() {
    let changes: [fn(&mut RunView); 4] = [
        |run| run.header.settings.correct_at = 0,
        |run| run.header.metadata.name = "Another".to_owned(),
        |run| drop(run.verdicts.pop()),
        |run| run.header.started = "2026-02-01T12:00:00Z".to_owned(),
    ];
    for change in changes {
        let mut before = dated("before", "01", 1.0, 0.9, 1.1);
        change(&mut before);
        let page = board_page(vec![before, dated("after", "03", 1.5, 1.4, 1.6)]);
        assert!(!page.contains("▲ +"), "there is nothing to compare with");
    }
}

#[test]
fn a_link_that_would_run_a_script_is_not_shown() {
    let mut run = dated("run", "01", 1.0, 0.9, 1.1);
    run.header.metadata.link = "javascript:alert(1)".to_owned();
    let site = Site::new(vec![run], Vec::new(), None);
    for page in [PageId::Run(0), PageId::Author(0), PageId::Index] {
        assert!(!site.render(page, &Empty).contains("javascript:"));
    }
}

#[test]
fn money_is_shown_where_every_price_is_known() {
    let cost = |price, writing, llm: bool| {
        let mut run = dated("run", "01", 1.0, 0.9, 1.1);
        // Half an hour of evaluations.
        let verdicts = run.verdicts.len() as u64;
        run.verdicts.iter_mut().for_each(|verdict| verdict.cost.wall_ns = 1_800_000_000_000 / verdicts);
        (run.header.metadata.device_usd_per_hour, run.header.metadata.writing) = (price, writing);
        if llm {
            run.header.author = AuthorSpec::new("llm", Some("model".to_owned()));
        }
        let cents = run.cost_usd().map(|cost| (100.0 * cost).round());
        (cents, Site::new(vec![run], Vec::new(), None))
    };
    let writing = |usd| Some(WritingCost { input_tokens: 1200, output_tokens: 34, usd, ..WritingCost::default() });
    assert_eq!(cost(None, None, false).0, None, "there is no default price");
    assert_eq!(cost(Some(3.0), None, false).0, Some(150.0));
    assert_eq!(cost(Some(0.0), None, false).0, Some(0.0));
    assert_eq!(cost(Some(3.0), writing(Some(0.25)), true).0, Some(175.0));
    assert_eq!(cost(None, writing(Some(0.25)), true).0, None, "a part is not the cost");
    assert_eq!(cost(Some(3.0), writing(None), true).0, None, "tokens without a price");
    assert_eq!(cost(Some(3.0), None, true).0, None, "an old log of a model does not count its tokens");
    assert_eq!(cost(Some(-3.0), None, false).0, None, "a forged price");

    let (_, site) = cost(Some(3.0), writing(Some(0.25)), true);
    assert!(site.render(PageId::Index, &Empty).contains(">$1.75<"));
    let page = site.render(PageId::Run(0), &Empty);
    assert!(page.contains("$1.50 at $3.00 per device hour") && page.contains("1200 in, 34 out, $0.250"), "{page}");
    let (_, site) = cost(None, writing(None), true);
    assert!(site.render(PageId::Run(0), &Empty).contains("1200 in, 34 out<"));
}

/// A complete run over many tasks of one graph each, with this speed-up on each.
fn constant(author: &str, speedup: f64) -> RunView {
    let mut run = fixture::runs().remove(1);
    run.header.author = AuthorSpec::new(author, None);
    run.header.run = author.to_owned();
    let mut graph = run.verdicts.remove(0);
    graph.status = passnet_record::Status::Correct;
    (graph.reason, graph.tolerance) = (None, Some(-6));
    run.verdicts = (0..12)
        .map(|task| {
            let mut verdict = graph.clone();
            verdict.id.task = format!("task-{task}");
            // Tasks differ much more than authors do.
            let ratio = speedup * if task % 2 == 0 { 4.0 } else { 0.5 };
            for timing in &mut verdict.timings {
                timing.speedup =
                    passnet_record::RatioInterval { ratio, low: 0.99 * ratio, high: 1.01 * ratio, confidence: 0.95 };
            }
            verdict
        })
        .collect();
    run.header.graphs = run.verdicts.len();
    let outcomes = passnet_score::Outcomes::from_verdicts(&run.verdicts, run.header.settings.correct_at);
    run.score =
        passnet_score::ScoreReport::new(&outcomes, &passnet_score::ScoreSettings::default()).expect("there are graphs");
    run
}

/// Traits of the graphs of [`constant`]: the first six tasks are of language models.
fn traits(suite: &str, tasks: &[RunView]) -> SuiteTraits {
    let of = |(index, verdict): (usize, &passnet_record::Verdict)| {
        let domain = if index < 6 { "language" } else { "audio" };
        let traits = GraphTraits { domain: domain.to_owned(), operation: OperationKind::Reduction, launches: 1 };
        (verdict.id.clone(), traits)
    };
    [(suite.to_owned(), tasks[0].verdicts.iter().enumerate().map(of).collect())].into()
}

#[test]
fn the_front_page_says_who_wins_on_which_family() {
    let runs = vec![constant("inductor", 1.1), constant("fuse", 1.6), constant("eager", 1.0)];
    let traits = traits("demo", &runs);
    let page = Site::new(runs, Vec::new(), None).with_traits(traits).render(PageId::Index, &Empty);
    let winners = &page[page.find("id=\"winners\"").expect("a section of winners")..];
    // The scores overlap, and fuse leads on every single task.
    assert!(winners.contains("fuse is ahead in"), "{winners}");
    for family in ["language", "audio", "reduction", "6 graphs", "12 graphs"] {
        assert!(winners.contains(family), "{family}");
    }
    // Eager is the line at 1 and no author of the contest.
    assert!(!winners.contains("class=\"c2\""));
}

#[test]
fn unfinished_runs_of_an_author_are_marked_and_not_joined() {
    let mut short = dated("short", "02", 0.9, 0.8, 1.0);
    short.verdicts.pop();
    let mut other = dated("on-another-suite", "03", 1.1, 1.0, 1.2);
    other.header.suite = "a suite".to_owned();
    let whole = |name, day| dated(name, day, 1.2, 1.1, 1.3);
    let mut runs = vec![short, whole("first", "01"), whole("second", "04"), other, run("rival", 2.0, 1.9, 2.1)];
    for run in &mut runs {
        run.header.metadata.commit.clear();
    }
    let site = Site::new(runs, Vec::new(), None);
    let page = site.render(PageId::at("author/example-compiler.html", &site).expect("an author has a page"), &Empty);
    assert_eq!((page.matches("class=\"hollow\"").count(), page.matches("unfinished</span>").count()), (1, 1), "{page}");
    assert!(page.contains("Hollow points are runs without a rank"), "{page}");
    // No run states a commit, so there is no column of commits.
    assert!(!page.contains(">Commit<"), "{page}");
    assert!(page.contains("Rank 1 on 0 of the 1 board with other ranked authors."), "{page}");
    let place = |text| page.find(text).expect("the board is there");
    assert!(place(">a suite 1.0</a>") < place(">demo 1.0</a>"), "boards are in the order of their names");
}

#[test]
fn no_two_authors_of_a_figure_have_the_same_colour() {
    // Other runs of the suite lie between the two authors of the second board, as many as there are colours.
    let mut runs: Vec<RunView> =
        (0..9).map(|at| run(&format!("cpu-{at}"), 2.0 - 0.1 * f64::from(at), 0.9, 1.1)).collect();
    for at in [0, 8] {
        runs[at].header.fingerprint.device = "Example GPU".to_owned();
    }
    let site = Site::new(runs, Vec::new(), None);
    let board = pages_of_boards(&site).into_iter().find(|board| board.contains("on Example GPU")).expect("a board");
    let scatter = &board[board.find("<svg class=\"plot scatter\"").expect("two authors make a figure")..];
    let scatter = &scatter[..scatter.find("</svg>").expect("the figure ends")];
    let points: Vec<&str> = scatter.split("<g class=\"c").skip(1).map(|point| &point[..1]).collect();
    assert_eq!(points, ["0", "1"], "{scatter}");
}

#[test]
fn a_caution_names_the_path_of_each_run() {
    let (compiled, mut direct) = (run("a", 2.0, 1.9, 2.1), run("b", 1.0, 0.9, 1.1));
    direct
        .verdicts
        .iter_mut()
        .flat_map(|verdict| &mut verdict.timings)
        .for_each(|timing| timing.path = ExecutionPath::Direct);
    let found = passnet_web::cautions(&[("a", &compiled), ("b", &direct)]);
    assert!(found[0].contains("measured path (compiled: a; direct: b)"), "{found:?}");
    let alike = passnet_web::cautions(&[("a", &compiled), ("c", &compiled)]);
    assert!(!alike.iter().any(|caution| caution.contains("measured path")), "{alike:?}");
}
