//! Helper processes that run PyTorch.
//!
//! PassNet does not link PyTorch, but only PyTorch can answer some questions: the types of the values of a graph, statistics of a
//! graph that ran, the number of kernels of a compiled prefix. A *helper* is a Python process that answers such questions, with one
//! JSON object per line in each direction. A [`HelperPool`] starts helpers on demand and keeps them, because PyTorch takes seconds
//! to import and a question takes milliseconds.
//!
//! The crate never runs a pass. The fork server of the referee is not a helper: `passnet-eval` runs it inside the sandbox.
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
    check::{Packages, compiler_problem, cpp_compiler, device_problem},
    helper::{Helper, HelperError},
    interpreter::{Interpreter, InterpreterSource},
    optimize::OptimizeOptions,
    pool::{HelperPool, PoolLimits},
    propagate::{PropagateError, Propagator, propagate},
};
