//! One call under the profiler, for authors of passes. It does not affect a verdict.

use passnet_record::{Profile, Status, WorkerReply, WorkerRequest};

use super::{
    context::GraphEvaluation,
    stop::{OrStop as _, Stop, block_stop},
};
use crate::{
    failure::{Failure, no_match},
    worker::{Worker, WorkerFault, unexpected},
};

impl GraphEvaluation<'_> {
    /// Profiles one call of the candidate on its first path, with random inputs. A call before it compiles what is compiled lazily.
    pub(crate) fn profile(&mut self) -> Result<Profile, Stop> {
        let routes = self.prepare()?;
        let route = routes.first().ok_or_else(|| {
            Failure::new(Status::RuntimeError, "no_path", "the settings ask for no path that this author has")
        })?;
        let mut worker = self.fork("profiled", self.candidate.is_foreign()).candidate("starting")?;
        self.send_load(&mut worker, &route.spec).candidate("loading")?;
        worker.ready(self.deadline).candidate("starting")?;
        let loaded = self.receive_load(&mut worker).candidate("loading")?;
        if self.candidate.is_foreign() && loaded.passes.iter().all(|pass| pass.matches == 0) {
            return Err(no_match(&loaded.passes).into());
        }
        let round = self.rounds(&[])[0];
        let block = self.inputs(&[(round.inputs_seed, round.content)]).map_err(block_stop)?;
        self.call_once(&mut worker, &block, round.call_seed).candidate("running")?;
        // The device is locked as for a measurement: other work would disturb the profile, and the profile would disturb measurements.
        let (measuring, waited) = self.acquire_device()?;
        self.deadline += waited;
        worker.pin(&self.machine.cores.timing);
        let profile = self.profile_call(&mut worker, round.call_seed).candidate("being profiled");
        drop(measuring);
        profile
    }

    fn profile_call(&self, worker: &mut Worker, seed: u64) -> Result<Profile, WorkerFault> {
        worker.send(&WorkerRequest::Profile { set: 0, seed }, None, self.deadline)?;
        match worker.receive(self.deadline)? {
            (WorkerReply::Profiled(profile), _) => Ok(profile),
            (other, _) => Err(unexpected("profiled", &other)),
        }
    }
}
