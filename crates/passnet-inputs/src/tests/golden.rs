//! Values of all contents that must stay equal from version to version.

use super::meta;
use crate::*;

/// Returns inputs of all kinds: drawn ones, bounded ones, constants, literals, bools, indices.
fn metas() -> Vec<TensorMeta> {
    let data = |values: &[f64]| Some(values.iter().map(|&value| TensorValue::Float(value)).collect());
    let mut metas = vec![
        meta(DType::Float32, &[6, 40]),
        meta(DType::Float16, &[40, 9]),
        meta(DType::BFloat16, &[3, 5, 7]),
        TensorMeta { min_val: Some(0.1), ..meta(DType::Float64, &[50]) },
        TensorMeta { std: Some(0.0), mean: Some(1e-6), ..meta(DType::Float32, &[40]) },
        TensorMeta { std: Some(0.0), mean: Some(3.0), ..meta(DType::Float32, &[40]) },
        TensorMeta { data: data(&[0.0, 0.5, -3.4e38, 2.0]), ..meta(DType::Float32, &[4]) },
        TensorMeta { min_val: Some(0.0), max_val: Some(9.0), ..meta(DType::Int64, &[5, 40]) },
        TensorMeta { data: data(&[0.0, 1.0, 2.0, 3.0]), ..meta(DType::Int64, &[1, 4]) },
        meta(DType::Int32, &[64]),
        meta(DType::Bool, &[7, 40]),
    ];
    for (number, meta) in metas.iter_mut().enumerate() {
        meta.name = format!("in_{number}");
    }
    metas
}

/// Returns the first bytes of the hash of all values of a content.
fn hash(content: Content, metas: &[TensorMeta], construction: Construction) -> String {
    let facts = GraphFacts {
        floats: vec![0.3, -0.3],
        integers: vec![1, 0, 2, 40, 39, 41],
        construction,
        ..GraphFacts::default()
    };
    let mut hasher = blake3::Hasher::new();
    for (number, meta) in metas.iter().enumerate() {
        hasher.update(&fill_among(meta, number, 17, content, AllInputs::of(metas, &facts)).unwrap());
    }
    hasher.finalize().to_hex()[..12].to_owned()
}

#[test]
fn all_contents_do_not_change_between_versions() {
    let metas = metas();
    for line in GOLDEN {
        let content: Content = line.split_once(' ').unwrap().0.parse().unwrap();
        let [published, timed] =
            [Construction::Published, Construction::Timed].map(|construction| hash(content, &metas, construction));
        assert_eq!(format!("{content} {published} {timed}"), *line);
    }
}

/// Contents, and hashes of their values in both constructions. Magnitudes of spikes are powers from the C library of the platform.
const GOLDEN: &[&str] = &[
    "random 708803346032 732c8e354446",
    "varied 1d7b818dc858 c730a4b05432",
    "wide ef4d906dbb8d f23b334262e1",
    "uneven e575287efcbf f15915873cc4",
    "steps 6a9584508743 01125b49b867",
    "segments b644cac42713 8c26e52c17d6",
    "stripes ed1052f614ea efad8c5c7c11",
    "scaled e59d93a6ac3d a8b09ca611b6",
    "aligned bfe33aa7813a a2a20d9098ee",
    "units 82b020a097f4 09553d1ca670",
    "outliers 217555a1d5f5 57c9f125f406",
    "even_outliers f9734fb3b605 5f7a28a1dd1d",
    "odd_outliers 8990695835dd 8fb458e41901",
    "single_outliers 92df7863efe3 b70a75e615b9",
    "other_single_outliers 6dffdae0885c 49b49cb60644",
    "discrete 1a2e101f979a 767384c382df",
    "divided 56f05ee9be68 85a44b533351",
    "columns 117aada00714 7ba955244b11",
    "single_changes 95b21055ef7c 8e4bde35effd",
    "zeros be452d1d1d4c be452d1d1d4c",
    "large b206c8f9440d b12ca491e0a4",
    "negative 4ce80887c1c3 eeb2333bf9ce",
    "tiny e4f7f2f7371b e4f7f2f7371b",
    "near_duplicate 1250e2396b0f 11c63d173246",
    "non_finite 5932ef2c547a ce101f53ee11",
];
