//! Compatible folding against ranges of the published reference.

mod shared_data;

use std::collections::BTreeMap;

use passnet_dataset::fold::{CompatibleSettings, FoldPolicy, OpRange, SizeBounds, fold_compatible};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    window_size: usize,
    fold_times: usize,
    min_seq_ops: u32,
    max_seq_ops: u32,
    samples_in_order: Vec<String>,
    ranges: Vec<Vec<OpRange>>,
}

#[test]
fn ranges_equal_those_of_the_reference() {
    let Some(mut ops) = shared_data::golden::<BTreeMap<String, Vec<String>>>("op_names_static.json.gz") else { return };
    for name in ["A_10", "A_100", "A_1000", "B_10", "B_100"] {
        let Some(golden) = shared_data::golden::<Golden>(&format!("rp_{name}.json.gz")) else { return };
        let sequences: Vec<Vec<String>> =
            golden.samples_in_order.iter().map(|sample| std::mem::take(ops.get_mut(sample).unwrap())).collect();
        let settings = CompatibleSettings {
            window: golden.window_size,
            folds: Some(golden.fold_times),
            policy: FoldPolicy::Savings,
            bounds: SizeBounds::new(golden.min_seq_ops, golden.max_seq_ops).unwrap(),
        };
        let ranges = fold_compatible(&sequences, &settings);
        assert_eq!(ranges.len(), golden.ranges.len(), "{name}");
        for ((sample, ranges), expected) in golden.samples_in_order.iter().zip(&ranges).zip(&golden.ranges) {
            assert_eq!(ranges, expected, "{name}: {sample}");
        }
        for (sample, sequence) in golden.samples_in_order.into_iter().zip(sequences) {
            ops.insert(sample, sequence);
        }
    }
}
