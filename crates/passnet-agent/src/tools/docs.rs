//! The tool `docs`: lint rules, pass directories, matching, examples, and the machine.

use passnet_lint::{find_rule, rules};
use serde_json::Value;

use super::arguments::Arguments;
use crate::{
    prompt::{EXAMPLE_CPU, EXAMPLE_CUDA},
    shorten::shortened,
};

/// Topics, without the single lint rules.
pub(super) const TOPICS: [&str; 6] = ["rules", "passes", "matching", "example-cpu", "example-cuda", "machine"];

const PASSES: &str = include_str!("../../../../docs/reference/passes.md");
const MATCHING: &str = include_str!("../../../../docs/reference/matching.md");

/// Returns the text of a topic or the manual of a lint rule; `machine` describes the machine.
pub(super) fn docs(arguments: &Value, machine: &str) -> Result<String, String> {
    let arguments = Arguments::of(arguments, &["topic"])?;
    let topic = arguments.need_text(&["topic"])?.trim();
    Ok(match topic {
        "rules" => list_rules(),
        "passes" => PASSES.to_owned(),
        "matching" => MATCHING.to_owned(),
        "example-cpu" => EXAMPLE_CPU.to_owned(),
        "example-cuda" => EXAMPLE_CUDA.to_owned(),
        "machine" => machine.to_owned(),
        other => match find_rule(other) {
            Some(rule) => rule.manual(),
            None => {
                let known = TOPICS.join(", ");
                return Err(format!(
                    "there is no topic `{}`; the topics are {known}, and the ids of lint rules",
                    shortened(other, 80)
                ));
            }
        },
    })
}

/// Lists all lint rules, one per line.
fn list_rules() -> String {
    let lines: Vec<String> = rules().iter().map(|rule| format!("{} {}: {}", rule.id, rule.name, rule.help)).collect();
    format!("Lint rules; `docs` with the id of a rule explains it.\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_topic_has_a_text_and_every_rule_a_manual() {
        let read = |topic: &str| docs(&json!({"topic": topic}), "- CPU: one");
        for topic in TOPICS {
            assert!(!read(topic).unwrap().is_empty(), "{topic}");
        }
        for rule in rules() {
            assert!(read("rules").unwrap().contains(rule.id));
            assert!(read(rule.id).unwrap().contains(rule.name), "{}", rule.id);
        }
        assert!(read("PN000").unwrap_err().contains("the topics are rules, passes"));
        assert!(docs(&json!({}), "").is_err() && docs(&json!("rules"), "").is_err());
    }
}
