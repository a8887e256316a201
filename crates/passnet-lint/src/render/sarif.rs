//! Findings as SARIF 2.1.0, the format of code scanning services.

use serde::Serialize;

use crate::{Finding, rules};

/// A SARIF log with one run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
struct Run<'a> {
    tool: Tool,
    results: Vec<SarifEntry<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: SarifDriver,
}

#[derive(Serialize)]
struct SarifDriver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Descriptor>,
}

#[derive(Serialize)]
struct Descriptor {
    id: &'static str,
    name: &'static str,
    help: Help,
}

#[derive(Serialize)]
struct Help {
    text: &'static str,
    markdown: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifEntry<'a> {
    rule_id: &'static str,
    level: &'static str,
    message: SarifMessage<'a>,
    locations: [SarifLocation<'a>; 1],
}

#[derive(Serialize)]
struct SarifMessage<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation<'a> {
    physical_location: PhysicalLocation<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation<'a> {
    artifact_location: ArtifactLocation<'a>,
    region: SarifRegion,
}

#[derive(Serialize)]
struct ArtifactLocation<'a> {
    uri: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

/// Returns the findings as a SARIF log, ready to be serialised.
pub fn sarif(findings: &[Finding]) -> impl Serialize + '_ {
    let rules = rules().iter().map(|rule| Descriptor {
        id: rule.id,
        name: rule.name,
        help: Help { text: rule.help, markdown: rule.manual() },
    });
    let driver = SarifDriver { name: "passnet lint", version: env!("CARGO_PKG_VERSION"), rules: rules.collect() };
    let results = findings.iter().map(entry).collect();
    Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run { tool: Tool { driver }, results }],
    }
}

fn entry(finding: &Finding) -> SarifEntry<'_> {
    let region = SarifRegion {
        start_line: finding.start.line,
        start_column: finding.start.column,
        end_line: finding.end.line,
        end_column: finding.end.column,
    };
    let physical_location = PhysicalLocation { artifact_location: ArtifactLocation { uri: &finding.file }, region };
    SarifEntry {
        rule_id: finding.rule,
        level: "error",
        message: SarifMessage { text: &finding.message },
        locations: [SarifLocation { physical_location }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint_dir;

    #[test]
    fn a_log_names_rule_file_and_region() {
        let findings = lint_dir(&[("fuse.py", b"import os\n"), ("sorted_output_pass_rule_names.json", b"[\"fuse\"]")]);
        let log = serde_json::to_value(sarif(&findings)).unwrap();
        let result = log.pointer("/runs/0/results").unwrap().as_array().unwrap();
        let import = result.iter().find(|result| result["ruleId"] == "PN201").unwrap();
        let location = &import["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "fuse.py");
        assert_eq!(location["region"]["startColumn"], 8);
        let described = log.pointer("/runs/0/tool/driver/rules").unwrap().as_array().unwrap();
        assert_eq!(described.len(), rules().len());
    }
}
