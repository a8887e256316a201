//! The list of all rules, and the manual that is made from it.

use std::fmt::Write as _;

use super::{rule::Rule, rules::ALL};

/// Returns all rules, in the order of their ids.
pub fn rules() -> &'static [Rule] {
    ALL
}

/// Returns the rule with this id (`PN201`, in any case) or name (`import-not-allowed`).
pub fn find_rule(id_or_name: &str) -> Option<&'static Rule> {
    rules().iter().find(|rule| rule.id.eq_ignore_ascii_case(id_or_name) || rule.name == id_or_name)
}

/// Returns the text of `docs/reference/lint-rules.md`: a table of all rules, and the manual of each rule.
pub fn rules_page() -> String {
    let mut page = String::from(
        "# Lint rules\n\nThis page lists the rules for pass directories. PassNet checks a directory before every evaluation, and in\n\
         `passnet lint PASSDIR`. It rejects everything that these rules do not allow. A file cannot switch a rule off.\n\n\
         This page is generated from the rules' own documentation: `PASSNET_BLESS=1 cargo test -p passnet-lint`.\n\n\
         | id | name | how to fix |\n|---|---|---|\n",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_complete_manual_and_its_own_id() {
        for rule in rules() {
            let manual = rule.manual();
            for heading in ["## What it does\n", "## Why\n", "## Example\n", "## How to fix\n"] {
                assert!(manual.contains(heading), "{}: no {heading}", rule.id);
            }
            assert!(manual.contains(rule.id), "{}: the example does not mark the finding", rule.id);
            assert_eq!(rules().iter().filter(|other| other.id == rule.id || other.name == rule.name).count(), 1);
            assert!(rule.id.len() == 5 && rule.id.starts_with("PN"), "{}", rule.id);
        }
        assert!(rules().is_sorted_by_key(|rule| rule.id));
    }
}
