//! State of one evaluation, and the functions that its steps share.

use std::{
    ops::Range,
    os::fd::AsFd as _,
    sync::Arc,
    time::{Duration, Instant},
};

use passnet_graph::MemoryUse;
use passnet_inputs::{Construction, Content, GraphFacts, byte_size};
use passnet_record::{
    CandidateSpec, Cost, Depth, Evidence, LoadReport, Mode, OutputComparison, Remark, Status, Timing, Watch, Weights,
    WorkerReply, WorkerRequest,
};
use passnet_run::GraphSample;

use super::stop::Stop;
use crate::{
    block::{BlockError, InputBlock},
    candidate::{Candidate, Route},
    device::Measuring,
    error::EvalError,
    failure::{Failure, no_match},
    integrity,
    judge::{CallProperties, LayoutRule},
    machine::Machine,
    scratch::{Scratch, write_pass_directory},
    seeds::Seeds,
    worker::{Worker, WorkerFault, WorkerOptions, unexpected},
    zygote::Zygote,
    zygote_config::ZygoteError,
};

/// Largest number of bytes that a reference may return if the settings have no memory limit.
pub(super) const MAX_OUTPUT: u64 = 64 << 30;

/// Results of one evaluation, complete or not.
#[derive(Debug, Default)]
pub(crate) struct EvaluationReport {
    pub(crate) tolerance: Option<i32>,
    pub(crate) outputs: Vec<OutputComparison>,
    pub(crate) timings: Vec<Timing>,
    pub(crate) evidence: Evidence,
    pub(crate) cost: Cost,
    pub(crate) blobs: Vec<Vec<u8>>,
}

/// Availability of the graph in float64.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Float64 {
    /// Not known yet.
    #[default]
    Unknown,
    /// The graph runs in float64.
    Usable,
    /// The graph does not run in float64. The reason was recorded.
    Unusable,
}

/// Evaluation of one candidate on one graph, in progress.
pub(crate) struct GraphEvaluation<'a> {
    pub(super) machine: &'a Machine,
    pub(super) sample: &'a GraphSample,
    pub(super) candidate: &'a Candidate,
    pub(super) depth: Depth,
    pub(super) seeds: Seeds,
    pub(super) zygote: Arc<Zygote>,
    pub(super) scratch: Scratch,
    pub(super) deadline: Instant,
    pub(super) report: EvaluationReport,
    /// True if the graph draws random numbers or changes its inputs. Generators and inputs are then reset before each call.
    pub(super) restore: bool,
    /// True if the graph draws random numbers.
    pub(super) draws: bool,
    /// Availability of the graph in float64.
    pub(super) float64: Float64,
    /// True if the reference has shown the values of `restore`, `draws`, `output_bytes` and `shapes`.
    pub(super) learned: bool,
    /// Number of bytes that any candidate has to write; known when `learned`.
    pub(super) output_bytes: u64,
    /// Shapes of the values that the graph returns; known when `learned`.
    pub(super) shapes: Vec<Vec<u64>>,
}

impl<'a> GraphEvaluation<'a> {
    pub(crate) fn new(
        machine: &'a Machine,
        sample: &'a GraphSample,
        candidate: &'a Candidate,
        depth: Depth,
        seeds: Seeds,
        zygote: Arc<Zygote>,
        deadline: Instant,
    ) -> Result<Self, EvalError> {
        let scratch = Scratch::new()?;
        let report = EvaluationReport::default();
        Ok(Self {
            machine,
            sample,
            candidate,
            depth,
            seeds,
            zygote,
            scratch,
            deadline,
            report,
            restore: false,
            draws: false,
            float64: Float64::default(),
            learned: false,
            output_bytes: 0,
            shapes: Vec::new(),
        })
    }

    pub(crate) fn finish(self) -> EvaluationReport {
        self.report
    }

