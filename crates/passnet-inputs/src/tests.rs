mod golden;

use proptest::prelude::*;

use crate::{facts::common_indices, real::Real, rule::FloatRule, values::PARALLEL_ELEMENTS, *};

pub(crate) fn meta(dtype: DType, shape: &[u64]) -> TensorMeta {
    TensorMeta {
        name: "in_0".to_owned(),
        original_name: None,
        shape: shape.to_vec(),
        dtype,
        device: "cuda:0".to_owned(),
        mean: dtype.is_float().then_some(0.25),
        std: dtype.is_float().then_some(2.0),
        data: None,
        min_val: None,
        max_val: None,
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&chunk| f32::from_ne_bytes(chunk)).collect()
}

fn moments(values: &[f32]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

#[test]
fn normal_values_have_a_fifth_of_the_recorded_deviation() {
    let values = floats(&fill(&meta(DType::Float32, &[100, 100]), 3, Content::Random).unwrap());
    let (mean, std) = moments(&values);
    assert!((mean - 0.25).abs() < 0.02 && (std - 0.4).abs() < 0.02, "{mean} {std}");
}

#[test]
fn values_do_not_change_between_versions() {
    let values = floats(&fill(&meta(DType::Float32, &[4]), 123, Content::Random).unwrap());
    let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    assert_eq!(bits, GOLDEN, "{values:?}");
}

const GOLDEN: [u32; 4] = [1_005_756_416, 3_207_573_570, 1_058_353_175, 1_062_565_153];

#[test]
fn large_tensors_do_not_depend_on_the_number_of_threads() {
    let whole = fill(&meta(DType::Float16, &[(PARALLEL_ELEMENTS + 13) as u64]), 5, Content::Random).unwrap();
    let start = fill(&meta(DType::Float16, &[1000]), 5, Content::Random).unwrap();
    assert_eq!(whole[..2000], start);
    let rule =
        FloatRule { data: None, mean: 0.25, std: 2.0, min: -1e9, max: 1e9, content: Content::Random, constants: &[] };
    let stream = Stream::new(5, "in_0");
    let mut last = [0; 2];
    let i = PARALLEL_ELEMENTS as u64 + 12;
    f16::store(rule.value::<f16>(i, stream.normals(i / 4)[(i % 4) as usize]), &mut last);
    assert_eq!(whole[whole.len() - 2..], last);
}

#[test]
fn constants_literals_and_ranges() {
    let mut constant = meta(DType::Float32, &[8]);
    constant.std = Some(0.0);
    constant.mean = Some(1.0);
    assert_eq!(floats(&fill(&constant, 1, Content::Large).unwrap()), [1.0; 8]);
    let small = TensorMeta { std: Some(0.02), ..meta(DType::Float32, &[1000]) };
    let wide = floats(&fill(&small, 1, Content::Wide).unwrap());
    assert!(wide.iter().filter(|v| v.abs() > 1.0).count() > 200 && wide.iter().all(|v| v.abs() < 10.0));
    let varied = floats(&fill(&constant, 1, Content::Varied).unwrap());
    assert!(varied.iter().all(|v| (0.5..=1.5).contains(v)) && varied.iter().any(|v| (v - 1.0).abs() > 0.1));

    // A layer that is scaled by 1e-6 was left out, and the result was called right.
    constant.mean = Some(-1e-6);
    let varied = floats(&fill(&constant, 1, Content::Varied).unwrap());
    assert!(varied.iter().all(|&v| v < 0.0) && varied.iter().any(|&v| v < -0.1), "{varied:?}");

    let mut literal = meta(DType::Float64, &[2]);
    literal.data = Some(vec![TensorValue::Float(0.5), TensorValue::Int(-300)]);
    let expected: Vec<u8> = [0.5_f64, -300.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
    assert_eq!(fill(&literal, 1, Content::Zeros).unwrap(), expected);
    literal.shape = vec![3];
    assert!(matches!(fill(&literal, 1, Content::Random), Err(InputError::DataLength { expected: 3, found: 2, .. })));

    let mut range = meta(DType::Int64, &[500]);
    (range.min_val, range.max_val) = (Some(2.0), Some(4.0));
    for content in Content::ADVERSARIAL.into_iter().filter(|content| !content.is_discrete()) {
        let bytes = fill(&range, 1, content).unwrap();
        let values: Vec<i64> = bytes.as_chunks().0.iter().map(|&c| i64::from_ne_bytes(c)).collect();
        assert!([2, 3, 4].iter().all(|v| values.contains(v)) && values.iter().all(|v| (2..=4).contains(v)));
    }
    (range.min_val, range.max_val) = (Some(2.5), Some(2.6));
    assert!(matches!(fill(&range, 1, Content::Random), Err(InputError::EmptyRange { .. })));
}

#[test]
fn variances_stay_above_their_bound_and_nan_is_repaired() {
    let mut variance = meta(DType::Float32, &[1000]);
    variance.min_val = Some(0.1);
    for content in [Content::Random].into_iter().chain(Content::ADVERSARIAL) {
        assert!(floats(&fill(&variance, 1, content).unwrap()).iter().all(|&v| v >= 0.1), "{content}");
    }
    let mut broken = meta(DType::Float32, &[1000]);
    (broken.std, broken.mean) = (Some(f64::NAN), Some(f64::NAN));
    let values = floats(&fill(&broken, 1, Content::Random).unwrap());
    assert!(values.iter().all(|v| v.is_finite() && v.abs() < 0.1));
}

#[test]
fn non_finite_contents_have_few_exceptions_and_leave_bounded_tensors_alone() {
    let count = |meta: &TensorMeta, is: fn(&f32) -> bool| {
        floats(&fill(meta, 9, Content::NonFinite).unwrap()).iter().filter(|value| is(value)).count()
    };
    let non_finite: fn(&f32) -> bool = |value| !value.is_finite();
    for (elements, expected) in [(3, 0), (4, 1), (8, 2), (12, 3), (1000, 3)] {
        assert_eq!(count(&meta(DType::Float32, &[elements]), non_finite), expected, "{elements}");
    }
    let large = meta(DType::Float32, &[1000]);
    let kinds: [fn(&f32) -> bool; 3] =
        [|value| value.is_nan(), |value| *value == f32::INFINITY, |value| *value == f32::NEG_INFINITY];
    assert_eq!(kinds.map(|kind| count(&large, kind)), [1, 1, 1]);
    for bounded in [
        TensorMeta { min_val: Some(0.0), ..large.clone() },
        TensorMeta { max_val: Some(9.0), ..large.clone() },
        TensorMeta { data: Some(vec![TensorValue::Float(0.5); 1000]), ..large },
    ] {
        assert_eq!(count(&bounded, non_finite), 0);
    }
}

/// A pass that looks at a few elements, and takes a shortcut if they have recorded magnitudes, was right for all other contents.
#[test]
fn outliers_are_few_and_meet_those_of_tensors_of_the_same_sizes() {
    let of = |shape: &[u64]| TensorMeta { mean: Some(0.0), std: Some(0.1), ..meta(DType::Float32, shape) };
    let metas = [of(&[60, 64]), of(&[64]), of(&[64, 80]), of(&[7, 64])];
    let places = |number: usize, content: Content| -> Vec<usize> {
        let bytes =
            fill_among(&metas[number], number, 3, content, AllInputs::of(&metas, &GraphFacts::default())).unwrap();
        let large = floats(&bytes).into_iter().enumerate().filter(|(_, value)| value.abs() > 0.2);
        large.map(|(index, _)| index).collect()
    };
    let columns = |number: usize, width: usize| -> Vec<usize> {
        let mut columns: Vec<_> = places(number, Content::Outliers).into_iter().map(|index| index % width).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    };
    let [matrix, scale] = [columns(0, 64), columns(1, 64)];
    assert!((1..=8).contains(&matrix.len()) && scale.iter().all(|column| (matrix[0]..matrix[0] + 8).contains(column)));
    assert!((1..=32).contains(&places(0, Content::Outliers).len()));
    // The columns of the first tensor are the rows of the third one.
    assert!(places(2, Content::Outliers).iter().all(|index| (matrix[0]..matrix[0] + 8).contains(&(index / 80))));
    let changed = |content| (0..metas.len()).map(|number| places(number, content).len()).collect::<Vec<_>>();
    assert!(changed(Content::Outliers).iter().all(|&count| count > 0));
    let has = |content| changed(content).iter().map(|&count| count > 0).collect::<Vec<_>>();
    assert_eq!(has(Content::EvenOutliers), [true, false, true, false]);
    assert_eq!(has(Content::OddOutliers), [false, true, false, true]);
    assert_eq!(has(Content::SingleOutliers), [true, true, false, false]);
    assert_eq!(has(Content::OtherSingleOutliers), [false, false, true, true]);
    assert!(changed(Content::SingleOutliers).iter().all(|&count| count <= 3));
    for shape in [&[8][..], &[2, 4], &[]] {
        let few = of(shape);
        assert_eq!(fill(&few, 3, Content::Outliers).unwrap(), fill(&few, 3, Content::Random).unwrap());
    }
}

#[test]
fn discrete_contents_change_integers_and_bools_that_are_fixed() {
    let whole = |meta: &TensorMeta, content| -> Vec<i64> {
        fill(meta, 1, content).unwrap().as_chunks().0.iter().map(|&c| i64::from_ne_bytes(c)).collect()
    };
    let of = |data: Vec<i64>| TensorMeta {
        data: Some(data.into_iter().map(TensorValue::Int).collect()),
        ..meta(DType::Int64, &[400])
    };
    // Indices are drawn from the literals. A mask of ones, and indices without literals, become zeros and ones.
    for (meta, values) in [
        (of((0..400).map(|i| 3 + i % 4).collect()), vec![3, 4, 5, 6]),
        (of(vec![1; 400]), vec![0, 1]),
        (of(vec![7; 400]), vec![0, 7]),
        (meta(DType::Int64, &[400]), vec![0, 1]),
    ] {
        assert!(is_discrete(&meta));
        let drawn = whole(&meta, Content::Discrete);
        assert!(values.iter().all(|v| drawn.contains(v)) && drawn.iter().all(|v| values.contains(v)), "{values:?}");
        assert_ne!(drawn, whole(&meta, Content::Random));
    }
    // Bounds that are equal make a constant. A pass that reads only the first row of a table was right for such indices.
    for (bound, values) in [(0.0, [0, 1]), (1.0, [0, 1]), (5.0, [0, 5])] {
        let constant = TensorMeta { min_val: Some(bound), max_val: Some(bound), ..meta(DType::Int64, &[400]) };
        assert!(whole(&constant, Content::Random).iter().all(|&v| v == bound as i64));
        let drawn = whole(&constant, Content::Discrete);
        assert!(values.iter().all(|v| drawn.contains(v)) && drawn.iter().all(|v| values.contains(v)), "{values:?}");
    }
    // Every seed masks some rows as a whole, at any width, and some in part.
    for (seed, width) in (0..40).zip([5, 16, 40, 197].into_iter().cycle()) {
        let mask = fill(&meta(DType::Bool, &[8, width]), seed, Content::Discrete).unwrap();
        let rows = mask.chunks(width as usize).map(|row| row.iter().filter(|&&value| value == 1).count() as u64);
        let rows: Vec<u64> = rows.collect();
        assert!(rows.contains(&0) && rows.contains(&width), "{rows:?}");
        assert!(width < 40 || rows.iter().any(|count| (1..width).contains(count)), "{rows:?}");
    }
    let few = fill(&meta(DType::Bool, &[1, 96]), 1, Content::Discrete).unwrap();
    assert!(few.chunks(16).any(|run| run == [0; 16]) && few.chunks(16).any(|run| run == [1; 16]), "{few:?}");
    let mut range = meta(DType::Int32, &[4]);
    (range.min_val, range.max_val) = (Some(0.0), Some(9.0));
    assert!(is_discrete(&range) && !is_discrete(&meta(DType::Float32, &[4])));
}

#[test]
fn a_mask_of_literals_has_its_masked_elements_at_other_places() {
    let of = |data: [f64; 2]| TensorMeta {
        data: Some((0..40).map(|index| TensorValue::Float(data[usize::from(index % 8 > 3)])).collect()),
        ..meta(DType::Float32, &[5, 8])
    };
    let mask = of([0.0, -3.4e38]);
    assert!(is_discrete(&mask) && !is_discrete(&of([0.0, 1.0])) && !is_discrete(&of([-3.4e38, -3.4e38])));
    let drawn = floats(&fill(&mask, 1, Content::Discrete).unwrap());
    assert!(drawn.iter().all(|value| [0.0, -3.4e38].contains(value)) && drawn.contains(&0.0));
    assert_ne!(drawn, floats(&fill(&mask, 1, Content::Random).unwrap()));
}

#[test]
fn indices_without_literals_are_valid_in_all_dimensions() {
    let (index, table) = (meta(DType::Int64, &[300]), meta(DType::Float32, &[40, 6]));
    for (tables, limit) in [(vec![index.clone(), table.clone()], 6), (vec![index.clone()], 2), (vec![table], 6)] {
        assert_eq!(common_indices(&tables), limit);
    }
    let drawn = fill_among(
        &index,
        0,
        1,
        Content::Discrete,
        AllInputs { metas: &[], indices: 6, has_rows: true, facts: &GraphFacts::default() },
    )
    .unwrap();
    let drawn: Vec<i64> = drawn.as_chunks().0.iter().map(|&bytes| i64::from_ne_bytes(bytes)).collect();
    assert!((0..6).all(|value| drawn.contains(&value)) && drawn.iter().all(|value| (0..6).contains(value)));
    assert_eq!(common_indices(&[meta(DType::Float32, &[1, 30_000, 768])]), 100);
}

#[test]
fn a_near_duplicate_has_the_same_values_and_the_same_ends() {
    let meta = meta(DType::Float32, &[40]);
    let random = floats(&fill(&meta, 9, Content::Random).unwrap());
    let near = floats(&fill(&meta, 9, Content::NearDuplicate).unwrap());
    assert_eq!((&random[..10], &random[30..]), (&near[..10], &near[30..]));
    assert_ne!(random, near);
    let sorted = |values: &[f32]| {
        let mut values = values.to_vec();
        values.sort_by(f32::total_cmp);
        values
    };
    assert_eq!(sorted(&random), sorted(&near));
}

#[test]
fn sizes_that_overflow_are_errors() {
    assert!(matches!(
        fill(&meta(DType::Float32, &[u64::MAX, 2]), 0, Content::Random),
        Err(InputError::TooLarge { .. })
    ));
}

proptest! {
    #[test]
    fn every_other_content_is_finite_and_bounded(
        dtype in proptest::sample::select(vec![DType::Float16, DType::BFloat16, DType::Float32, DType::Float64]),
        mean in proptest::num::f64::ANY, std in proptest::num::f64::ANY, seed: u64,
    ) {
        let mut meta = meta(dtype, &[33]);
        (meta.mean, meta.std) = (Some(mean), Some(std));
        let contents = [Content::Random].into_iter().chain(Content::ADVERSARIAL);
        for content in contents.filter(|&content| content != Content::NonFinite) {
            let bytes = fill(&meta, seed, content).unwrap();
            prop_assert_eq!(bytes.len(), 33 * dtype.size());
            let zeros = vec![0; bytes.len()];
            let distance = passnet_compare::compare(dtype, &bytes, &zeros, 5).max_abs_diff;
            let bound = if content == Content::Spikes { 300_000.0 } else { 10_000.0 };
            prop_assert!(distance.is_some_and(|d| d <= bound), "{} {:?}", content, distance);
        }
    }
}

/// A pass returned the magnitude of the real part for that of a complex number.
#[test]
fn imaginary_parts_are_random_except_by_the_published_rules() {
    let meta = TensorMeta { mean: Some(0.0), std: Some(1.0), ..meta(DType::Complex64, &[64, 16]) };
    let parts = |bytes: Vec<u8>, part| floats(&bytes).into_iter().skip(part).step_by(2).collect::<Vec<_>>();
    let timed = fill_timed(&meta, 3).unwrap();
    assert_eq!(parts(timed.clone(), 0), parts(fill(&meta, 3, Content::Random).unwrap(), 0));
    let (mean, std) = moments(&parts(timed, 1));
    assert!(mean.abs() < 0.03 && (std - 0.2).abs() < 0.02, "{mean} {std}");
    assert!(parts(fill(&meta, 3, Content::Random).unwrap(), 1).iter().all(|&value| value == 0.0));
    let constant = TensorMeta { mean: Some(2.0), std: Some(0.0), ..meta };
    assert!(parts(fill_timed(&constant, 3).unwrap(), 1).iter().all(|&value| value == 0.0));
}

/// A pass that read the first elements of a mask, or of positions, and guessed the rest was right for all other contents.
#[test]
fn divided_rows_change_at_one_place() {
    let mask = meta(DType::Bool, &[64, 200]);
    let bytes = fill(&mask, 5, Content::Divided).unwrap();
    let changes = |row: &[u8]| row.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(bytes.chunks(200).all(|row| changes(row) <= 1));
    let long = bytes.chunks(200).filter(|row| row[..64].iter().all(|&value| value == 1) && row[199] == 0).count();
    assert!(long > 5, "{long}");

    let data = (0..40).map(TensorValue::Int).collect();
    let positions = TensorMeta { data: Some(data), ..meta(DType::Int64, &[1, 40]) };
    let mut places = Vec::new();
    for seed in 0..20 {
        let bytes = fill(&positions, seed, Content::Divided).unwrap();
        let values: Vec<i64> = bytes.as_chunks().0.iter().map(|&value| i64::from_ne_bytes(value)).collect();
        assert!(values.iter().all(|value| (0..40).contains(value)));
        places.extend(values.iter().zip(0..).position(|(&value, at)| value != at));
    }
    assert!(places.len() > 15 && places.contains(&39) && places.iter().any(|&at| (8..39).contains(&at)));
}

#[test]
fn constants_change_in_a_few_elements() {
    let metas = [meta(DType::Float32, &[64]), TensorMeta { std: Some(0.0), ..meta(DType::Float32, &[64]) }];
    let changed = |content| {
        let bytes = fill_among(&metas[1], 1, 9, content, AllInputs::of(&metas, &GraphFacts::default())).unwrap();
        floats(&bytes).iter().filter(|&&value| f64::from(value) != metas[1].mean.unwrap_or(0.0)).count()
    };
    let contents = [Content::SingleOutliers, Content::OtherSingleOutliers, Content::Outliers];
    assert_eq!(contents.map(changed), [0, 3, 0]);
}
