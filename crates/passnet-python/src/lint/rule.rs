//! What a rule is, and how its manual is read from its source.

use std::fmt::Write as _;

use super::rules::ALL;

/// A violation of one rule: the struct's fields say what was found, its documentation is the rule's manual.
pub(super) trait Violation {
    /// Stable identifier, `PN` and three digits.
    const ID: &'static str;
    /// What the rule is about, in kebab case.
    const NAME: &'static str;
    /// Text of the file that defines the rule.
    const SOURCE: &'static str;
    /// How to mend a finding, in one line.
    const HELP: &'static str;

    /// What was found, in one line.
    fn message(&self) -> String;
}

/// An entry of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable identifier, e.g. `PN201`.
    pub id: &'static str,
    /// What the rule is about, e.g. `import-not-allowed`.
    pub name: &'static str,
    /// How to mend a finding, in one line.
    pub help: &'static str,
    source: &'static str,
}

impl Rule {
    pub(super) const fn of<V: Violation>() -> Self {
        Self { id: V::ID, name: V::NAME, help: V::HELP, source: V::SOURCE }
    }

    /// The rule's manual in Markdown: what it does, why, an example, how to mend.
    pub fn manual(&self) -> String {
        let mut manual = format!("# {} ({})\n\n", self.name, self.id);
        manual.push_str(&documentation(self.source));
        manual
    }

    /// Where `docs/lint-rules.md` explains the rule.
    pub fn anchor(&self) -> String {
        format!("{}-{}", self.name, self.id.to_ascii_lowercase())
    }
}

/// Every rule, by id.
pub fn rules() -> &'static [Rule] {
    ALL
}

/// The rule with this id (`PN201`, in any case) or name (`import-not-allowed`).
pub fn find_rule(id_or_name: &str) -> Option<&'static Rule> {
    rules().iter().find(|rule| rule.id.eq_ignore_ascii_case(id_or_name) || rule.name == id_or_name)
}

/// The text of `docs/lint-rules.md`: a table of all rules and their manuals.
pub fn rules_page() -> String {
    let mut page = String::from(
        "# Lint rules\n\nA pass directory is checked before every evaluation, and by `passnet lint PASSDIR`. Whatever these rules do not\n\
         allow is rejected; there is no way to switch a rule off from within a file. This page is generated from the rules'\n\
         own documentation: `PASSNET_BLESS=1 cargo test -p passnet-python lint`.\n\n| id | name | how to mend |\n|---|---|---|\n",
    );
    for rule in rules() {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| [{}](#{}) | {} | {} |", rule.id, rule.anchor(), rule.name, rule.help);
    }
    for rule in rules() {
        let manual = rule.manual().replace("\n## ", "\n### ");
        let _ = write!(page, "\n#{manual}");
    }
    page
}

/// The `///` block of a source file, without its slashes.
fn documentation(source: &str) -> String {
    let mut text = String::new();
    for line in source.lines() {
        match line.strip_prefix("///") {
            Some(line) => {
                text.push_str(line.strip_prefix(' ').unwrap_or(line));
                text.push('\n');
            }
            None if text.is_empty() => {}
            None => break,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_is_the_first_block_of_doc_comments() {
        let source =
            "use x;\n\n/// One\n///\n/// ```python\n///     two\n/// ```\npub struct S {\n    /// not this\n}\n";
        assert_eq!(documentation(source), "One\n\n```python\n    two\n```\n");
    }

    #[test]
    fn every_rule_has_a_complete_manual_and_its_own_id() {
        for rule in rules() {
            let manual = rule.manual();
            for heading in ["## What it does\n", "## Why\n", "## Example\n", "## How to mend\n"] {
                assert!(manual.contains(heading), "{}: no {heading}", rule.id);
            }
            assert!(manual.contains(rule.id), "{}: the example does not mark the finding", rule.id);
            assert_eq!(rules().iter().filter(|other| other.id == rule.id || other.name == rule.name).count(), 1);
            assert!(rule.id.len() == 5 && rule.id.starts_with("PN"), "{}", rule.id);
        }
        assert!(rules().is_sorted_by_key(|rule| rule.id));
    }
}
