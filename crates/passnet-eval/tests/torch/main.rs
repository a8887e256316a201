//! The referee with the real PyTorch. All these tests are in one program, so that one test loads PyTorch while another one measures.

#[path = "../common/mod.rs"]
mod common;

mod closeness;
mod constant_inputs;
mod suite_run;
mod verdicts;
