//! One evaluation: its state ([`GraphEvaluation`]), its steps, and the reasons to stop it.

mod census;
mod check;
mod contents;
mod context;
mod disguised;
mod finite;
mod float64;
mod measure;
mod patterns;
mod profile;
mod steps;
mod stop;
mod suspect;

pub(crate) use self::{
    context::{EvaluationReport, GraphEvaluation},
    stop::Stop,
};
