//! Choice of an evaluation subset against the published tool.

mod shared_data;

use passnet_dataset::select::select_subset;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    input: Vec<Vec<String>>,
    k200: Vec<Vec<String>>,
}

#[test]
fn two_hundred_of_the_public_op_sequences() {
    let Some(golden) = shared_data::golden::<Golden>("select_subset.json.gz") else { return };
    let chosen: Vec<_> = select_subset(&golden.input, 200).into_iter().map(|i| golden.input[i].clone()).collect();
    assert_eq!(chosen, golden.k200);
}
