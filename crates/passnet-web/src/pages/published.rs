//! Figures from the PassNet paper, on a separate page: they are not comparable with measured runs.

use maud::{Markup, html};

use super::context::Page;
use crate::{
    format::{percent, ratio, score},
    shell::{scrolling, section},
};

/// Table 1 of the PassNet paper: AS, G-mean, correct subgraphs in percent, fast_1 in percent.
const TABLE_1: [(&str, f64, f64, f64, f64); 11] = [
    ("Eager", 1.000, 1.000, 100.0, 100.0),
    ("TorchInductor", 0.706, 0.846, 85.0, 20.3),
    ("Claude-Sonnet-4.6", 0.448, 0.835, 61.9, 9.2),
    ("Claude-Opus-4.6", 0.410, 0.922, 48.6, 9.8),
    ("GPT-5.4", 0.410, 0.821, 54.6, 7.4),
    ("Qwen3-30B-A3B-SFT", 0.371, 0.809, 48.8, 5.3),
    ("GLM-5.1", 0.240, 0.844, 33.5, 4.8),
    ("Qwen3-4B-SFT", 0.240, 0.808, 28.5, 3.0),
    ("MiniMax-M2.7", 0.208, 0.653, 23.0, 1.0),
    ("Qwen3-30B-A3B", 0.139, 0.693, 11.8, 0.6),
    ("Qwen3-4B", 0.108, 0.953, 1.3, 0.2),
];

pub(super) fn page() -> Page {
    let sections = vec![section("published", "Table 1 of the PassNet paper", published())];
    Page { title: "Published figures".to_owned(), above: Vec::new(), lead: html! {}, sections }
}

/// Returns the published table with its source and the differences to measured runs.
fn published() -> Markup {
    let table = html! {
        table.sortable {
            thead {
                tr {
                    th scope="col" { "System" }
                    @for name in ["AS", "G-mean", "Correct", "fast_1"] { th.number scope="col" { (name) } }
                }
            }
            tbody {
                @for (system, aggregated, mean, correct, fast) in TABLE_1 {
                    tr {
                        th scope="row" { (system) }
                        td.number { (score(aggregated)) }
                        td.number data-sort=(mean) { (ratio(mean)) }
                        td.number data-sort=(correct) { (percent(correct)) }
                        td.number data-sort=(fast) { (percent(fast)) }
                    }
                }
            }
        }
    };
    html! {
        p.about {
            "Not measured here: Table 1 of arXiv 2605.29357 (28 May 2026), 200 fusible tasks of PassBench on an NVIDIA A30, "
            "PyTorch 2.9.1, CUDA 12.8, Triton 3.5.1, scored by the authors' own evaluator. Device, versions, evaluator and tasks "
            "differ from the runs of this site, so the numbers are a reference and must not be ranked with them."
        }
        (scrolling("Published figures", table))
    }
}
