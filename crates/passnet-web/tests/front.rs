//! The front page of a site with many boards, and what its numbers claim.

mod empty;
mod fixture;

use empty::Empty;
use passnet_record::Status;
use passnet_score::{Interval, Outcomes, ScoreReport, ScoreSettings};
use passnet_web::{PageId, RunView, Site};

/// Largest front page, with a margin to the 300 KB of all pages.
const MAX_FRONT_PAGE: usize = 250_000;

/// A run of that author and day, with this sound score.
fn run(author: &str, day: usize, score: f64) -> RunView {
    let mut run = fixture::runs().remove(1);
    run.header.run = format!("{author}-{day}");
    run.header.metadata.name = author.to_owned();
    run.header.started = format!("2026-01-{day:02}T12:00:00Z");
    let sound = run.score.sound.as_mut().expect("the fixture has intervals");
    (sound.score, sound.interval) = (score, Some(Interval { low: 0.95 * score, high: 1.05 * score }));
    run
}

/// The pages of all boards.
fn boards(site: &Site) -> Vec<String> {
    let places = site.page_ids().into_iter().filter(|place| matches!(place, PageId::Board(_)));
    places.map(|place| site.render(place, &Empty)).collect()
}

#[test]
fn the_front_page_stays_small_as_boards_and_runs_are_added() {
    let mut runs = Vec::new();
    for device in 0..40 {
        for author in 0..12 {
            // Earlier runs are on the pages of boards; one board has them.
            for day in 1..if device == 0 { 4 } else { 2 } {
                let mut run = run(&format!("author-{author}"), day, 1.0 + f64::from(author) / 10.0);
                run.header.fingerprint.device = format!("Example GPU {device}");
                runs.push(run);
            }
        }
    }
    let site = Site::new(runs, Vec::new(), None);
    let page = site.render(PageId::Index, &Empty);
    assert!(page.len() < MAX_FRONT_PAGE, "{} bytes", page.len());
    // Every board is one link away, and in the filters.
    for place in site.page_ids().into_iter().filter(|place| matches!(place, PageId::Board(_))) {
        assert!(page.contains(&format!("href=\"{}\"", place.path(&site))), "{place:?}");
    }
    assert!(page.contains("30 more boards") && page.contains("<option value=\"Example GPU 39\">"));
    let board = site.render(PageId::Board(0), &Empty);
    assert!(board.len() < MAX_FRONT_PAGE && board.contains("12 authors, 36 runs"), "{} bytes", board.len());
}

#[test]
fn runs_over_other_graphs_are_no_earlier_state_of_an_author() {
    let part = |day: usize, score: f64| {
        let mut run = run("author", day, score);
        run.verdicts.truncate(day);
        run.header.graphs = 1;
        run.verdicts.truncate(1);
        run
    };
    // Two complete runs over one graph each, next to a run over all.
    let runs = vec![part(1, 1.0), part(2, 9.0), run("author", 3, 2.0)];
    let site = Site::new(runs, Vec::new(), None);
    let author = PageId::at("author/author.html", &site).expect("an author has a page");
    for page in [site.render(author, &Empty), boards(&site).remove(0)] {
        assert!(!page.contains("class=\"movement"), "{page}");
    }
}

#[test]
fn scores_over_one_task_are_tied_because_they_have_no_interval() {
    let one_task = |author: &str, score: f64| {
        let mut run = run(author, 1, score);
        run.score.sound.as_mut().expect("the fixture has intervals").interval = None;
        run
    };
    let page = boards(&Site::new(vec![one_task("a", 3.0), one_task("b", 1.0)], Vec::new(), None)).remove(0);
    assert_eq!(page.matches("<td class=\"number rank\">1</td>").count(), 2, "{page}");
    assert!(page.contains("a has a sound score of 3.000 on demo") && !page.contains("[3.000, 3.000]"), "{page}");
}

#[test]
fn graphs_without_a_match_are_not_handed_in_on_every_page() {
    let mut run = run("author", 1, 1.5);
    for verdict in &mut run.verdicts {
        verdict.status = Status::NoMatch;
        verdict.timings.clear();
    }
    let outcomes = Outcomes::from_verdicts(&run.verdicts, run.header.settings.correct_at);
    run.score = ScoreReport::new(&outcomes, &ScoreSettings::default()).expect("there are graphs");
    let site = Site::new(vec![run], Vec::new(), None);
    for place in site.page_ids() {
        let page = site.render(place, &Empty);
        assert!(!page.contains(">no_match<"), "{}: {page}", place.path(&site));
    }
    for place in [PageId::Run(0), PageId::Evaluation(0, 0, 0), PageId::Task(0, 0), PageId::Suite(0, 0)] {
        assert!(site.render(place, &Empty).contains("not handed in"), "{}", place.path(&site));
    }
}

#[test]
fn figures_of_a_suite_show_each_author_and_repeat_no_colour() {
    let mut runs: Vec<RunView> = (1..12).map(|day| run("fast", day, 3.0)).collect();
    runs.extend((0..9).map(|author| run(&format!("author-{author}"), 1, 1.0)));
    let site = Site::new(runs, Vec::new(), None);
    let page = site.render(PageId::Figures(0), &Empty);
    assert!(page.contains("8 runs of 20"), "{page}");
    let has = |name: &str| page.contains(&format!(">{name}</text>"));
    assert!(has("fast (fast-1)") && has("author-6") && !has("author-7") && !has("fast (fast-2)"), "{page}");
}
