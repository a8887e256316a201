/// Returns a name for a folder that no path trips over: letters, digits, `-`, `_` and `.` stay, all else becomes `-`.
pub fn plain_name(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path() {
        assert_eq!(plain_name("demo-llm:a/b c-cuda:0"), "demo-llm-a-b-c-cuda-0");
    }
}
