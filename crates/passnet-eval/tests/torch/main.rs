//! The referee with the real PyTorch. One program holds all of it, so that one test loads PyTorch while another one measures.

#[path = "../common/mod.rs"]
mod common;

mod closeness;
mod suite_run;
mod verdicts;
