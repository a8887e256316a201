//! The report as a browser gets it, section by section.

mod fixture;

use passnet_web::report_page;

/// The section of that id, one tag a line.
fn section(page: &str, id: &str) -> String {
    let start = page.find(&format!("<section><h2 id=\"{id}\"")).expect("the section is there");
    let end = start + page[start..].find("</section>").expect("it is closed");
    page[start..end].replace("><", ">\n<")
}

#[test]
fn sections_are_as_reviewed() {
    let page = report_page(&fixture::runs());
    for id in ["leaderboard", "curves", "tasks", "failures", "environment"] {
        insta::assert_snapshot!(id, section(&page, id));
    }
}

#[test]
fn text_from_authors_stays_text() {
    let page = report_page(&fixture::runs());
    assert!(!page.contains("<script>alert"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("&lt;lambda&gt;() takes 2 arguments &amp; 3 were given"));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = report_page(&fixture::runs()).replace("href=\"#content\"", "");
    // The icon is part of the page, and its name space is an address that nothing loads.
    let (before, icon) = page.split_once("<link rel=\"icon\" href=\"data:").expect("a page has an icon");
    let page = before.to_owned() + icon.split_once("\">").expect("the icon ends").1;
    for loading in ["src=", "href=", "url(", "@import", "http://", "https://"] {
        assert!(!page.contains(loading), "{loading}");
    }
}

#[test]
fn runs_of_one_author_have_different_names() {
    let mut runs = fixture::runs();
    let mut again = runs[0].clone();
    again.header.run = "later".to_owned();
    runs.push(again);
    let page = report_page(&runs);
    assert!(page.contains("eager (later)") && page.contains("eager (20260101-120000-eager)"));
}

#[test]
fn differences_and_gaps_are_pointed_out() {
    let mut runs = fixture::runs();
    runs.truncate(2);
    assert!(!report_page(&runs).contains("class=\"caution\""));
    runs[1].header.settings.trials = 10;
    runs[1].verdicts.pop();
    let page = report_page(&runs);
    assert!(page.contains("The runs differ in settings: compare with care."));
    assert!(page.contains("Scores cover the verdicts that there are: inductor 14 of 15."));
}

#[test]
fn no_runs_make_a_page_too() {
    assert!(report_page(&[]).contains("No runs were given."));
}