    /// Runs the steps that need no worker: checks the pass directory by the rules and copies it for workers. Returns the paths to run.
    pub(super) fn prepare(&self) -> Result<Vec<Route>, Stop> {
        if let Candidate::Refused(why) = self.candidate {
            return Err(Failure::new(Status::Integrity, "bad_pass_directory", why).into());
        }
        let passes = self.scratch.path().join("passes");
        if let Candidate::Passes(directory) = self.candidate {
            if directory.files().is_empty() {
                return Err(no_match(&[]).into());
            }
            if self.machine.options.defences.lint
                && let Some(failure) = integrity::violation(directory)
            {
                return Err(failure.into());
            }
            write_pass_directory(directory, &passes).map_err(|error| Stop::Fault(error.into()))?;
        }
        Ok(self.candidate.routes(&self.machine.settings.paths, &passes.to_string_lossy()))
    }

    /// Returns the number of bytes of one set of inputs. Inputs with invalid metadata count as empty.
    pub(super) fn input_bytes(&self) -> u64 {
        self.sample.metas().iter().filter_map(|meta| byte_size(meta).ok()).map(|size| size as u64).sum()
    }

    /// Waits for the right to measure.
    pub(super) fn acquire_device(&self) -> Result<(Measuring<'a>, Duration), Stop> {
        let machine = self.machine;
        let acquired = machine.lock.acquire(|| machine.launcher.is_halted());
        acquired.map_err(|error| Stop::Fault(error.into()))?.ok_or_else(|| Stop::Fault(ZygoteError::Halted.into()))
    }

