//! Patterns of a pass directory, for programs that search for them without an evaluation.

use passnet_record::{CandidateSpec, Status, TracedPattern, WorkerReply, WorkerRequest};

use super::{
    context::GraphEvaluation,
    stop::{OrStop as _, Stop},
};
use crate::{
    failure::Failure,
    worker::{Worker, WorkerFault, unexpected},
};

impl GraphEvaluation<'_> {
    /// Imports the pass directory in a worker and returns its patterns. The graph of the evaluation is not used.
    pub(crate) fn patterns(&mut self) -> Result<Vec<TracedPattern>, Stop> {
        let routes = self.prepare()?;
        let dir = routes.into_iter().find_map(|route| match route.spec {
            CandidateSpec::Passes { dir, .. } => Some(dir),
            _ => None,
        });
        let dir =
            dir.ok_or_else(|| Failure::new(Status::CompileError, "no_passes", "only pass directories have patterns"))?;
        let mut worker = self.fork("patterns", true).candidate("starting")?;
        let request = WorkerRequest::Patterns {
            dir,
            device: self.machine.settings.device,
            judge_kernels: self.machine.options.defences.objects,
        };
        worker.send(&request, None, self.deadline).candidate("importing")?;
        worker.ready(self.deadline).candidate("starting")?;
        self.receive_patterns(&mut worker).candidate("importing")
    }

    fn receive_patterns(&self, worker: &mut Worker) -> Result<Vec<TracedPattern>, WorkerFault> {
        match worker.receive(self.deadline)? {
            (WorkerReply::Patterns { patterns }, _) => Ok(patterns),
            (other, _) => Err(unexpected("patterns", &other)),
        }
    }
}
