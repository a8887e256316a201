//! The attack suite: known attacks and honest passes against the referee of this machine.
//!
//! Each attack runs twice. With all layers of defence off, the attack has to reach its goal. An attack that does not reach its goal
//! is *dead* and proves nothing. With all layers on, the attack has to fail for the reason that it names. Otherwise it *escaped* or
//! was *misjudged*. With all layers on, the referee has to accept honest passes. A rejected honest pass is a *false rejection*.
//! Entries with an unexpected outcome are run twice more, and the outcome of most runs counts.
//! `attacks/README.md` describes the files.
//!
//! [`measure_cost`] measures the time that the layers add to evaluations of honest passes.
//!
//! [`check_installation`] and [`check_evaluation`] check what the machine supports (`passnet doctor`).
//!
//! The crate never trusts the report of a pass about itself. It looks for effects, such as files, leaked data and surviving
//! processes.
//!
//! ```no_run
//! use passnet_attacks::{AttackOptions, run};
//! use passnet_record::Coverage;
//!
//! let options = AttackOptions {
//!     directory: "attacks".into(),
//!     filter: Vec::new(),
//!     device: "cpu".parse()?,
//!     coverage: Coverage::Quick,
//!     jobs: 2,
//! };
//! assert!(run(&options)?.is_clean());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bait;
mod checkup;
mod cost;
mod entry;
mod error;
mod naive;
mod options;
mod outcome;
mod referees;
mod repeat;
mod report;
mod report_text;

use std::collections::BTreeMap;

use passnet_record::Coverage;
use passnet_run::{Selection, Suite};

pub use self::{
    checkup::{CheckResult, Severity, check_evaluation, check_installation, finding_table},
    cost::{CostFigures, CostReport, measure_cost},
    error::AttackError,
    options::AttackOptions,
    outcome::{EntryOutcome, JudgedEntry},
    report::AttackReport,
};
use self::{
    entry::AttackEntry,
    outcome::judge,
    referees::{AttackReferees, EntryRun},
};

/// Runs the attack suite.
///
/// # Errors
/// If the suite cannot be read or the machine cannot evaluate; an attack that succeeds is an outcome of the report.
pub fn run(options: &AttackOptions) -> Result<AttackReport, AttackError> {
    let entries = entry::read_all(&options.directory, &options.filter)?;
    let suite = Suite::load(&options.directory.join("tasks"), &Selection::default())?;
    let on_gpu = !options.device.is_cpu();
    let referees = AttackReferees::new(options, &suite)?;
    let controls = match options.coverage {
        // This coverage only asks whether attacks are caught, so it needs no proof that they work.
        Coverage::Once => BTreeMap::new(),
        Coverage::Quick | Coverage::Full => naive::run(&options.directory, &entries, &suite, on_gpu)?,
    };
    let judge_all = |entries: &[&AttackEntry], at_a_time| -> Result<Vec<JudgedEntry>, AttackError> {
        let runnable = entries.iter().filter(|entry| entry.runs_on(on_gpu));
        let jobs: Vec<EntryRun<'_>> = runnable
            .flat_map(|entry| referees::modes(options.coverage, entry).into_iter().map(|mode| EntryRun { entry, mode }))
            .collect();
        let seen = referees.run(&jobs, at_a_time)?;
        Ok(entries.iter().map(|entry| judge(entry, &seen, &controls, on_gpu)).collect())
    };
    let all: Vec<&AttackEntry> = entries.iter().collect();
    let judged = judge_all(&all, options.jobs)?;
    // One at a time, so that none is late because of the others.
    let judged = repeat::repeat_unexpected(judged, |names| {
        let chosen: Vec<&AttackEntry> = entries.iter().filter(|entry| names.contains(&entry.name)).collect();
        judge_all(&chosen, 1)
    })?;
    Ok(AttackReport::new(options.device, options.coverage, judged))
}
