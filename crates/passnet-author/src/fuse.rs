//! Author `fuse`: passes of the built-in author, with the configurations from the tuning database, without passes that are slower
//! than eager mode.

mod confirm;
mod confirmed;
mod database;
mod loss;
mod tune;
mod typed_suite;

use std::{collections::BTreeMap, path::Path, sync::atomic::AtomicBool, time::Duration};

use passnet_eval::Referee;
use passnet_fuse::Choices;
use passnet_graph::Target;
use passnet_record::{AuthorSpec, Device, PassDirectory};
use passnet_run::Suite;

pub use self::{
    confirm::Confirmer,
    confirmed::Confirmed,
    database::Database,
    tune::{Tuned, Tuner},
    typed_suite::TypedSuite,
};
use crate::author::{Author, AuthorContext, AuthorError, AuthorOptions, Runs, TaskGraphs, check_compiler};

/// The built-in author.
pub struct Fuse {
    spec: AuthorSpec,
    tuning: Option<Duration>,
    confirms: bool,
    prepared: BTreeMap<String, PassDirectory>,
}

impl Fuse {
    /// Creates an author that uses the configurations in the tuning database.
    pub const fn new(spec: AuthorSpec, options: &AuthorOptions) -> Self {
        Self { spec, tuning: options.tuning, confirms: options.confirms, prepared: BTreeMap::new() }
    }
}

impl Author for Fuse {
    fn spec(&self) -> &AuthorSpec {
        &self.spec
    }

    fn runs(&self) -> Runs {
        Runs::Passes
    }

    fn is_deterministic(&self) -> bool {
        !self.confirms
    }

    fn check(&self, device: Device) -> Result<(), AuthorError> {
        check_compiler(&self.spec, device)
    }

    fn prepare(&mut self, suite: &Suite, context: &AuthorContext<'_>) -> Result<(), AuthorError> {
        let referee = context.referee;
        let typed = TypedSuite::of(&referee.interpreter(), suite, target_of(referee.settings().device))?;
        if let Some(budget) = self.tuning {
            let tuned = tune(referee, &typed, budget, context.stop, &|task| {
                (context.progress)(&format!("tuning a kernel of {task}"));
            })?;
            (context.progress)(&tuned.to_string());
        }
        let choices = known_choices(referee, &typed);
        self.prepared = if self.confirms {
            let (passes, confirmed) = Confirmer::new(referee)?.passes(&typed, &choices, context.stop, context.progress);
            (context.progress)(&confirmed.to_string());
            passes
        } else {
            typed.passes(&choices)
        };
        Ok(())
    }

    fn write(&self, task: &TaskGraphs<'_>) -> Result<PassDirectory, AuthorError> {
        Ok(self.prepared.get(&task.record.id).cloned().unwrap_or_else(PassDirectory::empty))
    }
}

/// Returns the target for which the passes of a device are written.
pub const fn target_of(device: Device) -> Target {
    if device.is_cpu() { Target::Cpu } else { Target::Cuda }
}

/// Measures those kernels of a suite that are not yet in the tuning database in the cache of a referee. `progress` is called with
/// the task before each kernel.
///
/// # Errors
/// If there is no cache, or measuring fails.
pub fn tune(
    referee: &Referee,
    suite: &TypedSuite,
    budget: Duration,
    stop: &AtomicBool,
    progress: &dyn Fn(&str),
) -> Result<Tuned, AuthorError> {
    let cache: &Path = referee.cache().ok_or(AuthorError::NoCache)?;
    Tuner::new(referee, cache)?.tune(suite, budget, stop, progress)
}

/// Returns the configurations in the tuning database, in the cache of a referee, for its device and the kernels of a suite.
pub fn known_choices(referee: &Referee, suite: &TypedSuite) -> Choices {
    match referee.cache().filter(|cache| Database::has_entries(cache)) {
        Some(cache) => Database::new(cache, referee.fingerprint()).choices(suite),
        None => Choices::new(),
    }
}
