//! Devices elsewhere that evaluate for the environment server, shared by many clients.

use std::{fmt, time::Duration};

use passnet_eval::{Candidate, EvalError};
use passnet_record::{Profile, Reason, Verdict, fleet::FleetClient};
use passnet_run::GraphSample;

/// The devices of a fleet.
pub trait Devices: fmt::Debug + Send + Sync {
    /// Admits an action of a client that needs a device, until [`Self::leave`].
    ///
    /// # Errors
    /// If the client has to retry later.
    fn admit(&self, client: &FleetClient) -> Result<(), Busy>;

    /// Ends an action that was admitted.
    fn leave(&self, client: &FleetClient);

    /// Evaluates a candidate, with or without timing.
    ///
    /// # Errors
    /// If no device can.
    fn evaluate(
        &self,
        client: &FleetClient,
        graph: &GraphSample,
        candidate: &Candidate,
        timed: bool,
    ) -> Result<Verdict, EvalError>;

    /// Profiles a call; the inner error is the reason why there is no profile.
    ///
    /// # Errors
    /// If no device can.
    fn profile(
        &self,
        client: &FleetClient,
        graph: &GraphSample,
        candidate: &Candidate,
    ) -> Result<Result<Profile, Reason>, EvalError>;

    /// Actions that can be in progress at a time.
    fn actions(&self) -> usize;

    /// State as Prometheus text.
    fn metrics(&self) -> String;

    /// State as an HTML page.
    fn page(&self) -> String;
}

/// A client has to retry later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Busy {
    /// True if the client is over its quota, false if the queue of all clients is full.
    pub quota: bool,
    /// Time after which the client should retry.
    pub retry_after: Duration,
    /// Text for the client.
    pub message: String,
}

/// An action that was admitted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted<'a> {
    devices: &'a dyn Devices,
    client: &'a FleetClient,
}

impl<'a> Admitted<'a> {
    pub(crate) fn new(devices: &'a dyn Devices, client: &'a FleetClient) -> Result<Self, Busy> {
        devices.admit(client)?;
        Ok(Self { devices, client })
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.devices.leave(self.client);
    }
}
