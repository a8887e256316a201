//! State that the clients of a service share with its thread, and the messages between them.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use passnet_record::{
    Fingerprint, Profile, Reason, Verdict,
    fleet::{FleetClient, Parcel},
};

use crate::{admission::Admissions, status::FleetStatus};

/// Result of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum JobAnswer {
    /// For [`Wanted::Verdict`](passnet_record::fleet::Wanted::Verdict) and [`Wanted::Check`](passnet_record::fleet::Wanted::Check).
    Verdict(Box<Verdict>),
    /// For [`Wanted::Profile`](passnet_record::fleet::Wanted::Profile): the profile, or the reason why there is none.
    Profile(Result<Profile, Reason>),
}

/// A job on its way to the scheduler.
pub(super) struct JobRequest {
    pub(super) client: FleetClient,
    pub(super) parcel: Box<Parcel>,
    pub(super) answer: mpsc::Sender<Result<JobAnswer, String>>,
}

/// State that clients and the scheduler's thread share.
pub(super) struct ServiceState {
    pub(super) admissions: Admissions,
    pub(super) status: FleetStatus,
    pub(super) machine: Option<Fingerprint>,
    /// Reason why the service is over.
    pub(super) ended: Option<String>,
}

/// Locks the state. After a panic in another thread the state stays usable, because no change leaves it incomplete.
pub(super) fn lock(shared: &Mutex<ServiceState>) -> MutexGuard<'_, ServiceState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
