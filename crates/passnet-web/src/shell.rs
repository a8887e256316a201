//! Frame of all pages: head, style, script, navigation, sections.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// In the Python package, because the page of `passnet optimize` is written there.
const STYLE: &str = include_str!("../../../python/passnet/style.css");
/// One script element; its hash is in [`SCRIPT_HASH`].
const SCRIPT: &str = concat!(
    include_str!("../assets/sort.js"),
    include_str!("../assets/filter.js"),
    include_str!("../assets/zoom.js"),
    include_str!("../assets/live.js")
);
/// SHA-256 of [`SCRIPT`], as a content security policy names it. A test checks it.
const SCRIPT_HASH: &str = include_str!("../assets/script.sha256");

/// A section of a page.
pub(crate) struct Section {
    id: &'static str,
    heading: String,
    content: Markup,
}

/// Returns a section with its heading. Ids differ within a page.
pub(crate) fn section(id: &'static str, heading: &str, content: Markup) -> Section {
    Section { id, heading: heading.to_owned(), content }
}

/// The mark: three operations that become one. `currentColor` follows the colour scheme.
const MARK: &str = concat!(
    r#"<svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><path d="M7 6v6l9 5m9-11v6l-9 5m0-11v20" fill="none" "#,
    r#"stroke="currentColor" stroke-width="2.5"/><g fill="currentColor"><circle cx="7" cy="6" r="3.5"/><circle cx="16" cy="6" r="3.5"/>"#,
    r#"<circle cx="25" cy="6" r="3.5"/><rect x="10" y="20" width="12" height="8" rx="2.5"/></g></svg>"#
);
/// The mark as an icon. Without one, browsers request a file from the server.
const ICON: &str = concat!(
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath d='M7 6v6l9 5m9-11v6l-9 5m0-11v20' ",
    "fill='none' stroke='%230b62c4' stroke-width='3'/%3E%3Cg fill='%230b62c4'%3E%3Ccircle cx='7' cy='6' r='4'/%3E%3Ccircle cx='16' ",
    "cy='6' r='4'/%3E%3Ccircle cx='25' cy='6' r='4'/%3E%3Crect x='10' y='19' width='12' height='9' rx='2.5'/%3E%3C/g%3E%3C/svg%3E"
);

/// A main page of the site, in the bar at the top.
pub(crate) struct NavLink {
    pub(crate) title: &'static str,
    pub(crate) href: String,
    /// True on the page itself.
    pub(crate) is_here: bool,
}

/// A page above this one.
pub(crate) struct Crumb {
    pub(crate) title: String,
    pub(crate) href: String,
}

/// Content of a page.
pub(crate) struct Document<'a> {
    pub(crate) title: &'a str,
    /// Main pages of the site; empty for a separate file.
    pub(crate) places: Vec<NavLink>,
    pub(crate) crumbs: Vec<Crumb>,
    pub(crate) lead: Markup,
    pub(crate) sections: Vec<Section>,
    /// The page asks its server for new figures.
    pub(crate) is_live: bool,
    /// Time after which browsers load the page again, in seconds.
    pub(crate) refresh_s: Option<u32>,
}

impl<'a> Document<'a> {
    /// Returns a page of one file, without links to others.
    pub(crate) fn of_one_file(title: &'a str, lead: Markup, sections: Vec<Section>) -> Self {
        Self { title, places: Vec::new(), crumbs: Vec::new(), lead, sections, is_live: false, refresh_s: None }
    }
}

/// Returns the policy that pages carry and that a server repeats: nothing is loaded from anywhere, no form is sent, and the only
/// script that runs is the one in the page.
pub fn content_security_policy() -> String {
    let script = SCRIPT_HASH.trim();
    format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
}

/// Returns the policy of the live page: that of other pages, and its script may ask the same server for figures.
pub fn live_content_security_policy() -> String {
    content_security_policy() + "; connect-src 'self'"
}

/// Returns a whole HTML document.
pub(crate) fn document(document: &Document<'_>) -> String {
    // In the page as well as in the server's header, because pages are also opened as files.
    let policy = if document.is_live { live_content_security_policy() } else { content_security_policy() };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(policy);
                @if let Some(seconds) = document.refresh_s { meta http-equiv="refresh" content=(seconds); }
                title { (document.title) }
                link rel="icon" href=(ICON);
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to content" }
                header {
                    (bar(&document.places))
                    @if !document.crumbs.is_empty() {
                        nav aria-label="Way back" {
                            @for (at, crumb) in document.crumbs.iter().enumerate() {
                                @if at > 0 { " › " }
                                a href=(crumb.href) { (crumb.title) }
                            }
                        }
                    }
                    h1 { (document.title) }
                    (document.lead)
                }
                main id="content" {
                    @for section in &document.sections {
                        section {
                            h2 id=(section.id) { (section.heading) }
                            (section.content)
                        }
                    }
                }
                footer { p { "Written by PassNet. Ratios are eager / candidate: more than 1 is faster." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Returns the bar with the mark and the main pages.
fn bar(places: &[NavLink]) -> Markup {
    html! {
        div.bar {
            span.brand { (PreEscaped(MARK)) "PassNet" }
            @if !places.is_empty() {
                nav aria-label="Site" {
                    @for place in places {
                        a href=(place.href) aria-current=[place.is_here.then_some("page")] { (place.title) }
                    }
                }
            }
        }
    }
}

/// Returns a table that scrolls sideways where the screen is narrow. `name` is for screen readers.
pub(crate) fn scrolling(name: &str, table: Markup) -> Markup {
    html! { div.scroll role="region" aria-label=(name) tabindex="0" { (table) } }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// Base64 with padding, of 32 bytes.
    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let groups = bytes.chunks(3).flat_map(|group| {
            let word = (0..3).fold(0_usize, |word, at| word << 8 | usize::from(*group.get(at).unwrap_or(&0)));
            (0..4).map(move |at| if at <= group.len() { char::from(DIGITS[word >> (18 - 6 * at) & 63]) } else { '=' })
        });
        groups.collect()
    }

    #[test]
    fn the_policy_names_the_script_of_the_page() {
        assert_eq!(SCRIPT_HASH.trim(), base64(&Sha256::digest(SCRIPT)), "assets/script.sha256 is of an older script");
    }
}
