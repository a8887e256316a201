/// Turns text into the name of a folder: letters, digits, `-`, `_` and `.` stay, all other characters become `-`.
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
