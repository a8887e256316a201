//! Pauses between attempts that servers request.

/// Longest pause that is accepted, in seconds. A server that requests a longer pause is down, and the caller's limit of attempts should
/// end the wait.
const MAX_WAIT_S: f64 = 300.0;

/// Returns the pause in nanoseconds that the headers of a response ask for, at most five minutes: `retry-after-ms` in milliseconds, else
/// `retry-after` in seconds. A date counts as absent. `header` returns the text of a header.
///
/// ```
/// let wait = passnet_record::retry_after_ns(|name| (name == "retry-after").then_some(" 1.5 "));
/// assert_eq!(wait, Some(1_500_000_000));
/// ```
pub fn retry_after_ns<'h>(header: impl Fn(&'static str) -> Option<&'h str>) -> Option<u64> {
    let number = |name: &'static str| header(name)?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1e3).or_else(|| number("retry-after"))?;
    // NaN and negative numbers are not pauses.
    (seconds >= 0.0).then(|| (seconds.min(MAX_WAIT_S) * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_numbers_within_the_limit() {
        let check = |headers: &[(&str, &str)], expected: Option<u64>| {
            let header = |wanted: &'static str| headers.iter().find(|(name, _)| *name == wanted).map(|(_, text)| *text);
            assert_eq!(retry_after_ns(header), expected.map(|ms| ms * 1_000_000), "{headers:?}");
        };
        check(&[], None);
        check(&[("retry-after", "2")], Some(2000));
        check(&[("retry-after-ms", "250"), ("retry-after", "2")], Some(250));
        check(&[("retry-after-ms", "soon"), ("retry-after", "2")], Some(2000));
        check(&[("retry-after", "1e9")], Some(300_000));
        check(&[("retry-after", "-1")], None);
        check(&[("retry-after", "NaN")], None);
        check(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], None);
    }
}
