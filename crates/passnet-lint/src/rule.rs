//! Rules, and their manuals, which are read from the sources of the rules.

/// A violation of one rule. The fields of the struct describe the problem. The documentation of the struct is the manual of the
/// rule.
pub(super) trait Violation {
    /// Stable identifier, `PN` and three digits.
    const ID: &'static str;
    /// Subject of the rule, in kebab case.
    const NAME: &'static str;
    /// Text of the file that defines the rule.
    const SOURCE: &'static str;
    /// Instruction that says how to fix the problem, in one line.
    const HELP: &'static str;

    /// Returns the description of the problem, in one line.
    fn message(&self) -> String;
}

/// A rule as data: an entry of the list of all rules.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable identifier, e.g. `PN201`.
    pub id: &'static str,
    /// Subject of the rule, e.g. `import-not-allowed`.
    pub name: &'static str,
    /// Instruction that says how to fix the problem, in one line.
    pub help: &'static str,
    source: &'static str,
}

impl Rule {
    pub(super) const fn of<V: Violation>() -> Self {
        Self { id: V::ID, name: V::NAME, help: V::HELP, source: V::SOURCE }
    }

    /// Returns the rule's manual in Markdown: what it does, why, an example, how to fix.
    pub fn manual(&self) -> String {
        let mut manual = format!("# {} ({})\n\n", self.name, self.id);
        manual.push_str(&documentation(self.source));
        manual
    }

    /// Returns the anchor in `docs/reference/lint-rules.md` of the rule's manual.
    pub fn anchor(&self) -> String {
        format!("{}-{}", self.name, self.id.to_ascii_lowercase())
    }
}

/// Returns the `///` block of a source file, without its slashes.
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
}
