//! Fusible ranges against those of the published tool.

mod shared_data;

use passnet_dataset::{fold::OpRange, fusible::fusible_ranges};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    kernels: Vec<u32>,
    offset: u32,
    ranges: Vec<OpRange>,
}

#[derive(Deserialize)]
struct Network {
    inp: Counts,
    out: Vec<OpRange>,
}

#[derive(Deserialize)]
struct Counts {
    start_offset_in_original_graph: u32,
    num_subgraph_kernels: Vec<u32>,
}

#[test]
fn random_counts() {
    let Some(cases) = shared_data::golden::<Vec<Case>>("fusible_ranges.json.gz") else { return };
    assert!(!cases.is_empty());
    for case in cases {
        assert_eq!(fusible_ranges(&case.kernels, case.offset), case.ranges, "{:?}", case.kernels);
    }
}

#[test]
fn counts_of_resnet18() {
    let Some(network) = shared_data::golden::<Network>("fusible_resnet18.json") else { return };
    let ranges = fusible_ranges(&network.inp.num_subgraph_kernels, network.inp.start_offset_in_original_graph);
    assert_eq!(ranges, network.out);
}