    /// Does work of the referee itself, such as making inputs or comparing results. It grows with the size of the graph and of other
    /// evaluations on the machine, so the time limit does not include it.
    pub(super) fn unlimited<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let begin = Instant::now();
        let result = work(self);
        self.deadline += begin.elapsed();
        result
    }

    pub(super) fn fork(&self, role: &str, foreign: bool) -> Result<Worker, WorkerFault> {
        let settings = &self.machine.settings;
        let options = WorkerOptions {
            scratch: self.scratch.path().join(role),
            memory_bytes: settings.memory_bytes,
            // CPU time that `threads` threads, and one more such as that of a compiler, can use within the wall-clock limit.
            cpu_s: settings.timeout_s.max(1.0).ceil() as u64 * (u64::from(settings.threads) + 1),
            // All workers are confined in the same way, so that the cost of confinement is the same for the baseline and the candidate.
            sandbox: self.machine.options.defences.sandbox,
            readable: match foreign {
                true => vec![self.scratch.path().join("passes").to_string_lossy().into_owned()],
                false => Vec::new(),
            },
            cache: match &self.machine.options.cache {
                Some(cache) if !foreign || self.machine.shares_kernels => cache.to_string_lossy().into_owned(),
                _ => String::new(),
            },
        };
        let worker = Worker::fork(&self.zygote, &options)?;
        if let Some(cores) = &self.machine.cores.other {
            worker.pin(cores);
        }
        Ok(worker)
    }

    pub(super) fn send_load(&self, worker: &mut Worker, candidate: &CandidateSpec) -> Result<(), WorkerFault> {
        let settings = &self.machine.settings;
        let request = WorkerRequest::Load {
            graph: self.sample.wire(settings.device),
            device: settings.device,
            threads: settings.threads,
            candidate: candidate.clone(),
            judge_kernels: self.machine.options.defences.objects,
            weights: match settings.weights {
                Weights::Inputs => Vec::new(),
                Weights::Static => self.sample.weights().map(str::to_owned).collect(),
            },
            unchanged: match self.machine.options.defences.storage {
                true => MemoryUse::of(self.sample.graph()).unchanged_inputs().into_iter().map(str::to_owned).collect(),
                false => Vec::new(),
            },
        };
        worker.send(&request, None, self.deadline)
    }

    pub(super) fn receive_load(&self, worker: &mut Worker) -> Result<LoadReport, WorkerFault> {
        match worker.receive(self.deadline)? {
            (WorkerReply::Loaded(report), _) => Ok(report),
            (other, _) => Err(unexpected("loaded", &other)),
        }
    }

    /// Returns the properties of results that are compared. The public harness compares values only: in `paper` mode another layout
    /// is a remark.
    pub(super) fn guard(&self) -> CallProperties {
        let storage = self.machine.options.defences.storage;
        let layout = match self.candidate {
            _ if !storage || self.machine.settings.mode != Mode::Sound => LayoutRule::Any,
            Candidate::Inductor { .. } | Candidate::Compiler { .. } => LayoutRule::Dense,
            _ => LayoutRule::Same,
        };
        CallProperties { inputs: storage, layout, ..self.values_only() }
    }

    /// Returns the properties for a comparison of values alone.
    pub(super) fn values_only(&self) -> CallProperties {
        CallProperties { parts: self.machine.settings.mode == Mode::Sound, ..CallProperties::default() }
    }

    pub(super) fn take_evidence(&mut self, loaded: &LoadReport, candidate: &Worker) {
        let evidence = &mut self.report.evidence;
        evidence.nodes_after = loaded.nodes_after;
        evidence.matches = loaded.passes.iter().map(|pass| (pass.name.clone(), pass.matches)).collect();
        evidence.rewritten = loaded.rewritten.clone();
        evidence.notes.extend(loaded.notes.iter().cloned().map(Remark::Worker));
        evidence.sandbox = candidate.sandbox.clone();
    }

    /// Makes inputs of the graph: one set of values per entry of `contents`.
    pub(super) fn inputs(&self, contents: &[(u64, Content)]) -> Result<InputBlock, BlockError> {
        InputBlock::of_graph(self.sample.metas(), &self.facts(), contents, self.machine.settings.memory_bytes)
    }

    /// Returns what the values of inputs depend on.
    pub(super) fn facts(&self) -> GraphFacts {
        let construction = match self.machine.settings.mode {
            Mode::Sound => Construction::Timed,
            Mode::Paper => Construction::Published,
        };
        GraphFacts::of(self.sample.graph(), self.sample.metas(), construction)
    }

    /// Sends some sets of a block without waiting for the reply.
    pub(super) fn send_inputs(
        &self,
        worker: &mut Worker,
        block: &InputBlock,
        sets: Range<usize>,
    ) -> Result<(), WorkerFault> {
        worker.send(&block.request(sets), Some(block.as_fd()), self.deadline)
    }

    /// Sends a call without waiting for the reply.
    pub(super) fn send_call(
        &self,
        worker: &mut Worker,
        set: usize,
        seed: u64,
        watch: Watch,
    ) -> Result<(), WorkerFault> {
        worker.send(&WorkerRequest::Call { set: set as u32, seed, watch }, None, self.deadline)
    }

    /// Makes the first call of a control, in which the control compiles.
    pub(super) fn first_call(&self, control: &mut Worker) -> Result<(), WorkerFault> {
        let seed = self.seeds.seed("first call", 0);
        let block = InputBlock::of_graph(self.sample.metas(), &self.facts(), &[(seed, Content::Random)], 0)
            .map_err(|error| WorkerFault::Io(std::io::Error::other(error.to_string())))?;
        self.call_once(control, &block, 0)?;
        control.drop_inputs(self.deadline)
    }

    /// Makes a worker call once on the first set of a block. Its results are ignored.
    pub(super) fn call_once(&self, worker: &mut Worker, block: &InputBlock, seed: u64) -> Result<(), WorkerFault> {
        self.send_inputs(worker, block, 0..1)?;
        self.send_call(worker, 0, seed, Watch::default())?;
        worker.receive_done(self.deadline)?;
        worker.receive_outputs(MAX_OUTPUT, self.deadline).map(drop)
    }
}

pub(super) fn elapsed(begin: Instant) -> u64 {
    let elapsed: Duration = begin.elapsed();
    elapsed.as_nanos() as u64
}
