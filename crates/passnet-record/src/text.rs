//! Formatting of numbers as text.

/// Returns a number of things as text: `1 graph`, `2 graphs`, `3 passes`, `4 launches`.
pub fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if ends_with_consonant_and_y(noun) => format!("{number} {}ies", &noun[..noun.len() - 1]),
        // Words that end in `s` or `ch` get `es`: `passes`, `launches`.
        _ if noun.ends_with('s') || noun.ends_with("ch") => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

fn ends_with_consonant_and_y(noun: &str) -> bool {
    noun.strip_suffix('y').is_some_and(|stem| !stem.ends_with(['a', 'e', 'o', 'u']))
}

/// Returns a duration in nanoseconds as text, in a suitable unit.
pub fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} us", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.1} s", n / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!(["graph", "pass"].map(|noun| counted(1, noun)), ["1 graph", "1 pass"]);
        assert_eq!(["graph", "pass"].map(|noun| counted(0, noun)), ["0 graphs", "0 passes"]);
        assert_eq!(["run", "pass"].map(|noun| counted(31, noun)), ["31 runs", "31 passes"]);
        assert_eq!(["family", "day"].map(|noun| counted(2, noun)), ["2 families", "2 days"]);
    }

    #[test]
    fn durations_have_a_fitting_unit() {
        let shown: Vec<String> = [12.0, 1_500.0, 2_340_000.0, 7.25e9].into_iter().map(duration).collect();
        assert_eq!(shown, ["12 ns", "1.5 us", "2.34 ms", "7.2 s"]);
    }
}
