//! Tables of the documentation that list the values of a type have all of them, and no other.

use std::collections::BTreeSet;

use passnet_record::Status;

use crate::repository;

/// Names in code style in the first column of the table that begins with this heading.
fn first_column(page: &str, heading: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository().join(page)).unwrap();
    let (_, table) = text.split_once(heading).unwrap_or_else(|| panic!("{page} has no table `{heading}`"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_status_of_a_verdict_is_described() {
    // Only logs of the public harness have this status, so the referee's table does not.
    let of_logs = Status::EagerFail.name().to_owned();
    let all: BTreeSet<String> = Status::ALL.map(|status| status.name().to_owned()).into();
    let of_referee: BTreeSet<String> = all.iter().filter(|name| **name != of_logs).cloned().collect();
    assert_eq!(first_column("docs/reference/referee.md", "| status | codes |"), of_referee);
    assert_eq!(first_column("docs/reference/scoring.md", "| status | S_t, ES_t, AS | sound score |"), of_referee);
    assert_eq!(first_column("docs/guides/reinforcement-learning.md", "| status | meaning | reward |"), of_referee);
}
