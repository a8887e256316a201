//! Failures: a status and a reason.

use passnet_record::{PassReport, Reason, ReasonDetail, Status, WorkerError, WorkerStage};

use crate::{
    resource_watch::Excess,
    worker::{WorkerFault, describe_exit},
};

/// Code of a failure to allocate memory.
const OUT_OF_MEMORY: &str = "out_of_memory";

/// An outcome other than `correct`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) reason: Reason,
}

impl Failure {
    pub(crate) fn new(status: Status, code: &str, message: impl Into<String>) -> Self {
        Self { status, reason: Reason { code: code.to_owned(), message: message.into(), detail: None } }
    }

    pub(crate) fn with_detail(mut self, detail: ReasonDetail) -> Self {
        self.reason.detail = Some(Box::new(detail));
        self
    }

    /// Returns whether one side could not allocate memory. On a device that several evaluations share, the others may be the cause.
    pub(crate) fn is_shortage(&self) -> bool {
        self.reason.code == OUT_OF_MEMORY
    }
}

/// Returns the failure for a fault of the candidate's worker. `phase` names its work, e.g. `loading the passes`. If neither the
/// candidate nor the graph is to blame, the fault itself is the error.
pub(crate) fn of_candidate(fault: WorkerFault, phase: &str) -> Result<Failure, WorkerFault> {
    Ok(match fault {
        WorkerFault::Failed(error) => of_worker_error(&error, phase),
        WorkerFault::Deadline => Failure::new(
            Status::Timeout,
            "wall_limit",
            format!(
                "the time limit of the graph passed while {phase}; look for endless loops and for kernels that are compiled again in each call; raise the limit with --timeout if the graph itself needs long"
            ),
        ),
        WorkerFault::Died { exit, log } => {
            let how = describe_exit(exit);
            let signal = exit.and_then(|exit| exit.signal);
            let (status, code) = match signal {
                Some(24) => (Status::Timeout, "cpu_limit"),
                Some(9) => (Status::OutOfMemory, "killed"),
                _ => (Status::RuntimeError, "worker_died"),
            };
            Failure::new(
                status,
                code,
                format!("the candidate's process ended while {phase} ({how}). Its last output:\n{log}"),
            )
            .with_detail(ReasonDetail {
                signal,
                exit_code: exit.and_then(|exit| exit.code),
                ..ReasonDetail::default()
            })
        }
        WorkerFault::Exceeded(excess) => {
            let (status, code) = match excess {
                Excess::Memory { .. } => (Status::OutOfMemory, "memory_limit"),
                Excess::Processes(_) => (Status::RuntimeError, "process_limit"),
                Excess::Log(_) => (Status::RuntimeError, "log_limit"),
            };
            Failure::new(status, code, format!("the candidate's process was killed while {phase}: {excess}"))
        }
        WorkerFault::Broken(why) => Failure::new(
            Status::Integrity,
            "protocol_violation",
            format!("while {phase} the candidate's process sent a message that no honest worker sends: {why}"),
        ),
        fault @ WorkerFault::Rewritten(_) => {
            let message =
                format!("{fault}; a call has to return results that are complete and that nothing else writes to");
            Failure::new(Status::Integrity, "timed_output_differs", message)
        }
        fault @ (WorkerFault::Zygote(_) | WorkerFault::Io(_)) => return Err(fault),
    })
}

/// Returns the failure for a fault of the reference's worker: the graph cannot be judged. If the graph is not to blame, the fault itself
/// is the error.
pub(crate) fn of_reference(fault: WorkerFault, phase: &str) -> Result<Failure, WorkerFault> {
    let (code, message) = match fault {
        WorkerFault::Failed(error) if is_out_of_memory(&error) => (OUT_OF_MEMORY, error.message.clone()),
        WorkerFault::Failed(error) => {
            ("raised", format!("{}: {}\n{}", error.exception, error.message, error.traceback))
        }
        WorkerFault::Deadline => {
            let message = "the time limit of the graph passed; it is too large for this device in that time: raise the \
                           limit with --timeout, or leave the graph out with --filter";
            ("wall_limit", message.to_owned())
        }
        WorkerFault::Died { exit, log } => {
            ("worker_died", format!("the process ended ({}). Its last output:\n{log}", describe_exit(exit)))
        }
        WorkerFault::Exceeded(Excess::Memory { .. }) => ("memory_limit", fault.to_string()),
        WorkerFault::Exceeded(excess) => ("worker_died", excess.to_string()),
        WorkerFault::Broken(why) => ("protocol_violation", why),
        WorkerFault::Rewritten(_) => ("not_deterministic", fault.to_string()),
        fault @ (WorkerFault::Zygote(_) | WorkerFault::Io(_)) => return Err(fault),
    };
    let message = format!("the graph itself, run by eager PyTorch, failed while {phase}: {message}");
    Ok(Failure::new(Status::ReferenceError, code, message))
}

fn is_out_of_memory(error: &WorkerError) -> bool {
    matches!(error.exception.as_str(), "OutOfMemoryError" | "MemoryError")
}

