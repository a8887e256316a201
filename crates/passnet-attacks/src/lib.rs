//! Known attacks and honest passes against the referee of this machine. `attacks/README.md` describes the directory.
//!
//! Each attack is evaluated with all layers of defence off, where it has to reach its goal (else it proves nothing:
//! *dead*), and with all on, where it has to fail for the reason it names (else it *escaped*, or was *misjudged*). Honest
//! passes have to be accepted with all layers on (else a *false rejection*).
//!
//! [`check_installation`] and [`check_evaluation`] try what a machine can do before anything is attacked.
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

mod arena;
mod bait;
mod checkup;
mod entry;
mod error;
mod naive;
mod options;
mod outcome;
mod report;
mod report_text;

use std::collections::BTreeMap;

use passnet_record::Coverage;
use passnet_run::{Selection, Suite};

use self::{
    arena::{Arena, EntryRun},
    outcome::judge,
};
pub use self::{
    checkup::{CheckResult, Severity, check_evaluation, check_installation, finding_table},
    entry::Expect,
    error::AttackError,
    options::AttackOptions,
    outcome::{EntryOutcome, JudgedEntry},
    report::AttackReport,
};

/// Runs the attack suite.
///
/// # Errors
/// If the suite cannot be read or the machine cannot evaluate; an attack that succeeds is an outcome of the report.
pub fn run(options: &AttackOptions) -> Result<AttackReport, AttackError> {
    let entries = entry::read_all(&options.directory, &options.filter)?;
    let suite = Suite::load(&options.directory.join("tasks"), &Selection::default())?;
    let on_gpu = !options.device.is_cpu();
    let arena = Arena::new(options, &suite)?;
    let jobs: Vec<EntryRun<'_>> = entries
        .iter()
        .filter(|entry| entry.runs_on(on_gpu))
        .flat_map(|entry| arena::modes(options.coverage, entry).into_iter().map(move |mode| EntryRun { entry, mode }))
        .collect();
    let seen = arena.run(&jobs, options.jobs)?;
    let controls = match options.coverage {
        Coverage::Once => BTreeMap::new(),
        Coverage::Quick | Coverage::Full => naive::run(&options.directory, &entries, &suite, on_gpu)?,
    };
    let judged: Vec<JudgedEntry> = entries.iter().map(|entry| judge(entry, &seen, &controls, on_gpu)).collect();
    Ok(AttackReport::new(options.device, options.coverage, judged))
}
