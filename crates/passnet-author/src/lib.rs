//! Authors: sources of candidates for the tasks of a suite.
//!
//! An [`Author`] turns a task into a pass directory. A baseline or a compiler has only a name and needs no directory.
//! [`submission`] collects the candidates of all tasks of a suite, and `passnet_eval::run_suite` evaluates them. An author never
//! decides a verdict and never sees the inputs or the seeds of an evaluation.
//!
//! | author | file | evaluation runs |
//! |---|---|---|
//! | `eager` | `eager.rs` | the graph by eager PyTorch |
//! | `noop` | `noop.rs` | the graph through the same path as passes, without any pass |
//! | `inductor[:MODE]` | `inductor.rs` | `torch.compile` with TorchInductor |
//! | `cudagraphs`, `thunder`, `hidet`, `tensorrt`, `compiler:FILE.py` | `compiler.rs` | the graph as compiled by a file of `python/passnet/_compilers`, or by a file of the user |
//! | `dir:PATH` | `dir.rs` | pass directories on disk |
//! | `fuse` | `fuse.rs` | passes of the built-in author |
//!
//! A new author is one file with an implementation of [`Author`] and one entry in [`builtin_kinds`]. The command adds entries for
//! authors of other crates to that list, such as `llm:` of `passnet-agent`.
//!
//! ```
//! use passnet_author::{builtin_kinds, parse};
//!
//! let kinds = builtin_kinds();
//! assert_eq!(parse(&kinds, "inductor:max-autotune")?.to_string(), "inductor:max-autotune");
//! let error = parse(&kinds, "inductor:bogusmode").unwrap_err().to_string();
//! assert!(error.contains("reduce-overhead"), "{error}");
//! # Ok::<(), passnet_author::AuthorError>(())
//! ```

mod author;
mod compiler;
mod dir;
mod eager;
mod feedback;
pub mod fuse;
mod inductor;
mod kind;
mod noop;
mod pass_files;
mod scaffold;
mod submit;
mod verdict_report;

pub use passnet_fuse::Choices;
pub use passnet_graph::{Target, TypedGraph};

pub use self::{
    author::{Author, AuthorContext, AuthorError, AuthorOptions, Runs, TaskGraphs},
    feedback::{Complaint, complaints, next_step},
    fuse::{Fuse, target_of},
    kind::{Argument, AuthorKind, Create, Creation, builtin_kinds, create, label, needs_model_server, parse},
    pass_files::{
        PassDirError, check_pass_folder, modification_times, pass_directories, read_pass_directory,
        write_pass_directory,
    },
    scaffold::{Scaffold, scaffold},
    submit::submission,
    verdict_report::verdict_report,
};
