//! Every kind of page in a real browser: no complaints, nothing wider than the window, text that can be read in both
//! colour schemes, no violation of the accessibility rules of axe, and tables that are sorted and filtered by keyboard.
//!
//! `PASSNET_AXE=FILE` names `axe.min.js` of the npm package `axe-core`; without it, these rules are not checked.
//! `PASSNET_SCREENSHOTS=FOLDER` keeps a picture of each page in each look.

use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use crate::{devtools::Browser, passnet, root, runs, server::Server};

/// One page of each kind.
pub(crate) const PAGES: [&str; 18] = [
    "index.html",
    "board/t-2-sound-direct-passbench-public-f7bfacd97dae-nvidia-h200.html",
    "authors.html",
    "author/inductor.html",
    "run/inductor.html",
    "suite/passbench-public-f7bfacd97dae.html",
    "figures/passbench-public-f7bfacd97dae.html",
    "task/demo-1/gpt2-gelu-tanh.html",
    "evaluation/demo-passes/gpt2-gelu-tanh.html",
    "compare/inductor/eager.html",
    "dataset.html",
    "sample/cat-60b0811d-002.html",
    "failing.html",
    "failing/gpt2-gelu-tanh-000-dir-wrong.html",
    "training.html",
    "published.html",
    "trajectories.html",
    "trajectory/scripted-gpt2-gelu-tanh-0.html",
];

/// Window widths and colour schemes that pages are looked at in.
const LOOKS: [(&str, u32, bool); 3] = [("light", 1280, false), ("dark", 1280, true), ("narrow", 390, false)];

/// The least contrast of text against the nearest background that is not transparent, as WCAG 2 computes it. Colours with
/// a separate alpha are left out.
const LEAST_CONTRAST: &str = r"(() => {
  const channels = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const colour = channels(getComputedStyle(element).backgroundColor);
      if (colour.length === 3) return colour;
      if (colour[3] > 0) return null;
    }
    return channels(getComputedStyle(document.documentElement).backgroundColor).slice(0, 3);
  };
  let least = [21, ''];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || element.closest('svg, script, style') || !element.checkVisibility()) continue;
    const [colour, ground] = [channels(getComputedStyle(element).color), behind(element)];
    if (colour.length > 3 || !ground) continue;
    const [a, b] = [light(colour), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < least[0]) least = [ratio, element.outerHTML.slice(0, 200)];
  }
  return least;
})()";

/// Violations of axe's rules, each with up to three elements.
const AXE_VIOLATIONS: &str = r"axe.run(document, { resultTypes: ['violations'] }).then((found) =>
  found.violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]))";

/// Writes the pages of runs, with a dataset and trajectories; returns their folder.
pub(crate) fn site(runs: &TempDir) -> PathBuf {
    let site = runs.path().join("site");
    let trajectories = root().join("crates/passnet/tests/data/trajectories.jsonl");
    let arguments = ["site", site.to_str().unwrap(), runs.path().to_str().unwrap(), "--no-shapes", "--published"];
    let extra = ["--suite", "suites/demo", "--dataset", "suites/passbench-s"];
    let training = root().join("crates/passnet/tests/data/training");
    let more = ["--trajectories", trajectories.to_str().unwrap(), "--training", training.to_str().unwrap()];
    let bisected = root().join("crates/passnet/tests/data/bisected");
    let extra = [&extra[..], &more, &["--bisected", bisected.to_str().unwrap()]].concat();
    let (code, text) = passnet(&[&arguments[..], &extra[..]].concat());
    assert_eq!(code, 0, "{text}");
    site
}

/// Looks at pages in a browser, and collects what axe finds.
pub(crate) struct Inspector {
    pub(crate) browser: Browser,
    axe: Option<String>,
    pictures: Option<PathBuf>,
    violations: Vec<String>,
}

impl Inspector {
    /// Starts the browser; `None` where none is named.
    pub(crate) fn start() -> Option<Self> {
        let browser = Browser::start()?;
        let axe = std::env::var_os("PASSNET_AXE").map(|file| std::fs::read_to_string(file).unwrap());
        if axe.is_none() {
            println!("skipped: PASSNET_AXE names no file, so the accessibility rules are not checked");
        }
        let pictures = std::env::var_os("PASSNET_SCREENSHOTS").map(PathBuf::from);
        Some(Self { browser, axe, pictures, violations: Vec::new() })
    }

    /// Opens a page in every width and theme. `name` is the name of its pictures.
    pub(crate) fn look_at(&mut self, address: &str, name: &str) {
        let Self { browser, axe, pictures, violations } = self;
        for (look, width, dark) in LOOKS {
            browser.look(width, dark);
            let complaints = browser.open(address);
            assert!(complaints.is_empty(), "{name}, {look}: {complaints:?}");
            let wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{name}, {look}: {wide} pixels wider than the window");
            let scripted =
                "[...document.querySelectorAll('table.sortable thead th')].every((th) => th.querySelector('button'))";
            assert_eq!(browser.evaluate(scripted), true, "{name}, {look}: the script ran");
            let contrast = browser.evaluate(LEAST_CONTRAST);
            assert!(contrast[0].as_f64().unwrap() >= 4.5, "{name}, {look}: {contrast}");
            if let Some(axe) = &axe {
                browser.evaluate(axe);
                let found = browser.evaluate(AXE_VIOLATIONS);
                violations.extend(found.as_array().unwrap().iter().map(|found| format!("{name}, {look}: {found}")));
            }
            if let Some(folder) = &pictures {
                std::fs::create_dir_all(folder).unwrap();
                browser.picture(&folder.join(format!("{name}-{look}.png")));
            }
        }
    }

