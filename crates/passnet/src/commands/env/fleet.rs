//! A fleet as the devices of the environment server.

use std::io;

use anyhow::Result;
use passnet_agent::{Busy, Devices};
use passnet_eval::{Candidate, EvalError};
use passnet_fleet::{
    AdmissionLimits, AdmissionRefusal, FleetError, FleetOptions, FleetService, JobAnswer, Policy, Quota, ServiceOptions,
};
use passnet_record::{
    Fingerprint, Profile, Reason, RunSettings, Verdict,
    fleet::{FleetClient, Wanted},
};
use passnet_run::{GraphSample, Suite};

use super::super::fleet::{fleet_failure, fleet_options};
use passnet_flags::EnvServeArgs;

#[derive(Debug)]
pub(super) struct FleetDevices {
    service: FleetService,
    actions: usize,
}

impl FleetDevices {
    /// Starts stations, and waits for the first one that is healthy.
    pub(super) fn start(args: &EnvServeArgs, address: &str, suite: &Suite, settings: &RunSettings) -> Result<Self> {
        let flags = &args.fleet;
        let fleet = fleet_options(address, &flags.stations, args.evaluations, settings.device)?;
        // Waiting jobs are limited at admission, where a client can still be asked to retry later.
        let quota = Quota { running: flags.client_devices.unwrap_or(usize::MAX), waiting: usize::MAX };
        let options = ServiceOptions {
            fleet: FleetOptions { policy: Policy { quota, ..fleet.policy }, ..fleet },
            limits: AdmissionLimits { all: flags.queue, client: flags.client_actions },
        };
        let service = FleetService::start(suite, settings, &options).map_err(fleet_failure)?;
        Ok(Self { service, actions: flags.queue })
    }

    /// Returns the machine on which verdicts are measured.
    pub(super) fn machine(&self) -> &Fingerprint {
        self.service.machine()
    }
}

impl Devices for FleetDevices {
    fn admit(&self, client: &FleetClient) -> Result<(), Busy> {
        self.service.admit(client).map_err(|busy| {
            let (AdmissionRefusal::Quota { retry_after, .. } | AdmissionRefusal::Queue { retry_after, .. }) = busy;
            Busy { quota: matches!(busy, AdmissionRefusal::Quota { .. }), retry_after, message: busy.to_string() }
        })
    }

    fn leave(&self, client: &FleetClient) {
        self.service.leave(client);
    }

    fn evaluate(
        &self,
        client: &FleetClient,
        graph: &GraphSample,
        candidate: &Candidate,
        timed: bool,
    ) -> Result<Verdict, EvalError> {
        let wanted = if timed { Wanted::Verdict } else { Wanted::Check };
        match self.service.evaluate(client, graph, candidate, wanted) {
            Ok(JobAnswer::Verdict(verdict)) => Ok(*verdict),
            Ok(JobAnswer::Profile(_)) => Err(io::Error::other("a station answered with a profile").into()),
            Err(error) => Err(eval_error(error)),
        }
    }

    fn profile(
        &self,
        client: &FleetClient,
        graph: &GraphSample,
        candidate: &Candidate,
    ) -> Result<Result<Profile, Reason>, EvalError> {
        match self.service.evaluate(client, graph, candidate, Wanted::Profile) {
            Ok(JobAnswer::Profile(profile)) => Ok(profile),
            Ok(JobAnswer::Verdict(_)) => Err(io::Error::other("a station answered with a verdict").into()),
            Err(error) => Err(eval_error(error)),
        }
    }

    fn actions(&self) -> usize {
        self.actions
    }

    fn metrics(&self) -> String {
        self.service.metrics()
    }

    fn page(&self) -> String {
        self.service.page()
    }
}

fn eval_error(error: FleetError) -> EvalError {
    match error {
        FleetError::Eval(error) => error,
        other => io::Error::other(other.to_string()).into(),
    }
}
