//! The top-level help, which groups commands by purpose; shell completions; the manual page.

use std::{fmt::Write as _, io, process::ExitCode};

use anyhow::Result;
use clap::{Command, CommandFactory as _, FromArgMatches as _};
use clap_complete::Shell;

use crate::output;
use passnet_flags::Cli;

/// All commands by purpose. A test checks that none is missing.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Make a model faster", &["optimize"]),
    ("Write and check passes", &["new", "eval", "lint", "fuse", "match"]),
    ("Measure authors and compilers", &["bench", "fleet", "study", "score", "plot", "bisect"]),
    ("Show and share runs", &["report", "compare", "serve", "site", "bundle", "submit", "board"]),
    ("Build datasets", &["extract", "dataset"]),
    ("Language models", &["agent", "traj", "env"]),
    ("This installation", &["doctor", "attacks", "completions", "man"]),
];

const EXAMPLES: &str = "\
Examples:
  passnet doctor                                            check the installation
  passnet new suites/demo/TASK --out my_passes              create a pass directory
  passnet eval suites/demo/TASK --passes my_passes          evaluate it; --watch repeats this after each change
  passnet bench run suites/demo --author dir:my_passes      evaluate a suite; run it again to resume
  passnet serve runs --suite suites/demo                    show the results in a browser";

/// Parses the command line. Exits after `--help`, `--version` or a usage error.
pub(crate) fn parse() -> Cli {
    let matches = group_subcommands(Cli::command()).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Returns the command with a help page that lists subcommands by purpose.
///
/// clap groups options but not subcommands, so the list is a part of the template.
fn group_subcommands(command: Command) -> Command {
    let about = |name: &str| {
        let found = command.find_subcommand(name).and_then(Command::get_about);
        found.map(ToString::to_string).unwrap_or_default()
    };
    let mut groups = String::new();
    for (title, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(groups, "{title}:");
        for name in names {
            let _ = writeln!(groups, "  {name:<12} {}", about(name));
        }
        groups.push('\n');
    }
    let template = format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n\n{EXAMPLES}\n");
    command.help_template(template)
}

/// Runs `passnet completions SHELL`.
pub(crate) fn completions(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "passnet", &mut script);
    output::text(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `passnet man`, which prints one page for the command and all subcommands.
pub(crate) fn manual() -> Result<ExitCode> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    render_subcommands(&command, &mut page)?;
    output::text(String::from_utf8_lossy(&page).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a section with the options of each subcommand, at any depth.
fn render_subcommands(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    for subcommand in command.get_subcommands() {
        page.extend_from_slice(format!(".SH \"{}\"\n", subcommand.get_display_name().unwrap_or_default()).as_bytes());
        let manual = clap_mangen::Man::new(subcommand.clone());
        manual.render_description_section(page)?;
        manual.render_options_section(page)?;
        render_subcommands(subcommand, page)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let defined: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), defined);
        assert_eq!(listed.len(), defined.len());
        group_subcommands(command).debug_assert();
    }
}
