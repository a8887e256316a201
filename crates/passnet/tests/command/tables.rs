//! Tables keep the text of a cell together, except on a terminal that is too narrow.

use std::process::Command;

use crate::command;

/// Path of an interpreter that does not exist, longer than the width of most terminals.
fn long_path() -> String {
    format!("/nonexistent{}", "/a-long-name".repeat(20))
}

#[test]
fn a_cell_of_a_table_in_a_pipe_is_one_line() {
    let python = long_path();
    let output = command(&["doctor", "--quick"]).env("PASSNET_PYTHON", &python).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line.contains(&python)), "{text}");
    assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
}

/// Runs the checks of the installation on a terminal with that many columns; `None` if there is no program that makes terminals.
fn on_terminal(columns: usize, python: &str) -> Option<String> {
    let shell = format!("stty cols {columns}; {} doctor --quick 2>/dev/null", env!("CARGO_BIN_EXE_passnet"));
    let mut terminal = Command::new("script");
    match terminal.args(["-qec", &shell, "/dev/null"]).env("PASSNET_PYTHON", python).output() {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(_) => {
            println!("skipped: there is no program `script`");
            None
        }
    }
}

#[test]
fn a_table_on_a_terminal_wraps_between_words_and_keeps_names_whole() {
    let Some(wrapped) = on_terminal(70, "/nonexistent/python") else { return };
    assert!(wrapped.lines().all(|line| line.trim_end().chars().count() <= 70), "{wrapped}");
    assert!(wrapped.contains("/nonexistent/python") && !wrapped.contains("(os error 2); set"), "{wrapped}");
    let python = long_path();
    // Some terminals have 0 columns.
    for columns in [0, 70] {
        assert!(on_terminal(columns, &python).is_some_and(|text| text.contains(&python)), "{columns}");
    }
}
