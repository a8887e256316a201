//! The description of a run: who submitted it, when, and where its code is.

use maud::{Markup, html};
use passnet_record::RunHeader;

/// Returns the day of an RFC 3339 time.
pub(crate) fn day(time: &str) -> &str {
    time.split_once('T').map_or(time, |(day, _)| day)
}

/// One paragraph with organisation, author, commit and link; nothing where a run has none of them.
pub(crate) fn described(header: &RunHeader) -> Markup {
    let metadata = &header.metadata;
    let texts = [&metadata.name, &metadata.organisation, &metadata.link, &metadata.commit];
    if texts.iter().all(|text| text.is_empty()) {
        return html! {};
    }
    html! {
        p.described {
            @if !metadata.name.is_empty() { strong { (metadata.name) } }
            @if !metadata.organisation.is_empty() { " by " (metadata.organisation) }
            ", author " code { (header.author) }
            @if !metadata.commit.is_empty() { ", commit " code { (metadata.commit) } }
            @if let Some(link) = metadata.web_link() { ", " a href=(link) rel="nofollow noopener noreferrer" { (link) } }
            "."
        }
    }
}
