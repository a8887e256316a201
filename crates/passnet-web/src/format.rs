//! Numbers and times as the report writes them.

use maud::{Markup, html};
use passnet_record::Status;
pub(crate) use passnet_record::counted;
use passnet_score::Interval;

/// Returns a name in which lines may break after the separators of paths and modules.
pub(crate) fn breakable(name: &str) -> Markup {
    html! { @for part in name.split_inclusive(['/', ':', '_', '.']) { (part) wbr; } }
}

/// Returns the name of a status for people. A graph that no pass matches is not wrong.
pub(crate) fn status_name(status: Status) -> &'static str {
    if status == Status::NoMatch { "not handed in" } else { status.name() }
}

/// Returns the name of a status as a tag, red where the candidate failed.
pub(crate) fn status_tag(status: Status) -> Markup {
    let is_good = matches!(status, Status::Correct | Status::NoMatch);
    html! { span.status.good[is_good] title=[(status == Status::NoMatch).then_some("no_match: no pass matched this graph")] { (status_name(status)) } }
}

/// Returns a ratio: `1.52×`.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        // The bounds follow the rounding, so that no value is printed with too many digits.
        v if v >= 99.95 => format!("{v:.0}×"),
        v if v >= 9.995 => format!("{v:.1}×"),
        v => format!("{v:.2}×"),
    }
}

/// Returns a score: three decimals.
pub(crate) fn score(value: f64) -> String {
    format!("{value:.3}")
}

/// Returns an amount of US dollars, with enough digits to distinguish small amounts from 0.
pub(crate) fn usd(value: f64) -> String {
    match value {
        v if v == 0.0 || v >= 0.995 => format!("${v:.2}"),
        v if v >= 0.000_95 => format!("${v:.3}"),
        _ => "< $0.001".to_owned(),
    }
}

/// Returns a confidence interval of a score.
pub(crate) fn interval(interval: Interval) -> String {
    format!("[{:.3}, {:.3}]", interval.low, interval.high)
}

/// Returns a share in percent.
pub(crate) fn percent(value: f64) -> String {
    format!("{value:.1}%")
}

/// Returns the end of a long name, because paths differ at the end. `most` is its largest length in characters.
pub(crate) fn name_end(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        return name.to_owned();
    }
    let tail: String = name.chars().skip(count - most + 1).collect();
    format!("…{tail}")
}

/// Returns a p-value: three decimals, `< 0.001` below.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// Bytes in binary units: `4 GiB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match UNITS.into_iter().find(|&(_, shift)| count >> shift > 0) {
        Some((unit, shift)) => {
            let value = format!("{:.1}", count as f64 / (1_u64 << shift) as f64);
            format!("{} {unit}", value.strip_suffix(".0").unwrap_or(&value))
        }
        None => format!("{count} B"),
    }
}

/// Returns a time in nanoseconds as text, in a suitable unit.
pub(crate) fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} µs", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n if n < 120e9 => format!("{:.1} s", n / 1e9),
        n if n < 7200e9 => format!("{:.0} min", n / 60e9),
        n => format!("{:.1} h", n / 3600e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_money_keep_small_ones_apart_from_nothing() {
        let amounts = [0.0, 1e-6, 0.001, 0.4215, 0.9949, 0.996, 12.345, 1234.5].map(usd);
        assert_eq!(amounts, ["$0.00", "< $0.001", "$0.001", "$0.421", "$0.995", "$1.00", "$12.35", "$1234.50"]);
    }

    #[test]
    fn numbers_keep_three_digits_or_so() {
        let ratios = [0.004, 1.0, 9.994, 9.996, 99.94, 99.96, 1234.0].map(ratio);
        assert_eq!(ratios, ["0.00×", "1.00×", "9.99×", "10.0×", "99.9×", "100×", "1234×"]);
        let durations = [12.0, 1_500.0, 2_340_000.0, 7.25e9, 3.6e12, 9e12].map(duration);
        assert_eq!(durations, ["12 ns", "1.5 µs", "2.34 ms", "7.2 s", "60 min", "2.5 h"]);
        assert_eq!([512, 4 << 30, 3 << 29].map(bytes), ["512 B", "4 GiB", "1.5 GiB"]);
        assert_eq!(
            [0.0, 6e-213, 0.0009, 0.001, 0.04567, 1.0].map(p_value),
            ["< 0.001", "< 0.001", "< 0.001", "0.001", "0.046", "1.000"]
        );
    }
}