    /// Fails if axe found a violation on any page.
    pub(crate) fn finish(self) {
        assert!(self.violations.is_empty(), "{:#?}", self.violations);
    }
}

/// The name of the picture of a page: a list and its pages have different ones.
pub(crate) fn picture_name(page: &str) -> String {
    let kind = page.split(['/', '.']).next().unwrap();
    if page.starts_with("failing/") { format!("{kind}-part") } else { kind.to_owned() }
}

#[test]
fn every_kind_of_page_in_every_look() {
    let Some(mut inspector) = Inspector::start() else { return };
    let runs = runs();
    let site = site(&runs);
    for page in PAGES {
        assert!(site.join(page).is_file(), "{page}");
        let name = picture_name(page);
        inspector.look_at(&format!("file://{}", site.join(page).display()), &name);
    }
    inspector.finish();
}

#[test]
fn tables_are_sorted_and_filtered_by_keyboard() {
    let Some(mut browser) = Browser::start() else { return };
    let runs = runs();
    let server = Server::start(runs.path());
    let page = format!("http://{}/", server.address);
    let shown = "[...document.querySelectorAll('#boards tbody tr')].filter((row) => !row.hidden)\
                 .map((row) => row.querySelector('.author a').textContent)";
    // Each board is sorted separately: these are the authors of the first.
    let first_board = "[...document.querySelectorAll('#boards table')[0].tBodies[0].rows]\
                       .map((row) => row.querySelector('.author a').textContent)";
    browser.look(1280, false);
    assert!(browser.open(&page).is_empty());
    assert_eq!(browser.evaluate(shown).as_array().unwrap().len(), 4);

    // `/` leads to the search field, and is not written into it.
    browser.press("/", "/");
    for letter in ["n", "o", "o", "p"] {
        browser.press(letter, letter);
    }
    assert_eq!(browser.evaluate(shown), json!(["noop"]));
    assert_eq!(browser.evaluate("document.querySelector('[data-count]').textContent"), "1 of 4");
    // The address contains the search, and opening the address restores it.
    let found = browser.evaluate("location.href").as_str().unwrap().to_owned();
    assert!(found.ends_with("#~find=noop"), "{found}");
    assert!(browser.open(&found).is_empty());
    assert_eq!(browser.evaluate(shown), json!(["noop"]));

    // Tab reaches the headings; Enter sorts, and sorts the other way round.
    assert!(browser.open(&page).is_empty());
    let reach = |browser: &mut Browser, wanted: &str| {
        for _ in 0..40 {
            browser.press("Tab", "");
            if browser.evaluate("document.activeElement.textContent") == wanted {
                return;
            }
        }
        panic!("Tab does not reach {wanted}");
    };
    reach(&mut browser, "Author");
    browser.press("Enter", "\r");
    let authors = browser.evaluate(first_board);
    let mut sorted: Vec<&str> = authors.as_array().unwrap().iter().map(|author| author.as_str().unwrap()).collect();
    sorted.sort_unstable();
    assert_eq!(authors, json!(sorted));
    let direction = "document.activeElement.closest('th').ariaSort";
    assert_eq!(browser.evaluate(direction), "ascending");
    browser.press("Enter", "\r");
    sorted.reverse();
    assert_eq!(browser.evaluate(first_board), json!(sorted));
    assert_eq!(browser.evaluate(direction), "descending");

    // Folded parts open by keyboard as well.
    assert!(browser.open(&format!("{page}task/demo-1/gpt2-gelu-tanh.html")).is_empty());
    reach(&mut browser, "model.py");
    browser.press("Enter", "\r");
    assert_eq!(browser.evaluate("document.activeElement.parentElement.open"), true);
}

#[test]
fn choices_and_marks_filter_and_datasets_are_searched() {
    let Some(mut browser) = Browser::start() else { return };
    let runs = runs();
    let site = runs.path().join("site");
    let (code, text) = passnet(&[
        "site",
        site.to_str().unwrap(),
        runs.path().to_str().unwrap(),
        "--no-shapes",
        "--dataset",
        "suites/passbench-s",
    ]);
    assert_eq!(code, 0, "{text}");
    let address = |page: &str| format!("file://{}", site.join(page).display());
    browser.look(1280, false);
    assert!(browser.open(&address("index.html")).is_empty());
    let count = |browser: &mut Browser, id: &str| {
        browser
            .evaluate(&format!("[...document.querySelectorAll('#{id} tbody tr')].filter((row) => !row.hidden).length"))
    };
    assert_eq!(count(&mut browser, "boards"), 4);

    // The second choice of the second filter, by keyboard: one of the two suites.
    browser.evaluate("document.querySelector('[data-filter=suite]').focus()");
    browser.press("ArrowDown", "");
    let suite = browser.evaluate("document.querySelector('[data-filter=suite]').value");
    assert!(suite.as_str().unwrap().starts_with("demo"), "{suite}");
    assert_eq!(count(&mut browser, "boards"), 1);
    assert_eq!(browser.evaluate("document.querySelector('[data-count]').textContent"), "1 of 4");
    browser.press("ArrowUp", "");
    assert_eq!(count(&mut browser, "boards"), 4);

    // The mark that hides runs without passes.
    browser.evaluate("document.querySelector('[data-hide=no-passes]').focus()");
    browser.press(" ", " ");
    assert_eq!(count(&mut browser, "boards"), 1);

    assert!(browser.open(&address("dataset.html")).is_empty());
    let all = count(&mut browser, "samples-table").as_u64().unwrap();
    browser.press("/", "/");
    for letter in ["r", "e", "l", "u"] {
        browser.press(letter, letter);
    }
    let found = count(&mut browser, "samples-table").as_u64().unwrap();
    assert!(0 < found && found < all, "{found} of {all}");
}
