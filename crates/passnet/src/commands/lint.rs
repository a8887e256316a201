//! `passnet lint`: pass directories against the integrity rules.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use anyhow::{Context, Result};
use passnet_author::check_pass_folder;
use passnet_lint::{
    Finding, PassFile, find_rule, read_dir,
    render::{JsonReport, sarif, text},
    rules,
};

use passnet_record::{TextTable, counted};

use crate::{
    failure::{exit_code, usage},
    output,
};
use passnet_flags::{FindingsFormat, LintArgs};

/// Prints the findings, or the manual of a rule. Exits with 1 if anything was found.
pub(crate) fn run(args: &LintArgs) -> Result<ExitCode> {
    if let Some(rule) = &args.explain {
        return explain(rule);
    }
    let mut files = Vec::new();
    let mut findings = Vec::new();
    for directory in &args.directories {
        check_pass_folder(directory)?;
        let (of_directory, found) = read_dir(directory).with_context(|| directory.display().to_string())?;
        // Several directories may have files of the same name.
        let path = |name: &str| directory.join(name).display().to_string();
        findings.extend(found.into_iter().map(|finding| Finding { file: path(&finding.file), ..finding }));
        files.extend(of_directory.into_iter().map(|file| PassFile { name: path(&file.name), ..file }));
    }
    match args.format {
        FindingsFormat::Text => {
            if !findings.is_empty() {
                // https://no-color.org: any value of the variable, even an empty one, turns colours off.
                let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
                output::text(&text(&findings, &files, color))?;
            }
            output::text(&summary(findings.len(), files.len()))?;
        }
        FindingsFormat::Json => output::json(&JsonReport::new(&findings))?,
        FindingsFormat::Sarif => output::json(&sarif(&findings))?,
    }
    exit_code(findings.is_empty())
}

fn summary(findings: usize, files: usize) -> String {
    let files = counted(files, "file");
    match findings {
        0 => format!("{files}, nothing found"),
        1 => format!("\n{files}, 1 finding"),
        count => format!("\n{files}, {count} findings; `passnet lint --explain ID` explains a rule"),
    }
}

fn explain(name: &str) -> Result<ExitCode> {
    if name == "all" {
        let mut table = TextTable::new(&["rule", "name"], 2);
        for rule in rules() {
            table.push([rule.id.to_owned(), rule.name.to_owned()]);
        }
        output::table(&table)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rule =
        find_rule(name).ok_or_else(|| usage(format!("there is no rule `{name}`; `--explain all` lists them")))?;
    output::text(rule.manual().trim_end())?;
    Ok(ExitCode::SUCCESS)
}
