//! One evaluation: its state ([`Attempt`]), its steps, and the reasons to stop it.

mod census;
mod check;
mod context;
mod measure;
mod patterns;
mod profile;
mod steps;
mod stop;

pub(crate) use self::{context::Attempt, stop::Stop};
