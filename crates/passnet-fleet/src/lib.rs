//! Runs and environments for trainers, on many devices.
//!
//! ```text
//!  driver (passnet fleet run)                 bridge (Python)            cluster, one per device
//!  ┌─────────────────────────────┐  lines   ┌─────────────────┐  Ray   ┌────────────────────────────┐
//!  │ Suite ─► Scheduler ─► lease ─┼─────────►│ starts stations │───────►│ actor ─► station           │
//!  │ run logs ◄─ Ledger ◄─ news ◄─┼──────────│ carries lines   │◄───────│ (passnet fleet station)    │
//!  └─────────────────────────────┘          └─────────────────┘        │  └► Referee ─► its workers │
//!                                                                      └────────────────────────────┘
//! ```
//!
//! - A *station* owns one device and the existing referee, and needs no file of the driver: graphs and candidates come in
//!   parcels. On both sides, Rust code handles the verdicts. Python only carries lines and does not read them.
//! - Only the *driver* writes run logs, in the format of `passnet bench run`. A verdict has a content key and a graph, so a message
//!   that arrives twice changes nothing. Messages of a lost lease are ignored.
//! - The [`Scheduler`] is a state machine without clock, processes and files. The driver and the simulation use the same scheduler.
//! - The driver leases a *task* with all its authors to one station. It writes the verdicts of a graph for all authors together,
//!   from one lease.
//! - The graphs of a lost station go back to the queue. A device gets no work in three cases: a graph measured against itself does
//!   not give 1, the device is slower than its peers, or another process uses its memory. Such a device is checked again later.
//! - The tokens and addresses of the cluster stay in the actor: a station gets only the variables on an allow-list, and the workers
//!   of the referee get only the variables on a shorter allow-list.
//!
//! This crate never evaluates and never decides a verdict: [`passnet_eval::Referee`] does.
//!
//! ```
//! use std::time::Duration;
//! use passnet_fleet::{Action, Event, JobId, Policy, Priority, Scheduler, SlotId};
//!
//! let mut scheduler = Scheduler::new(Policy::default());
//! scheduler.submit(JobId(0), "run", Priority::Batch)?;
//! scheduler.handle(Duration::ZERO, Event::Joined(SlotId(0)));
//! let actions = scheduler.handle(Duration::ZERO, Event::Ready { slot: SlotId(0), capacity: 1, foreign: None });
//! assert!(matches!(actions[..], [Action::Check { .. }]));
//! # Ok::<(), passnet_fleet::QueueFull>(())
//! ```

mod admission;
mod bridge;
mod device;
mod driver;
mod error;
mod event;
mod health;
mod helpers;
mod job;
mod ledger;
mod metrics;
mod parcel;
mod questions;
mod queue;
mod random;
mod run;
mod schedule;
mod service;
mod simulate;
mod slot;
mod stage;
mod station;
mod stations;
mod status;
mod tasks;
mod view;

pub use passnet_record::fleet::{FleetClient, Priority};

pub use self::{
    admission::{AdmissionLimits, AdmissionRefusal},
    bridge::{BridgeConfig, Cluster, HelperCluster},
    error::FleetError,
    event::{Action, Counts, Event, Policy},
    health::{HealthCheck, HealthPolicy, Illness},
    helpers::{FleetRunner, GiveUp, HelperFleet},
    job::{JobId, LeaseId, SlotId},
    ledger::AuthorRun,
    metrics::{MetricsFiles, prometheus},
    questions::serve_helpers,
    queue::{ClientUse, QueueFull, Quota},
    run::{FleetOptions, FleetOutcome, FleetProgress, FleetRun},
    schedule::Scheduler,
    service::{FleetService, JobAnswer, ServiceOptions},
    simulate::{Simulation, SimulationReport, simulate, task_durations},
    stage::StageRun,
    station::{StartReferee, end_with_parent, serve_station},
    tasks::{TaskCluster, TaskProgress},
    view::StationView,
};