fn of_worker_error(error: &WorkerError, phase: &str) -> Failure {
    let (status, code) = match error.stage {
        _ if is_out_of_memory(error) => (Status::OutOfMemory, OUT_OF_MEMORY),
        _ if error.exception == "KernelRefusedError" => (Status::Integrity, "native_object"),
        WorkerStage::Import => (Status::CompileError, "import_failed"),
        WorkerStage::Rewrite => (Status::CompileError, "rewrite_failed"),
        WorkerStage::Compile => (Status::CompileError, "compile_failed"),
        WorkerStage::Build => (Status::RuntimeError, "build_failed"),
        WorkerStage::Run => (Status::RuntimeError, "raised"),
        WorkerStage::Transfer => (Status::RuntimeError, "transfer_failed"),
        WorkerStage::Protocol => (Status::Integrity, "protocol_violation"),
    };
    let place = error.pass.as_ref().map(|pass| format!(" in pass `{pass}`")).unwrap_or_default();
    let message = format!("{} while {phase}{place}: {}\n{}", error.exception, error.message, error.traceback);
    let detail = ReasonDetail {
        stage: Some(error.stage),
        exception: Some(error.exception.clone()),
        pass: error.pass.clone(),
        ..ReasonDetail::default()
    };
    Failure::new(status, code, message.trim_end()).with_detail(detail)
}

/// Returns the failure of a pass directory without any match.
pub(crate) fn no_match(passes: &[PassReport]) -> Failure {
    if passes.is_empty() {
        let message = "the pass directory names no pass; list rule names in sorted_output_pass_rule_names.json";
        return Failure::new(Status::NoMatch, "no_passes", message);
    }
    let mut message = "no pass matched the graph".to_owned();
    for pass in passes {
        let Some(miss) = &pass.nearest else {
            message.push_str(&format!("\n`{}`: no node in the graph could match", pass.name));
            continue;
        };
        message.push_str(&format!("\n`{}`: {} of {} pattern nodes matched", pass.name, miss.matched, miss.total));
        let (expected, found) = (quoted(&miss.expected), quoted(&miss.found));
        message.push_str(&match miss.node.as_str() {
            "" => format!("; the pattern ends with {expected}, but there is {found}"),
            node => format!(
                "; at node `{node}` of the graph, the {} differs: {expected} in the pattern, {found} in the graph",
                miss.what
            ),
        });
    }
    let best = passes.iter().filter_map(|pass| pass.nearest.as_ref()).max_by_key(|miss| miss.matched);
    let code = best.map_or("no_candidate_node".to_owned(), |miss| format!("{}_mismatch", miss.what));
    Failure::new(Status::NoMatch, &code, message)
        .with_detail(ReasonDetail { passes: passes.to_vec(), ..ReasonDetail::default() })
}

/// Returns code in backquotes. A description that already contains quotes is returned unchanged.
fn quoted(text: &str) -> String {
    if text.contains('`') { text.to_owned() } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use passnet_record::NearestMiss;

    use super::*;
    use crate::zygote::WorkerExit;

    fn raised(stage: WorkerStage, exception: &str) -> WorkerFault {
        WorkerFault::Failed(Box::new(WorkerError {
            stage,
            exception: exception.to_owned(),
            message: "m".to_owned(),
            traceback: "t".to_owned(),
            pass: Some("fuse".to_owned()),
            fatal: false,
        }))
    }

    #[test]
    fn stages_become_statuses() {
        for (stage, exception, status, code) in [
            (WorkerStage::Import, "SyntaxError", Status::CompileError, "import_failed"),
            (WorkerStage::Compile, "KernelRefusedError", Status::Integrity, "native_object"),
            (WorkerStage::Compile, "KernelCompileError", Status::CompileError, "compile_failed"),
            (WorkerStage::Run, "ValueError", Status::RuntimeError, "raised"),
            (WorkerStage::Run, "OutOfMemoryError", Status::OutOfMemory, "out_of_memory"),
            (WorkerStage::Compile, "CompilationError", Status::CompileError, "compile_failed"),
        ] {
            let failure = of_candidate(raised(stage, exception), "running").unwrap();
            assert_eq!((failure.status, failure.reason.code.as_str()), (status, code));
            assert!(failure.reason.message.contains("`fuse`"), "{}", failure.reason.message);
            let of_the_graph = of_reference(raised(stage, exception), "running").unwrap();
            assert_eq!(of_the_graph.status, Status::ReferenceError);
            for failure in [failure, of_the_graph] {
                assert_eq!(failure.is_shortage(), status == Status::OutOfMemory, "{failure:?}");
            }
        }
        let died =
            WorkerFault::Died { exit: Some(WorkerExit { code: None, signal: Some(11) }), log: "boom".to_owned() };
        let failure = of_candidate(died, "running").unwrap();
        assert!(failure.reason.message.contains("segmentation fault"), "{}", failure.reason.message);
    }

    #[test]
    fn a_miss_says_what_was_expected_and_what_was_found() {
        let nearest = NearestMiss {
            matched: 1,
            total: 2,
            node: "gelu_1".to_owned(),
            what: "argument".to_owned(),
            expected: "'tanh'".to_owned(),
            found: "'none'".to_owned(),
        };
        let failure = no_match(&[PassReport { name: "p".to_owned(), matches: 0, nearest: Some(nearest) }]);
        assert_eq!(failure.reason.code, "argument_mismatch");
        for part in ["gelu_1", "'tanh'", "'none'", "1 of 2"] {
            assert!(failure.reason.message.contains(part), "{}", failure.reason.message);
        }
        assert_eq!(no_match(&[]).reason.code, "no_passes");
    }
}
