//! Helper processes of PyTorch.
//!
//! PassNet itself does not link PyTorch. Some questions need it: the types of the values of a graph, statistics of a
//! graph that was run, the number of kernels of a compiled prefix. A *helper* is a Python process that answers such
//! questions, one JSON object per line in each direction. A [`HelperPool`] starts helpers when they are needed and keeps
//! them, since importing PyTorch takes seconds and a question milliseconds. The fork server of the referee is not a
//! helper: it is in `passnet-eval`, with the sandbox around it.
//!
//! ```no_run
//! use passnet_services::{Helper, HelperPool, Interpreter};
//! use passnet_record::services::{PropagateReply, PropagateRequest};
//! use serde_json::{Value, json};
//!
//! let pool = HelperPool::new(Interpreter::find(), Helper::Propagate);
//! let request = PropagateRequest { graph: json!({}), inputs: Vec::new(), device: "cpu".to_owned() };
//! let reply: PropagateReply<Value> = pool.ask(&request)?;
//! # Ok::<(), passnet_services::HelperError>(())
//! ```

mod capture;
mod check;
mod helper;
mod interpreter;
mod optimize;
mod pool;
mod process;
mod propagate;

pub use self::{
    capture::CaptureOptions,
    check::{compiler_problem, device_problem},
    helper::{Helper, HelperError},
    interpreter::{Interpreter, InterpreterSource},
    optimize::OptimizeOptions,
    pool::HelperPool,
    propagate::{PropagateError, Propagator, propagate},
};
