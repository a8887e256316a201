//! placeholder
mod health;
mod job;
mod queue;
mod schedule;
mod slot;
pub use self::{
    health::{Check, HealthPolicy, Illness},
    job::{JobId, LeaseId, Priority, SlotId},
    queue::{QueueFull, Quota},
    schedule::{Action, Counts, Event, Policy, Scheduler},
};
