use std::collections::BTreeSet;

use passnet_record::{DType, Device};

use super::*;
use crate::{seeds::Seeds, settings};

fn meta(name: &str, dtype: DType, shape: &[u64], std: f64) -> TensorMeta {
    TensorMeta {
        name: name.to_owned(),
        original_name: None,
        shape: shape.to_vec(),
        dtype,
        device: "cpu".to_owned(),
        mean: Some(0.5),
        std: Some(std),
        data: None,
        min_val: None,
        max_val: None,
    }
}

fn read(pools: &Pools, call: u64) -> Vec<Vec<u8>> {
    let block = pools.content(call).unwrap();
    let layouts: Vec<_> = block.layouts(0).collect();
    layouts.iter().map(|layout| block.read(layout).unwrap()).collect()
}

#[test]
fn no_call_sees_what_another_one_saw() {
    let metas = [
        meta("large", DType::Float32, &[50, 100], 1.0),
        meta("small", DType::Float16, &[3], 1.0),
        meta("constant", DType::Float32, &[7], 0.0),
    ];
    let pools = Pools::new(&metas, 3, 100, &[], 0).unwrap();
    assert_eq!(pools.calls(), WINDOWS);
    let contents: Vec<_> = (0..500).map(|call| read(&pools, call)).collect();
    let distinct = |tensor: usize| contents.iter().map(|content| &content[tensor]).collect::<BTreeSet<_>>().len();
    assert_eq!((distinct(0), distinct(2)), (500, 1));
    // Three elements of 16 bits: values may repeat, places do not.
    assert!(distinct(1) >= 490);
    assert_eq!(contents[0].iter().map(Vec::len).collect::<Vec<_>>(), [20_000, 6, 28]);
    // A value equals a value of an earlier call only by chance: in 0.7 % of cases, given the density of 32-bit numbers.
    let words = |call: usize| contents[call][0].as_chunks::<4>().0.iter().copied();
    let earlier: BTreeSet<_> = (0..20).flat_map(words).collect();
    assert!(words(20).filter(|word| earlier.contains(word)).count() < 200);
    // No element has the same value in both calls.
    let same = contents[0][0].as_chunks::<4>().0.iter().zip(contents[1][0].as_chunks::<4>().0);
    assert!(same.filter(|(a, b)| a == b).count() < 10);
}

#[test]
fn sums_are_distributed_as_the_rule_says() {
    let metas = [meta("x", DType::Float32, &[200_000], 1.0)];
    let pools = Pools::new(&metas, 5, 100, &[], 0).unwrap();
    let content = read(&pools, 3);
    let values: Vec<f64> =
        content[0].as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_ne_bytes(*bytes))).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |power| values.iter().map(|value| ((value - mean) / 0.2).powi(power)).sum::<f64>() / n;
    assert!((mean - 0.5).abs() < 0.005, "{mean}");
    assert!((moment(2) - 1.0).abs() < 0.02 && moment(3).abs() < 0.05 && (moment(4) - 3.0).abs() < 0.15);
    let bounded = [TensorMeta { min_val: Some(0.6), ..metas[0].clone() }];
    let content = read(&Pools::new(&bounded, 5, 100, &[], 0).unwrap(), 3);
    let at_least = |bytes: &[u8; 4]| f32::from_ne_bytes(*bytes) >= 0.6;
    assert!(content[0].as_chunks::<4>().0.iter().all(at_least));
}

#[test]
fn a_block_continues_where_the_one_before_it_ended() {
    let metas = [meta("x", DType::Float32, &[10], 1.0)];
    let pools = Pools::new(&metas, 9, 100, &[], 0).unwrap();
    let (first, later) = (pools.windows(0)[0], pools.windows(40)[0]);
    assert_eq!((first.start + 40 * first.step) % pools.calls(), later.start);
    assert_eq!(
        Pools::new(&metas, 9, 100, &["x"], 0).unwrap().windows(7),
        [Windows { start: 0, step: 1, addend_start: 0, addend_step: 0 }]
    );
    assert!(Pools::new(&metas, 9, 20_000, &[], 0).unwrap().calls() >= 20_000);
}

#[test]
fn held_contents_are_those_of_a_block_in_each_call_and_take_as_much_memory_as_others() {
    let mut metas = vec![
        meta("x", DType::Float32, &[5, 7], 1.0),
        meta("half", DType::BFloat16, &[9], 1.0),
        meta("weight", DType::Float32, &[6], 1.0),
        meta("constant", DType::Float32, &[3], 0.0),
    ];
    metas.push(TensorMeta {
        dtype: DType::Int64,
        min_val: Some(0.0),
        max_val: Some(9.0),
        ..meta("index", DType::Int64, &[4], 1.0)
    });
    for content in Content::ADVERSARIAL {
        let block = InputBlock::new(&metas, &[(7, content)], 0).unwrap();
        let held = Pools::holding(&block, &metas, 100, &["weight"], 0).unwrap();
        let expected: Vec<_> = block.layouts(0).map(|layout| block.read(&layout).unwrap()).collect();
        for call in [0, 1, 99] {
            assert_eq!(read(&held, call), expected, "{content}");
        }
        let usual = Pools::new(&metas, 3, 100, &["weight"], 0).unwrap();
        let sizes = |pools: &Pools| -> Vec<_> {
            let addends = |pool: &Pool| pool.addend.as_ref().map(|addend| (addend.offset, addend.elements));
            pools.pools.iter().map(|pool| (pool.window.clone(), pool.windows, addends(pool))).collect()
        };
        assert_eq!(sizes(&held), sizes(&usual));
    }
}

/// Attacks that know the contents of timed calls rely on these values.
#[test]
fn the_contents_without_a_secret_are_those_that_attacks_know() {
    let seeds = Seeds::draw(&settings::sound(Device::Cpu), false).unwrap();
    let metas =
        ["in_0", "in_1"].map(|name| TensorMeta { mean: Some(0.05), ..meta(name, DType::Float32, &[512, 1024], 1.0) });
    let contents = read(&Pools::fixed(&metas, seeds.seed("timed contents", 0), 0).unwrap(), 5);
    let words = |tensor: usize| contents[tensor].as_chunks::<4>().0;
    let first: Vec<String> = words(0)[..3].iter().map(|bytes| format!("{:.9}f", f32::from_le_bytes(*bytes))).collect();
    let middle = i32::from_le_bytes(words(1)[512 * 1024 / 2]);
    let attacks = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks/timing");
    for (attack, known) in [
        ("known-contents", format!("{{{}}}", first.join(", "))),
        ("known-contents-in-a-switch", format!("case {middle}:")),
    ] {
        let text = std::fs::read_to_string(attacks.join(attack).join("fuse.py")).unwrap();
        assert!(text.contains(&known), "{attack} has to know {known}");
    }
}

#[test]
fn limits_hold() {
    let metas = [meta("x", DType::Float32, &[1 << 20], 1.0)];
    assert!(matches!(Pools::new(&metas, 1, 1, &[], 1 << 20), Err(BlockError::TooLarge { .. })));
}
