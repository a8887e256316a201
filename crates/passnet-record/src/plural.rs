/// Returns a number of things as text: `1 graph`, `2 graphs`, `3 passes`.
pub fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if noun.ends_with('s') => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
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
    }
}
